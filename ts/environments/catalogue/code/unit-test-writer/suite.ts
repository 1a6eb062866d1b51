/** Suites as Python texts, and the program that runs an untrusted one against an implementation. */
import type { Subject } from "../subjects/index.ts";
import { kindOf } from "../subjects/index.ts";
import { isError } from "../subjects/subject.ts";
import type { Probe } from "./mutants.ts";

export const VERDICT = "verdict_of_the_suite";
export const PASSED = "passed";
export const FAILED = "failed";

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

/**
 * Runs the suite on one implementation in one process. Nothing here says whether it is a right one: both kinds are printed in drawn styles,
 * and only this process knows which verdict is expected. The text is gone before the suite runs, for its numbers would tell more than calls do.
 */
export function runner(suite: string, name: string): string {
  return `SUITE = ${JSON.stringify(suite)}


def ${VERDICT}(sources):
    subject = {"__name__": "subject"}
    exec(compile(sources.pop(), "subject.py", "exec"), subject)
    space = {"__name__": "suite", "${name}": subject["${name}"]}
    try:
        exec(compile(SUITE, "suite.py", "exec"), space)
        tests = [value for key, value in list(space.items()) if key.startswith("test") and callable(value)]
        if not tests:
            return "no tests"
        for test in tests:
            test()
    except Exception:
        return "${FAILED}"
    return "${PASSED}"
`;
}
