/** rule-sheet-match: a whole match under rules that were drawn, against a solver that errs; every move is worth what the full solution says. */
import { z } from "zod";

import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import {
  type Call,
  defineWorldRow,
  type Family,
  type Level,
  type Script,
  type WorldRow,
  worldTool,
} from "../../row.ts";
import { call } from "../records.ts";
import { type Move, movesOf, type Rules, solverOf, startOf } from "./game.ts";
import { grade, type Instance, Match, playedBy } from "./match.ts";
import { PROMPTS } from "./wordings.ts";

/** By level: piles, fewest and most counters of a pile, optional rules, percent of answers that err. */
const SIZES = [
  [2, 3, 5, 1, 30],
  [2, 5, 8, 2, 20],
  [3, 3, 5, 3, 15],
  [3, 4, 6, 4, 10],
  [3, 6, 8, 4, 0],
] as const;
/** By level: positions that a game may have, counted roughly, and positions that its solution has to look at. */
const SPANS = [
  [200, 12, 60],
  [600, 90, 300],
  [2_500, 350, 900],
  [5_000, 1_000, 2_200],
  [9_000, 2_300, 6_000],
] as const;
const LARGEST_TAKE = 5;
const ERRORS = 40;
const LEAST_MOVES = 2;
/** Against the rules, as nothing is no take and no pass. */
const NO_TAKE = -1;
const OPTIONS = ["halves", "echo", "chain", "gift", "again", "passes"] as const;

type Choose = (match: Match, legal: readonly Move[]) => Move;
const first: Choose = (_, legal) => at(legal, 0);
const last: Choose = (_, legal) => at(legal, legal.length - 1);
const largest: Choose = (_, legal) =>
  at(
    legal.toSorted((a, b) => b.take - a.take),
    0,
  );
const middle: Choose = (_, legal) => at(legal, Math.floor(legal.length / 2));
const WITHOUT_SKILL: Readonly<Record<string, Choose>> = {
  "the first legal move": first,
  "the last legal move": last,
  "the largest take": largest,
  "a move in the middle": middle,
};
const best: Choose = ({ solver, position }) => at(solver.best(position), 0);

const nothing = z.object({});
const tools = {
  look: worldTool<Match, typeof nothing>({
    description: "The position: counters of each pile, the move before, passes that are left, points",
    parameters: nothing,
    run: shown,
  }),
  take: worldTool({
    description:
      "Takes counters from a pile. The other player answers at once. A move against the rules loses the match",
    parameters: z.object({ pile: z.int().describe("from 1"), counters: z.int() }),
    run: (match: Match, { pile, counters }) =>
      moved(match, { pile: pile - 1, take: counters === 0 ? NO_TAKE : counters }),
  }),
  pass: worldTool<Match, typeof nothing>({
    description: "Passes, where the rules allow it; otherwise it loses the match",
    parameters: nothing,
    run: (match) => moved(match, { pile: -1, take: 0 }),
  }),
};

const row: WorldRow = defineWorldRow<Instance, Match>({
  id: "rule-sheet-match",
  asks: "a whole match under rules never seen before, against a solver that errs, without a move that gives value away",
  make,
  effort: ({ states }) => states,
  canonical: ({ rules, piles }) => [rules, piles],
  prompts: PROMPTS,
  tools,
  world: (instance) => new Match(instance),
  gold: (instance) => scriptOf(playedBy(instance, best).made),
  slips: (instance) => ({
    ...Object.fromEntries(
      Object.entries(WITHOUT_SKILL).map(([name, choose]) => [name, scriptOf(playedBy(instance, choose).made)]),
    ),
    "one move that gives value away": scriptOf(playedBy(instance, blundering()).made),
    "a move against the rules": [...scriptOf(playedBy(instance, best).made).slice(0, 2), takes({ pile: 0, take: 99 })],
  }),
  blankets: (instance) =>
    Object.fromEntries(
      Object.entries(WITHOUT_SKILL).map(([name, choose]) => [name, scriptOf(playedBy(instance, choose).made)]),
    ),
  grade,
  parts: (_, { moves, losses }) => ({ exact: moves === 0 ? 0 : 1 - losses / moves }),
});

export const ruleSheetMatch: Family<WorldRow> = { id: "rule-sheet-match", rows: [row] };

function make(rng: Rng, level: Level): Instance | null {
  const [count, fewest, most, , percent] = at(SIZES, level - 1);
  const rules = drawRules(rng, level, count);
  const piles = range(count).map(() => between(rng, fewest, most));
  const [span, smallest, greatest] = at(SPANS, level - 1);
  if (spanOf(rules, piles) > span) return null;
  const solver = solverOf(rules);
  const value = solver.value(startOf(rules, piles));
  if (value <= 0 || movesOf(rules, startOf(rules, piles)).length === 0) return null;
  if (solver.size < smallest || solver.size > greatest) return null;
  const errors = range(ERRORS).map(() => ({ errs: rng.integer(100) < percent, pick: rng.integer(60) }));
  const instance = { rules, piles, errors, value, states: solver.size };
  if (Object.values(WITHOUT_SKILL).some((choose) => grade(instance, playedBy(instance, choose)) > 0)) return null;
  const gold = playedBy(instance, best);
  const isLong = gold.made.length >= LEAST_MOVES && playedBy(instance, blundering()).losses > 0;
  return isLong && grade(instance, gold) === 1 ? instance : null;
}

/** Piles, times what else a position remembers. */
function spanOf({ echo, chain, passes }: Rules, piles: readonly number[]): number {
  const counts = piles.reduce((product, one) => product * (one + 1), 1);
  return counts * (echo ? LARGEST_TAKE : 1) * (chain ? piles.length : 1) * (passes > 0 ? 4 : 1);
}

function drawRules(rng: Rng, level: Level, piles: number): Rules {
  const [, , , options] = at(SIZES, level - 1);
  const chosen: ReadonlySet<string> = new Set(sample(OPTIONS, options, rng));
  const numbers = range(LARGEST_TAKE).map((one) => one + 1);
  const shared = sample(numbers, between(rng, 2, 3), rng).toSorted((a, b) => a - b);
  const isShared = level < 3 || rng.integer(3) === 0;
  return {
    takes: range(piles).map(() =>
      isShared ? shared : sample(numbers, between(rng, 2, 3), rng).toSorted((a, b) => a - b),
    ),
    halves: chosen.has("halves"),
    echo: chosen.has("echo"),
    chain: chosen.has("chain"),
    gift: chosen.has("gift") ? between(rng, 2, 3) : null,
    again: chosen.has("again"),
    passes: chosen.has("passes") ? 1 : 0,
    end: rng.pick(["last", "misere", "points"] as const),
    weights: range(piles).map(() => between(rng, 1, 4)),
  };
}

/** Plays well but for the first position in which a move gives value away. */
function blundering(): Choose {
  let isDone = false;
  return (match, legal) => {
    const { solver, position } = match;
    const worse = isDone ? undefined : legal.find((move) => solver.valueOf(position, move) < solver.value(position));
    if (worse === undefined) return best(match, legal);
    isDone = true;
    return worse;
  };
}

function shown({ position, points, state, instance: { rules } }: Match): Record<string, unknown> {
  const { piles, lastTake, lastPile, passes } = position;
  return {
    piles,
    last_take: lastTake,
    last_pile: lastPile + 1,
    ...(rules.passes === 0 ? {} : { your_passes: passes[0], other_passes: passes[1] }),
    ...(rules.end === "points" ? { your_lead: points } : {}),
    match: state,
  };
}

function moved(match: Match, move: Move): Record<string, unknown> {
  const answers = match.move(move);
  if (match.state === "forfeited") return { match: "lost by a move against the rules" };
  return {
    answers: answers.map(({ pile, take }) => (take === 0 ? "pass" : { pile: pile + 1, counters: take })),
    ...shown(match),
  };
}

function takes({ pile, take }: Move): Call {
  return take === 0 ? call("pass") : call("take", { pile: pile + 1, counters: take });
}

function scriptOf(moves: readonly Move[]): Script {
  return [call("look"), ...moves.map(takes)];
}
