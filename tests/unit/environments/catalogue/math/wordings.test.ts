/** Sentences of prompts on which it hangs whether a task has one meaning. */
import { expect, test } from "vitest";

import { forcingThreshold } from "../../../../../ts/environments/catalogue/math/counting/forcing-threshold.ts";
import { remainderHighPower } from "../../../../../ts/environments/catalogue/math/polynomials/remainder-high-power.ts";
import { descentPatternPermutations } from "../../../../../ts/environments/catalogue/math/structures/descent-pattern-permutations.ts";
import { guardedBoardPlacements } from "../../../../../ts/environments/catalogue/math/structures/guarded-board-placements.ts";
import { pairingPlans } from "../../../../../ts/environments/catalogue/math/structures/pairing-plans.ts";
import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { LEVELS, type Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";

/** Instances of each level. */
const INSTANCES = 4;

/** Every wording of instances of all levels, with what the row keeps of the problem. */
function wordingsOf<Problem>(row: Row): { problem: Problem; prompts: string[] }[] {
  const rng = createRng(5);
  return LEVELS.flatMap((level) =>
    Array.from({ length: INSTANCES }, () => {
      const { instance } = drawInstance(row, level, rng);
      const { problem } = instance as { problem: Problem };
      return { problem, prompts: row.prompts.map((wording) => wording(instance, rng)) };
    }),
  );
}

test("descent-pattern-permutations: every wording says what a question mark allows", () => {
  const open = wordingsOf<{ pattern: string }>(descentPatternPermutations).filter(({ problem }) =>
    problem.pattern.includes("?"),
  );
  expect(open.length).toBeGreaterThan(0);
  for (const prompt of open.flatMap(({ prompts }) => prompts))
    expect(prompt).toMatch(/question mark allows both|"\?" puts no condition|\? where no note was made/u);
});

test("remainder-high-power: where the modulus has a factor, a root would not decide on the coefficients", () => {
  const reducible = wordingsOf<{ monic: number[]; prime: number }>(remainderHighPower).filter(
    ({ problem: { monic, prime } }) =>
      Array.from({ length: prime }, (_, x) => x).some(
        (x) => monic.reduce((sum, factor) => (sum * x + factor) % prime, 0) === 0,
      ),
  );
  expect(reducible.length).toBeGreaterThan(0);
  for (const prompt of reducible.flatMap(({ prompts }) => prompts)) expect(prompt).not.toMatch(/\broot\b/u);
});

test("forcing-threshold: the answer begins with a number, not with the letter k", () => {
  for (const prompt of wordingsOf(forcingThreshold).flatMap(({ prompts }) => prompts))
    expect(prompt).not.toContain('"k: "');
});

test("no limit is worded as 'use none', and watchmen are no watchmans", () => {
  const prompts = [pairingPlans, guardedBoardPlacements]
    .flatMap((row) => wordingsOf(row))
    .flatMap((one) => one.prompts);
  for (const prompt of prompts) expect(prompt).not.toMatch(/use none|watchmans/u);
});
