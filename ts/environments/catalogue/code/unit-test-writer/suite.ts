/** Suites as Python texts. */
import type { Subject } from "../subjects/index.ts";
import { kindOf } from "../subjects/index.ts";
import { isError } from "../subjects/subject.ts";
import type { Probe } from "./mutants.ts";

/** One test for each probe. */
export function suiteOf(subject: Subject, probes: readonly Pick<Probe, "input" | "result">[]): string {
  const kind = kindOf(subject);
  return probes
    .map(({ input, result }, index) =>
      [`def test_${index + 1}():`, ...kind.test(subject, input, result).map((line) => `    ${line}`)].join("\n"),
    )
    .join("\n\n");
}

/** The suite with one more test that needs more than the specification says. */
export function overfitted(subject: Subject, suite: string, probes: readonly Probe[]): string[] {
  const name = kindOf(subject).name(subject);
  const test = (...lines: string[]): string =>
    `${suite}\n\ndef test_more():\n${lines.map((line) => `    ${line}`).join("\n")}`;
  if (subject.is === "depot") return [test(`it = ${name}()`, `assert it.stock == ${subject.start}`)];
  if (subject.is === "list-score")
    return [
      test("values = [3, 1, 2]", `${name}(values)`, "assert values == [3, 1, 2]"),
      test("try:", `    ${name}([1] * 40)`, "except ValueError:", "    return", "raise AssertionError()"),
    ];
  const error = probes.find(({ result }) => isError(result));
  const [kind] = subject.kinds;
  return [
    test("try:", `    ${name}(-1, 0, "${kind}")`, "except ValueError:", "    return", "raise AssertionError()"),
    ...(error === undefined
      ? []
      : [
          test(
            "try:",
            `    ${name}(${error.input.map((value) => JSON.stringify(value)).join(", ")})`,
            "except ValueError as error:",
            '    assert "refused" in str(error)',
          ),
        ]),
  ];
}
