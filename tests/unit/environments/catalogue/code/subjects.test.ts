/** CPython runs the printed implementations of subjects and of their mutants, in all styles: they return what this process computes. */
import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";

import { KINDS } from "../../../../../ts/environments/catalogue/code/subjects/index.ts";
import { ERROR, type Style } from "../../../../../ts/environments/catalogue/code/subjects/subject.ts";
import { LEVELS } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { HAS_PYTHON } from "./interpreters.ts";
import { IS_LONG } from "../../../../support/form.ts";

const PYTHON = process.env["PRL_TEST_PYTHON"] ?? "python3";
/** Subjects of each level, and inputs of each implementation. */
const SUBJECTS = IS_LONG ? 60 : 4;
const INPUTS = 40;
const RUNNER = `
import json, sys
def outcome(named, value):
    if isinstance(named, type):
        it = named()
        return [getattr(it, method)(*([n] if n else [])) for method, n in value]
    try:
        return named(*value)
    except ValueError:
        return {"error": True}
for source, name, inputs in json.load(sys.stdin):
    space = {"__name__": "__main__"}
    exec(source, space)
    print(json.dumps([outcome(space[name], value) for value in inputs]))
`;

describe("subjects", () => {
  test.skipIf(!HAS_PYTHON).each(KINDS.map((kind) => [kind.id, kind] as const))(
    "CPython agrees about %s and its mutants in every style",
    (_, kind) => {
      const rng = createRng(5);
      const cases = LEVELS.flatMap((level) =>
        Array.from({ length: SUBJECTS }, () => kind.draw(rng, level)).flatMap((subject) => {
          const inputs = Array.from({ length: INPUTS }, (__, index) =>
            index % 2 === 0 ? kind.anyInput(subject, rng) : kind.edgeInput(subject, rng),
          );
          const styles: Style["open"][] = ["strict", "odd", "plain"];
          const printed = [
            ...styles.map((open) => ({ spec: subject, open })),
            ...kind.mutants(subject).map(({ spec }, index) => ({ spec, open: styles[index % 3] ?? "plain" })),
          ];
          return printed.map(({ spec, open }) => ({
            source: kind.python(spec, { rng, open }),
            name: kind.name(spec),
            inputs,
            expected: inputs.map((input) => kind.run(spec, input)),
          }));
        }),
      );
      const text = execFileSync(PYTHON, ["-c", RUNNER], {
        input: JSON.stringify(cases.map(({ source, name, inputs }) => [source, name, inputs])),
        encoding: "utf8",
        maxBuffer: 2 ** 28,
      });
      const results = text.trim().split("\n");
      expect(results.length).toBe(cases.length);
      for (const [index, { source, expected }] of cases.entries())
        expect({ source, results: JSON.parse(results[index] ?? "") as unknown }).toEqual({ source, results: expected });
      expect(ERROR.error).toBe(true);
    },
  );
});
