/** The solver of rule-sheet-match against known theorems and against plain search, and the rules of a match. */
import { describe, expect, test } from "vitest";

import {
  movesOf,
  type Position,
  type Rules,
  Solver,
  startOf,
  stepBy,
} from "../../../../../ts/environments/catalogue/agentic/rule-sheet-match/game.ts";
import { ruleSheetMatch } from "../../../../../ts/environments/catalogue/agentic/rule-sheet-match/index.ts";
import {
  grade,
  type Instance,
  Match,
  playedBy,
} from "../../../../../ts/environments/catalogue/agentic/rule-sheet-match/match.ts";
import { at, range } from "../../../../../ts/environments/catalogue/lists.ts";
import { createRng, type Rng } from "../../../../../ts/random/rng.ts";

const [row] = ruleSheetMatch.rows;
if (row === undefined) throw new Error("no row");
const { make } = row;

const PLAIN: Rules = {
  takes: [],
  halves: false,
  echo: false,
  chain: false,
  gift: null,
  again: false,
  passes: 0,
  end: "last",
  weights: [],
};

function instancesOf(level: 1 | 2 | 3 | 4 | 5, count: number): Instance[] {
  const rng = createRng(90 + level);
  const found: Instance[] = [];
  for (let draw = 0; draw < 3_000 && found.length < count; draw++) {
    const drawn = make(rng, level);
    if (drawn !== null) found.push(drawn as Instance);
  }
  expect(found.length).toBe(count);
  return found;
}

function randomRules(rng: Rng, piles: number): Rules {
  const coin = (): boolean => rng.integer(2) === 0;
  return {
    takes: range(piles).map(() => [1 + rng.integer(2), 3 + rng.integer(2)]),
    halves: coin(),
    echo: coin(),
    chain: coin(),
    gift: coin() ? 2 + rng.integer(2) : null,
    again: coin(),
    passes: rng.integer(2),
    end: rng.pick(["last", "misere", "points"] as const),
    weights: range(piles).map(() => 1 + rng.integer(3)),
  };
}

/** What the first player makes of a position: all lines are played out, with players by name and nothing remembered. */
function playedOut(rules: Rules, position: Position, player: 1 | -1): number {
  const { piles, lastTake, lastPile, passes } = position;
  const lines: number[] = [];
  let takes = 0;
  for (const [pile, counters] of piles.entries())
    for (let take = 1; take <= counters; take++) {
      const isAllowed =
        at(rules.takes, pile).includes(take) || (rules.halves && take === Math.floor((counters + 1) / 2));
      if (!isAllowed || (rules.echo && take === lastTake) || (rules.chain && pile === lastPile)) continue;
      takes += 1;
      const left = piles.map((one, index) => (index === pile ? one - take : one));
      const stays = rules.again && left[pile] === 0;
      if (rules.gift !== null && take >= rules.gift) {
        const beside = pile === piles.length - 1 ? 0 : pile + 1;
        left[beside] = at(left, beside) + 1;
      }
      const next: Position = {
        piles: left,
        lastTake: take,
        lastPile: pile,
        passes: stays ? passes : [passes[1], passes[0]],
      };
      const made = rules.end === "points" ? player * take * at(rules.weights, pile) : 0;
      lines.push(made + playedOut(rules, next, stays ? player : player === 1 ? -1 : 1));
    }
  if (takes === 0) return rules.end === "points" ? 0 : rules.end === "last" ? -player : player;
  if (passes[0] > 0) {
    const next: Position = { piles, lastTake: 0, lastPile: -1, passes: [passes[1], passes[0] - 1] };
    lines.push(playedOut(rules, next, player === 1 ? -1 : 1));
  }
  return player === 1 ? Math.max(...lines) : Math.min(...lines);
}

describe("the solver", () => {
  test("finds the lost positions of Nim, of misere Nim and of subtraction games", () => {
    const all = [1, 2, 3, 4, 5];
    const nim = new Solver({ ...PLAIN, takes: [all, all, all] });
    const misere = new Solver({ ...PLAIN, takes: [all, all, all], end: "misere" });
    for (const a of range(6))
      for (const b of range(6))
        for (const c of range(6)) {
          // Bouton: lost where the exclusive or is 0; in misere Nim so as long as a pile has more than one counter.
          const isEven = (a ^ b ^ c) === 0;
          const isLost = Math.max(a, b, c) > 1 ? isEven : (a + b + c) % 2 === 1;
          const position = startOf(nim.rules, [a, b, c]);
          expect(nim.value(position)).toBe(isEven ? -1 : 1);
          expect(misere.value(position)).toBe(isLost ? -1 : 1);
        }
    const subtraction = new Solver({ ...PLAIN, takes: [[1, 2, 3]] });
    for (const count of range(30))
      expect(subtraction.value(startOf(subtraction.rules, [count]))).toBe(count % 4 === 0 ? -1 : 1);
  });

  test("agrees with playing every line out, under all rules", () => {
    const rng = createRng(6);
    const values = new Set<number>();
    for (let draw = 0; draw < 400; draw++) {
      const rules = randomRules(rng, 2);
      const position = startOf(rules, [rng.integer(5), 1 + rng.integer(4)]);
      const value = new Solver(rules).value(position);
      values.add(Math.sign(value));
      expect(value, JSON.stringify([rules, position])).toBe(playedOut(rules, position, 1));
    }
    expect(values).toEqual(new Set([-1, 0, 1]));
  });
});

describe("a match", () => {
  test.each([1, 2, 3, 4, 5] as const)("is won by best moves, whatever the other player errs, at level %i", (level) => {
    for (const instance of instancesOf(level, 4))
      for (const seed of range(5)) {
        const rng = createRng(seed);
        const errors = range(40).map(() => ({ errs: rng.integer(2) === 0, pick: rng.integer(60) }));
        const other = { ...instance, errors };
        const match = playedBy(other, ({ solver, position }) => rng.pick(solver.best(position)));
        expect(match.result).toBeGreaterThanOrEqual(instance.value);
        expect(grade(other, match)).toBe(1);
      }
  });

  test("random moves earn little, and lost value costs although the match is won", () => {
    const instances = instancesOf(2, 12);
    const scores = instances.flatMap((instance) =>
      range(10).map((seed) => {
        const rng = createRng(seed);
        const match = playedBy(instance, (_, legal) => rng.pick(legal));
        const earned = grade(instance, match);
        if (match.losses > 0) expect(earned).toBeLessThan(1);
        return earned;
      }),
    );
    expect(scores.reduce((sum, one) => sum + one, 0) / scores.length).toBeLessThan(0.2);
  });

  test("who empties the last pile and moves again is stuck, and the rule sheet says so", () => {
    const rules: Rules = { ...PLAIN, takes: [[1], [1]], again: true, weights: [1, 1] };
    const instance: Instance = { rules, piles: [1, 0], errors: [{ errs: false, pick: 0 }], value: -1, states: 1 };
    const match = new Match(instance);
    match.move({ pile: 0, take: 1 });
    expect([match.state, match.stuck]).toEqual(["over", "policy"]);
    for (const prompt of row.prompts)
      expect(prompt(instance, createRng(1))).toContain("is to move again, also where no legal take is left");
  });

  test("a move against the rules loses, and nothing can be moved afterwards", () => {
    for (const instance of instancesOf(3, 4)) {
      const match = new Match(instance);
      match.move({ pile: 0, take: 60 });
      expect([match.state, grade(instance, match)]).toEqual(["forfeited", 0]);
      const [legal] = movesOf(instance.rules, match.position);
      if (legal === undefined) throw new Error("no move");
      expect(() => match.move(legal)).toThrow("is over");
      expect(stepBy(instance.rules, match.position, legal).next).not.toEqual(match.position);
    }
  });
});
