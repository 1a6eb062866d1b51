/** Answers of the rows about patterns against CPython's re and git, and against enumeration of short strings. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { devNull, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";

import {
  ignoredPaths,
  type IgnoreProblem,
} from "../../../../../ts/environments/catalogue/code/patterns/ignored-paths.ts";
import {
  pegConsumption,
  type PegPart,
  type PegProblem,
} from "../../../../../ts/environments/catalogue/code/patterns/peg-consumption.ts";
import { regexFromExamples } from "../../../../../ts/environments/catalogue/code/patterns/regex-from-examples.ts";
import {
  type LanguageProblem,
  regexFromProse,
} from "../../../../../ts/environments/catalogue/code/patterns/regex-from-prose.ts";
import {
  type PairProblem,
  regexSeparatingString,
} from "../../../../../ts/environments/catalogue/code/patterns/regex-separating-string.ts";
import { type TokenProblem, tokenStream } from "../../../../../ts/environments/catalogue/code/patterns/token-stream.ts";
import { type Answer, drawnOf, HAS_PYTHON, printedByPython } from "./interpreters.ts";

const TIMEOUT_MS = 200_000;
const HAS_GIT = spawnSync("git", ["--version"], { timeout: TIMEOUT_MS }).status === 0;
/** Possessive repeats and atomic groups came with Python 3.11. */
const HAS_ATOMIC = HAS_PYTHON && printedByPython(["import sys\nprint(sys.version_info >= (3, 11))"])[0]?.[0] === "True";
const without = (tool: string, has: boolean): string => (has ? "" : ` (there is no ${tool} here)`);

/** Words over some letters up to a length, shorter ones first, else in alphabetical order. */
function words(letters: string, longest: number): string[] {
  let layer = [""];
  const all = [""];
  for (let length = 1; length <= longest; length++) {
    layer = layer.flatMap((word) => letters.split("").map((letter) => word + letter));
    all.push(...layer);
  }
  return all;
}

test("regex-from-prose: the gold pattern and the rules agree on all short strings", () => {
  for (const { letters, rules, gold } of drawnOf<LanguageProblem>(regexFromProse, [1, 3, 5])) {
    const pattern = new RegExp(`^(?:${gold})$`, "u");
    for (const word of words(letters, letters.length === 2 ? 8 : 5)) {
      const isWanted = rules.every(({ kind, letter, word: part, by, rest }) => {
        const count = word.split(letter).length - 1;
        return {
          count: count % by === rest,
          least: count >= by,
          most: count <= by,
          starts: word.startsWith(part),
          ends: word.endsWith(part),
          contains: word.includes(part),
          avoids: !word.includes(part),
          length: word.length % by === rest,
          run: letters.split("").every((one) => !word.includes(one.repeat(by + 1))),
        }[kind];
      });
      expect(pattern.test(word)).toBe(isWanted);
    }
  }
});

test("regex-separating-string: the first of all short strings that JavaScript's patterns disagree on", () => {
  for (const { problem, items } of drawnOf<Answer<PairProblem>>(regexSeparatingString)) {
    const found = problem.pairs.map((pair) => {
      const [a, b] = pair.map((text) => new RegExp(`^(?:${text})$`, "u"));
      return words("ab", 8).find((word) => a?.test(word) !== b?.test(word)) ?? "same";
    });
    expect(found).toEqual(items);
  }
});

test("regex-from-examples: the known pattern does it for JavaScript, too", () => {
  interface Golf {
    readonly matched: string[];
    readonly refused: string[];
    readonly gold: string;
    readonly most: number;
  }
  for (const { matched, refused, gold, most } of drawnOf<Golf>(regexFromExamples)) {
    const pattern = new RegExp(`^(?:${gold})$`, "u");
    expect([matched.every((word) => pattern.test(word)), refused.some((word) => pattern.test(word))]).toEqual([
      true,
      false,
    ]);
    expect(gold.length).toBeLessThanOrEqual(most);
  }
});

test.skipIf(!HAS_GIT)(`ignored-paths: git ignores the same files${without("git", HAS_GIT)}`, () => {
  for (const { problem, items } of drawnOf<Answer<IgnoreProblem>>(ignoredPaths).filter((_, index) => index % 12 < 4)) {
    const folder = mkdtempSync(join(tmpdir(), "prl-catalogue-"));
    try {
      for (const path of problem.paths) {
        mkdirSync(join(folder, "tree", dirname(path)), { recursive: true });
        writeFileSync(join(folder, "tree", path), "");
      }
      writeFileSync(join(folder, "rules"), `${problem.rules.join("\n")}\n`);
      const outer = Object.entries(process.env).filter(([key]) => !key.startsWith("GIT_"));
      const env = { ...Object.fromEntries(outer), GIT_CONFIG_NOSYSTEM: "1", GIT_CONFIG_GLOBAL: devNull };
      const options = { cwd: join(folder, "tree"), encoding: "utf8", timeout: TIMEOUT_MS, env } as const;
      execFileSync("git", ["init", "-q"], options);
      const listed = execFileSync("git", ["ls-files", "--others", "--exclude-from=../rules"], options);
      const kept = new Set(listed.trim().split("\n"));
      expect(problem.paths.filter((path) => !kept.has(path))).toEqual(items);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
});

test.skipIf(!HAS_PYTHON)(`token-stream: Python's re finds the same tokens${without("python3", HAS_PYTHON)}`, () => {
  const drawn = drawnOf<Answer<TokenProblem>>(tokenStream);
  const sources = drawn.map(
    ({ problem }) => `import re
rules = ${JSON.stringify(problem.rules)}
text, place, mode = ${JSON.stringify(problem.text)}, 0, 0
while place < len(text):
    found = [(m.end(), -i, r) for i, r in enumerate(rules) if r["mode"] == mode and (m := re.compile(r["pattern"]).match(text, place))]
    end, _, rule = max(found, key=lambda one: one[:2])
    print(rule["name"], text[place:end])
    place, mode = end, rule["next"]`,
  );
  expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
});

test.skipIf(!HAS_ATOMIC)(
  `peg-consumption: atomic groups of Python's re take as much${without("Python 3.11", HAS_ATOMIC)}`,
  () => {
    const drawn = drawnOf<Answer<PegProblem>>(pegConsumption, [1, 3, 5]);
    const sources = drawn.map(({ problem: { rules, texts } }) => {
      const rule = (index: number): string =>
        `(?>${(rules[index] ?? []).map((parts) => parts.map(part).join("")).join("|")})`;
      const part = ({ what, prefix, suffix }: PegPart): string => {
        const one = typeof what === "number" ? rule(what) : `(?:${what})`;
        if (prefix !== "") return `(?${prefix === "!" ? "!" : "="}${one})`;
        return suffix === "" ? one : `(?:${one})${suffix}+`;
      };
      return `import re\npattern = re.compile(${JSON.stringify(rule(0))})\nfor text in ${JSON.stringify(texts)}:\n    found = pattern.match(text)\n    print("fail" if found is None else found.end())`;
    });
    expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
  },
);
