/** The stable matching that is asked for, among all that enumeration finds. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { stableAssignment } from "../../../../../ts/environments/catalogue/math/graphs/stable-assignment.ts";
import type { Level } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";

/** Instances of each level; harder levels have too many matchings. */
const INSTANCES = 25;
const LEVELS: readonly Level[] = [1, 2, 3];

function* orders(items: readonly number[]): Generator<number[]> {
  if (items.length === 0) yield [];
  for (const [at, item] of items.entries()) for (const rest of orders(items.toSpliced(at, 1))) yield [item, ...rest];
}

test.each(LEVELS)("stable-assignment, level %i: another stable matching exists, which tutors like less", (level) => {
  const rng = createRng(11);
  for (let count = 0; count < INSTANCES; count++) {
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
});
