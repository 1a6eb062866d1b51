/** shrunk-input: a shortest part of a failing list that still makes a program crash. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { witnessRow } from "../witness-row.ts";

/** In a state, an element with this property leads to another state. */
interface Move {
  from: number;
  to: number;
  divisor: number;
  rest: number;
  least: number;
}
export interface ShrinkProblem {
  moves: Move[];
  last: number;
  modulus: number;
  total: number;
  data: number[];
  most: number;
}

/** By level: states, moves back, elements, modulus of the sum. */
const SIZES = [
  [2, 0, 8, 2],
  [3, 1, 12, 2],
  [3, 2, 16, 3],
  [4, 3, 22, 4],
  [5, 4, 30, 5],
] as const;

export const shrunkInput = witnessRow<ShrinkProblem>({
  id: "shrunk-input",
  asks: "a shortest subsequence of a failing list with which a program with states still crashes",
  form: "list",
  tries: 60,
  make,
  isRight: (problem, items) => {
    if (items.length > problem.most || !items.every((item) => /^\d{1,3}$/u.test(item))) return false;
    const numbers = items.map(Number);
    let place = 0;
    for (const value of problem.data) if (value === numbers[place]) place += 1;
    return place === numbers.length && crashes(problem, numbers);
  },
  prompts: [
    (one) =>
      `${shrinkSource(one)}\n\nscan crashes for data = [${one.data.join(", ")}]. Delete elements, without changing the order, so that it still crashes with at most ${one.most} of them. Write what remains, separated by commas.`,
    (one) =>
      `Reduce a failing test case. The input ${one.data.join(", ")} triggers the assertion of\n\n${shrinkSource(one)}\n\nFind a subsequence of no more than ${one.most} elements that triggers it, too; give it as numbers with commas between.`,
    (one) =>
      `A fuzzer found that scan([${one.data.join(", ")}]) fails:\n\n${shrinkSource(one)}\n\nMinimise the list by leaving out elements. ${one.most} elements can be enough; answer with such a list (comma-separated, in the original order).`,
    (one) =>
      `${shrinkSource(one)}\n\nWhich ${one.most} or fewer elements of [${one.data.join(", ")}], kept in their order, are enough to make the assertion fail? Comma-separated numbers. Every subsequence of that length that fails is right.`,
  ],
});

export function shrinkSource({ moves, last, modulus, total }: ShrinkProblem): string {
  const branches = moves.map(
    ({ from, to, divisor, rest, least }, index) =>
      `        ${index === 0 ? "if" : "elif"} state == ${from} and x % ${divisor} == ${rest} and x >= ${least}:\n            state = ${to}`,
  );
  return `def scan(data):\n    state = 0\n    total = 0\n    for x in data:\n        total = (total + x) % ${modulus}\n${branches.join("\n")}\n    assert not (state == ${last} and total == ${total})`;
}

function make(rng: Rng, level: Level) {
  const [states, back, length, modulus] = at(SIZES, level - 1);
  const move = (from: number, to: number): Move => {
    const divisor = between(rng, 2, 4);
    return { from, to, divisor, rest: rng.integer(divisor), least: between(rng, 0, 4) * 10 };
  };
  const backward = range(back).map(() => {
    const from = between(rng, 1, states);
    return move(from, rng.integer(from));
  });
  const moves = [...backward, ...range(states).map((state) => move(state, state + 1))];
  const data = range(length).map(() => between(rng, 1, 99));
  const base = { moves, last: states, modulus, total: rng.integer(modulus), data, most: 0 };
  if (!crashes(base, data)) return null;
  const witness = shortest(base);
  if (witness === null || witness.length < Math.min(states, 2) || witness.length > length / 2) return null;
  const text = (list: readonly number[]): string => `,${list.join(",")},`;
  if (text(data).includes(text(witness))) return null;
  const problem = { ...base, most: witness.length };
  const misses = [data, data.slice(0, witness.length), data.slice(-witness.length), witness.slice(1)];
  return {
    problem,
    witness: witness.map(String),
    misses: misses.map((list) => list.map(String)),
    effort: length * (states + 1) * modulus,
  };
}

function step({ moves }: ShrinkProblem, state: number, x: number): number {
  return moves.find((one) => one.from === state && x % one.divisor === one.rest && x >= one.least)?.to ?? state;
}

function crashes(problem: ShrinkProblem, data: readonly number[]): boolean {
  let state = 0;
  for (const x of data) state = step(problem, state, x);
  return state === problem.last && data.reduce((sum, x) => sum + x, 0) % problem.modulus === problem.total;
}

/** The shortest subsequence for each state and sum, element by element. */
function shortest(problem: ShrinkProblem): number[] | null {
  let best = new Map<string, { state: number; total: number; list: number[] }>([
    ["0 0", { state: 0, total: 0, list: [] }],
  ]);
  for (const x of problem.data) {
    const next = new Map(best);
    for (const { state, total, list } of best.values()) {
      const reached = { state: step(problem, state, x), total: (total + x) % problem.modulus, list: [...list, x] };
      const key = `${reached.state} ${reached.total}`;
      const known = next.get(key);
      if (known === undefined || known.list.length > reached.list.length) next.set(key, reached);
    }
    best = next;
  }
  return best.get(`${problem.last} ${problem.total}`)?.list ?? null;
}
