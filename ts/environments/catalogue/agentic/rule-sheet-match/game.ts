/** The games of rule-sheet-match: rules that are drawn, moves, and the exact value of a position. */
import { at } from "../../lists.ts";

/** How a match is decided. */
export type End = "last" | "misere" | "points";

export interface Rules {
  /** Numbers that may be taken from each pile. */
  readonly takes: readonly (readonly number[])[];
  /** Half of a pile, rounded up, may be taken as well. */
  readonly halves: boolean;
  /** A number is not taken twice in a row, and a pile not used twice in a row. */
  readonly echo: boolean;
  readonly chain: boolean;
  /** Who takes at least so many adds one counter to the next pile; null: no take adds any. */
  readonly gift: number | null;
  /** Who empties a pile moves again. */
  readonly again: boolean;
  /** Times that each player may pass instead of taking. */
  readonly passes: number;
  readonly end: End;
  /** Points for a counter of each pile. */
  readonly weights: readonly number[];
}

export interface Position {
  readonly piles: readonly number[];
  /** Of the move before: 0 and -1 where there was none, or a pass. */
  readonly lastTake: number;
  readonly lastPile: number;
  /** Passes left for the player to move, and for the other one. */
  readonly passes: readonly [number, number];
}

/** `take` 0 is a pass. */
export interface Move {
  readonly pile: number;
  readonly take: number;
}

export interface Step {
  readonly next: Position;
  /** The same player moves again. */
  readonly again: boolean;
  readonly points: number;
}

/** Above all counters of a pile, all takes, and all passes: positions are numbered. */
const PILE_SPAN = 64;
const TAKE_SPAN = 64;
const PASS_SPAN = 4;

const PASS: Move = { pile: -1, take: 0 };

export function startOf({ passes }: Rules, piles: readonly number[]): Position {
  return { piles, lastTake: 0, lastPile: -1, passes: [passes, passes] };
}

/** Takes in the order of piles and numbers, then the pass. None: the match is over. */
export function movesOf(rules: Rules, { piles, lastTake, lastPile, passes }: Position): Move[] {
  const moves: Move[] = [];
  for (const [pile, counters] of piles.entries()) {
    if (counters === 0 || (rules.chain && pile === lastPile)) continue;
    const half = Math.ceil(counters / 2);
    const takes = at(rules.takes, pile);
    const all = rules.halves && !takes.includes(half) ? [...takes, half].toSorted((a, b) => a - b) : takes;
    for (const take of all) if (take <= counters && !(rules.echo && take === lastTake)) moves.push({ pile, take });
  }
  return moves.length > 0 && passes[0] > 0 ? [...moves, PASS] : moves;
}

export function isLegal(rules: Rules, position: Position, { pile, take }: Move): boolean {
  return movesOf(rules, position).some((one) => one.take === take && (take === 0 || one.pile === pile));
}

export function stepBy(rules: Rules, { piles, passes }: Position, { pile, take }: Move): Step {
  const [own, other] = passes;
  if (take === 0)
    return { next: { piles, lastTake: 0, lastPile: -1, passes: [other, own - 1] }, again: false, points: 0 };
  const left = [...piles];
  left[pile] = at(left, pile) - take;
  const again = rules.again && left[pile] === 0;
  const beside = (pile + 1) % left.length;
  if (rules.gift !== null && take >= rules.gift) left[beside] = at(left, beside) + 1;
  return {
    next: { piles: left, lastTake: take, lastPile: pile, passes: again ? [own, other] : [other, own] },
    again,
    points: rules.end === "points" ? take * at(rules.weights, pile) : 0,
  };
}

const solvers = new WeakMap<Rules, Solver>();

/** The solver of these rules, with all that it knows already. */
export function solverOf(rules: Rules): Solver {
  const known = solvers.get(rules) ?? new Solver(rules);
  solvers.set(rules, known);
  return known;
}

/** Values of positions for the player to move: 1 or -1, or the difference of the points that are still to be made. */
export class Solver {
  readonly rules: Rules;
  readonly #values = new Map<number, number>();

  constructor(rules: Rules) {
    this.rules = rules;
  }

  /** Positions that were solved. */
  get size(): number {
    return this.#values.size;
  }

  value(position: Position): number {
    const { echo, chain, end } = this.rules;
    const { piles, lastTake, lastPile, passes } = position;
    let key = (echo ? lastTake : 0) + TAKE_SPAN * ((chain ? lastPile : -1) + 1);
    for (const counters of piles) key = key * PILE_SPAN + counters;
    key = (key * PASS_SPAN + passes[0]) * PASS_SPAN + passes[1];
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const values = movesOf(this.rules, position).map((move) => this.valueOf(position, move));
    const over = end === "points" ? 0 : end === "last" ? -1 : 1;
    const value = values.length === 0 ? over : Math.max(...values);
    this.#values.set(key, value);
    return value;
  }

  /** What a move is worth to the player who makes it. */
  valueOf(position: Position, move: Move): number {
    const { next, again, points } = stepBy(this.rules, position, move);
    const rest = this.value(next);
    return points + (again ? rest : -rest);
  }

  best(position: Position): Move[] {
    const moves = movesOf(this.rules, position);
    const value = this.value(position);
    return moves.filter((move) => this.valueOf(position, move) === value);
  }
}
