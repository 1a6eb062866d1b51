/** Pairs whose verdict is known: written by grammars from values (tests/fixtures/make/verify_math_pairs.py), and one by one against the verifier. */
import { readFileSync } from "node:fs";

import { beforeAll, describe, expect, test } from "vitest";

import { judge } from "../../../ts/verify/math/judge.ts";

type Pair = readonly [family: string, gold: string, answer: string, same: 0 | 1, hard: 0 | 1];

const FILES = ["grammar", "second", "adversarial"] as const;
const OPTIONS = {
  precision: 6,
  strict: true,
  allowSetRelations: true,
  targets: ["boxed", "phrase", "latex", "number", "whole"],
  boxedPriority: "normal",
} as const;
/** What is allowed to be wrong, in percent; of the pairs written one by one no different ones may pass. */
const RIGHT_OF_ALL = 97;
const RIGHT_OF_HARD = 98;
const ACCEPTED_OF_DIFFERENT = 0.2;
const TIMEOUT_MS = 300_000;

function read(name: string): Pair[] {
  const url = new URL(`../../fixtures/verify-math/${name}.jsonl`, import.meta.url);
  const lines = readFileSync(url, "utf8").split("\n");
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Pair);
}

interface Judged {
  readonly pair: Pair;
  readonly correct: boolean;
}

const percent = (part: readonly unknown[], whole: readonly unknown[]): number => (100 * part.length) / whole.length;
const isRight = ({ pair, correct }: Judged): boolean => correct === (pair[3] === 1);
const shown = ({ pair: [, gold, answer] }: Judged): string => `${gold} | ${answer}`;

describe("judged pairs", () => {
  let judged: Judged[] = [];

  beforeAll(() => {
    judged = FILES.flatMap(read).map((pair) => ({ pair, correct: judge(pair[1], pair[2], OPTIONS).correct }));
  }, TIMEOUT_MS);

  test("there are thousands of them, of both kinds", () => {
    expect(judged.length).toBeGreaterThanOrEqual(4000);
    expect(judged.filter(({ pair }) => pair[0].startsWith("adversarial")).length).toBeGreaterThanOrEqual(300);
    expect(
      percent(
        judged.filter(({ pair }) => pair[3] === 0),
        judged,
      ),
    ).toBeGreaterThan(35);
  });

  test("few verdicts are wrong, and hardly any accepts a different answer", (context) => {
    const hard = judged.filter(({ pair }) => pair[4] === 1);
    const [same, different] = [1, 0].map((kind) => judged.filter(({ pair }) => pair[3] === kind));
    const falseAccepts = (different ?? []).filter(({ correct }) => correct);
    const falseRejects = (same ?? []).filter(({ correct }) => !correct);
    const rates = {
      all: percent(judged.filter(isRight), judged),
      hard: percent(hard.filter(isRight), hard),
      falseAccepts: percent(falseAccepts, different ?? []),
      falseRejects: percent(falseRejects, same ?? []),
    };
    void context.annotate(`${judged.length} pairs, percent: ${JSON.stringify(rates)}`);
    expect(rates.all, falseRejects.map(shown).join("\n")).toBeGreaterThanOrEqual(RIGHT_OF_ALL);
    expect(rates.hard).toBeGreaterThanOrEqual(RIGHT_OF_HARD);
    expect(rates.falseAccepts, falseAccepts.map(shown).join("\n")).toBeLessThanOrEqual(ACCEPTED_OF_DIFFERENT);
  });

  test("no pair that was written against the verifier is accepted", () => {
    const accepted = judged.filter(
      ({ pair, correct }) => pair[0].startsWith("adversarial") && pair[3] === 0 && correct,
    );
    expect(accepted.map(shown)).toEqual([]);
  });

  test("the same answers that were once rejected are accepted", () => {
    const rejected = judged.filter(({ pair, correct }) => pair[0] === "adversarial.named" && pair[3] === 1 && !correct);
    expect(rejected.map(shown)).toEqual([]);
  });

  test(
    "an answer is itself, whatever it is",
    () => {
      const texts = judged.flatMap(({ pair: [, gold] }) => gold);
      expect(texts.filter((text) => !judge(text, text, OPTIONS).correct)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
