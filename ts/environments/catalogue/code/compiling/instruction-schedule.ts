/** instruction-schedule: an order of instructions with latencies that needs no more than a given number of cycles. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { witnessRow } from "../witness-row.ts";

interface Problem {
  /** Latency, and the instructions whose results are read. */
  instructions: { latency: number; needs: number[] }[];
  most: number;
}

/** By level: instructions. */
const SIZES = [5, 7, 9, 12, 16] as const;
const BEAM = 30;
const SAMPLES = 30;

export const instructionSchedule = witnessRow<Problem>({
  id: "instruction-schedule",
  asks: "an order of dependent instructions with latencies that finishes within a given number of cycles",
  form: "list",
  tries: 60,
  make,
  isRight: (problem, items) => {
    const order = items.map((item) => (/^i\d{1,2}$/iu.test(item) ? Number(item.slice(1)) - 1 : -1));
    const length = lengthOf(problem, order);
    return length !== null && length <= problem.most;
  },
  prompts: [
    (one) =>
      `${text(one)}\n\n${RULES} Order all instructions so that everything is finished after ${one.most} cycles at the latest. Write the names in order, separated by commas.`,
    (one) =>
      `Reorder this block for a machine that starts one instruction per cycle. ${RULES}\n\n${text(one)}\n\nAt most ${one.most} cycles may pass. Which order does it? Names with commas.`,
    (one) =>
      `List scheduling: find an order with a makespan of ${one.most} cycles or less.\n\n${text(one)}\n\n${RULES} Comma-separated names; any order that is fast enough is right.`,
    (one) =>
      `In source order this code stalls.\n\n${text(one)}\n\n${RULES} Permute it such that the last result is there after no more than ${one.most} cycles (answer: all names in the new order, with commas).`,
  ],
});

const RULES =
  "One instruction starts per cycle, in the given order; it waits, and all behind it, until the results that it reads are there. A result is there latency cycles after the start. The time is counted from the start of the first instruction (cycle 0) to the moment when all results are there.";

function text({ instructions }: Problem): string {
  return instructions
    .map(
      ({ latency, needs }, index) =>
        `i${index + 1}: latency ${latency}${needs.length === 0 ? "" : `, reads ${needs.map((one) => `i${one + 1}`).join(" and ")}`}`,
    )
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const count = at(SIZES, level - 1);
  const plain = range(count).map((index) => ({
    latency: rng.pick([1, 1, 2, 3, 4, 5]),
    needs:
      index === 0
        ? []
        : [...new Set(range(rng.integer(3)).map(() => between(rng, Math.max(0, index - 5), index - 1)))].toSorted(
            (a, b) => a - b,
          ),
  }));
  const problem: Problem = { instructions: plain, most: 0 };
  const best = search(problem);
  const length = lengthOf(problem, best);
  if (length === null) return null;
  const found = { ...problem, most: length };
  const naive = [range(count), range(count).toSorted((a, b) => at(plain, b).latency - at(plain, a).latency)];
  const random = range(SAMPLES).map(() => randomOrder(found, rng));
  const isFast = (order: readonly number[]): boolean => (lengthOf(found, order) ?? Infinity) <= length;
  if (naive.some(isFast) || random.filter(isFast).length > SAMPLES / (3 + level)) return null;
  const label = (order: readonly number[]): string[] => order.map((index) => `i${index + 1}`);
  const edges = plain.reduce((sum, { needs }) => sum + needs.length, 0);
  return {
    problem: found,
    witness: label(best),
    misses: [...naive, ...random.slice(0, 2)].map(label),
    effort: count * 3 + edges,
  };
}

function lengthOf({ instructions }: Problem, order: readonly number[]): number | null {
  if (order.length !== instructions.length || new Set(order).size < order.length) return null;
  const done = new Map<number, number>();
  let cycle = -1;
  for (const index of order) {
    const one = instructions[index];
    if (one === undefined || one.needs.some((need) => !done.has(need))) return null;
    cycle = Math.max(cycle + 1, ...one.needs.map((need) => done.get(need) ?? 0));
    done.set(index, cycle + one.latency);
  }
  return Math.max(...done.values());
}

/** Keeps the most promising beginnings, by the time at which the longest chain behind them would end. */
function search(problem: Problem): number[] {
  const { instructions } = problem;
  const tails = instructions.map(() => 0);
  for (const index of range(instructions.length).toReversed()) {
    tails[index] = at(tails, index) + at(instructions, index).latency;
    for (const need of at(instructions, index).needs) tails[need] = Math.max(at(tails, need), at(tails, index));
  }
  let beam: { order: number[]; done: Map<number, number>; cycle: number; bound: number }[] = [
    { order: [], done: new Map(), cycle: -1, bound: 0 },
  ];
  for (const _ of instructions) {
    beam = beam
      .flatMap(({ order, done, cycle, bound }) =>
        range(instructions.length)
          .filter((index) => !done.has(index) && at(instructions, index).needs.every((need) => done.has(need)))
          .map((index) => {
            const start = Math.max(cycle + 1, ...at(instructions, index).needs.map((need) => done.get(need) ?? 0));
            return {
              order: [...order, index],
              done: new Map([...done, [index, start + at(instructions, index).latency]]),
              cycle: start,
              bound: Math.max(bound, start + at(tails, index)),
            };
          }),
      )
      .toSorted((a, b) => a.bound - b.bound || a.cycle - b.cycle)
      .slice(0, BEAM);
  }
  return beam[0]?.order ?? [];
}

function randomOrder({ instructions }: Problem, rng: Rng): number[] {
  const order: number[] = [];
  while (order.length < instructions.length) {
    const free = shuffled(range(instructions.length), rng).find(
      (index) => !order.includes(index) && at(instructions, index).needs.every((need) => order.includes(need)),
    );
    if (free === undefined) break;
    order.push(free);
  }
  return order;
}
