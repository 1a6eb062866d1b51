/** What makes a task one with a single meaning: sentences of prompts, and other answers that could be meant. */
import { expect, test } from "vitest";

import { forcingThreshold } from "../../../../../ts/environments/catalogue/math/counting/forcing-threshold.ts";
import { stableAssignment } from "../../../../../ts/environments/catalogue/math/graphs/stable-assignment.ts";
import { coprimeWitness } from "../../../../../ts/environments/catalogue/math/polynomials/coprime-witness.ts";
import { remainderHighPower } from "../../../../../ts/environments/catalogue/math/polynomials/remainder-high-power.ts";
import { descentPatternPermutations } from "../../../../../ts/environments/catalogue/math/structures/descent-pattern-permutations.ts";
import { guardedBoardPlacements } from "../../../../../ts/environments/catalogue/math/structures/guarded-board-placements.ts";
import { pairingPlans } from "../../../../../ts/environments/catalogue/math/structures/pairing-plans.ts";
import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { type Level, LEVELS, type Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";

/** Instances of each level. */
const INSTANCES = 4;

/** Every wording of instances of all levels, with what the row keeps of the problem. */
function wordingsOf(row: Row): { problem: unknown; prompts: string[] }[] {
  const rng = createRng(5);
  return LEVELS.flatMap((level) =>
    Array.from({ length: INSTANCES }, () => {
      const { instance } = drawInstance(row, level, rng);
      const { problem } = instance as { problem?: unknown };
      return { problem, prompts: row.prompts.map((wording) => wording(instance, rng)) };
    }),
  );
}

test("descent-pattern-permutations: every wording says what a question mark allows", () => {
  const open = wordingsOf(descentPatternPermutations).filter(({ problem }) =>
    (problem as { pattern: string }).pattern.includes("?"),
  );
  expect(open.length).toBeGreaterThan(0);
  for (const prompt of open.flatMap(({ prompts }) => prompts))
    expect(prompt).toMatch(/question mark allows both|"\?" puts no condition|\? where no note was made/u);
});

test("remainder-high-power: where the modulus has a factor, a root would not decide on the coefficients", () => {
  const reducible = wordingsOf(remainderHighPower).filter(({ problem }) => {
    const { monic, prime } = problem as { monic: number[]; prime: number };
    const places = Array.from({ length: prime }, (_, x) => x);
    return places.some((x) => monic.reduce((sum, factor) => (sum * x + factor) % prime, 0) === 0);
  });
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

/** Instances of each level; harder levels have too many matchings. */
const MATCHINGS = 25;
const ENUMERATED: readonly Level[] = [1, 2, 3];

function* orders(items: readonly number[]): Generator<number[]> {
  if (items.length === 0) yield [];
  for (const [at, item] of items.entries()) for (const rest of orders(items.toSpliced(at, 1))) yield [item, ...rest];
}

test.each(ENUMERATED)(
  "stable-assignment, level %i: another stable matching exists, which tutors like less",
  (level) => {
    const rng = createRng(11);
    for (let count = 0; count < MATCHINGS; count++) {
      const { instance } = drawInstance(stableAssignment, level, rng);
      const { problem, value } = instance as { problem: { pupils: number[][]; tutors: number[][] }; value: string };
      const { pupils, tutors } = problem;
      const all = pupils.map((_, index) => index);
      const rank = (lists: readonly number[][], who: number, partner: number): number =>
        (lists[who] ?? []).indexOf(partner);
      // The tutor of each pupil.
      const stable = [...orders(all)].filter((of) =>
        all.every((pupil) =>
          all.every(
            (tutor) =>
              rank(pupils, pupil, tutor) >= rank(pupils, pupil, of[pupil] ?? 0) ||
              rank(tutors, tutor, pupil) >= rank(tutors, tutor, of.indexOf(tutor)),
          ),
        ),
      );
      const joy = (of: readonly number[]): number =>
        all.reduce((sum, tutor) => sum + rank(tutors, tutor, of.indexOf(tutor)), 0);
      const [best = [], ...others] = stable.toSorted((a, b) => joy(a) - joy(b));
      expect(others.length, JSON.stringify(problem)).toBeGreaterThan(0);
      expect(best.map((tutor) => tutor + 1).join(", ")).toBe(value);
    }
  },
);

test("coprime-witness: fractions that are much longer than needed are refused before any arithmetic", () => {
  for (const level of LEVELS) {
    const { instance } = drawInstance(coprimeWitness, level, createRng(4));
    const gold = coprimeWitness.gold(instance);
    const expanded = (zeros: number): string =>
      gold.replaceAll(/(\d+)(?:\/(\d+))?/gu, (_, top: string, bottom = "1") => {
        return `${top}${"0".repeat(zeros)}/${bottom}${"0".repeat(zeros)}`;
      });
    expect(coprimeWitness.score(instance, expanded(3))).toBe(1);
    expect(coprimeWitness.score(instance, expanded(900))).toBe(0);
  }
});
