/** equivalent-serial-order: a serial order of transactions that is conflict-equivalent to an interleaved schedule. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { witnessRow } from "../witness-row.ts";

interface Problem {
  transactions: number;
  steps: { tx: number; write: boolean; item: string }[];
}

/** By level: transactions, operations of each, items. */
const SIZES = [
  [3, 2, 3],
  [4, 2, 3],
  [5, 3, 4],
  [6, 3, 5],
  [8, 4, 7],
] as const;
/** Random orders of these that may be right. */
const ORDERS = 24;
const MOST_LUCKY = 4;

export const equivalentSerialOrder = witnessRow<Problem>({
  id: "equivalent-serial-order",
  asks: "a serial order of transactions that is conflict-equivalent to a given schedule",
  form: "list",
  tries: 60,
  make,
  isRight: (problem, items) =>
    isOrder(
      problem,
      items.map((item) => (/^t\d$/iu.test(item) ? Number(item.slice(1)) - 1 : -1)),
    ),
  prompts: [
    (one) =>
      `Schedule: ${text(one)}\n\nrn(X) is a read of X by Tn, wn(X) a write. Give a serial order of ${names(one)} that is conflict-equivalent to it, separated by commas.`,
    (one) =>
      `The transactions ${names(one)} were interleaved like this:\n${text(one)}\n(r: read, w: write, the digit names the transaction.)\n\nThe schedule is conflict-serialisable. In which order could the transactions have run one after the other so that all conflicting operations keep their order? Commas between.`,
    (one) =>
      `Find a topological order of the precedence graph of\n\n${text(one)}\n\nTwo operations conflict if they belong to different transactions, touch the same item, and one of them writes. List ${names(one)} in such an order, comma-separated.`,
    (one) =>
      `${text(one)}\n\nProve that this history of ${names(one)} is serialisable (conflicts: two operations on one item, at least one a write): state an equivalent serial order, with commas between the names.`,
  ],
});

function text({ steps }: Problem): string {
  return steps.map(({ tx, write, item }) => `${write ? "w" : "r"}${tx + 1}(${item})`).join(" ");
}

function names({ transactions }: Problem): string {
  return range(transactions)
    .map((index) => `T${index + 1}`)
    .join(", ");
}

function make(rng: Rng, level: Level) {
  const [transactions, operations, items] = at(SIZES, level - 1);
  const order = shuffled(range(transactions), rng);
  const steps = order.flatMap((tx) =>
    range(operations).map(() => ({ tx, write: rng.integer(2) === 0, item: "ABCDEFGH".charAt(rng.integer(items)) })),
  );
  // Neighbours without a conflict change places, which keeps the schedule equivalent to the serial one.
  for (const _ of range(8 * steps.length * operations)) {
    const place = rng.integer(steps.length - 1);
    const [one, other] = [at(steps, place), at(steps, place + 1)];
    if (one.tx === other.tx || (one.item === other.item && (one.write || other.write))) continue;
    [steps[place], steps[place + 1]] = [other, one];
  }
  const owners = steps.map(({ tx }) => tx);
  const problem = { transactions, steps };
  const edges = edgesOf(problem);
  const by = (place: (tx: number) => number): number[] => range(transactions).toSorted((a, b) => place(a) - place(b));
  const naive = [range(transactions), by((tx) => owners.indexOf(tx)), by((tx) => owners.lastIndexOf(tx))];
  const lucky = range(ORDERS).filter(() => isOrder(problem, shuffled(range(transactions), rng))).length;
  if (lucky > MOST_LUCKY || naive.some((one, index) => (index !== 1 || level > 2) && isOrder(problem, one)))
    return null;
  const label = (some: readonly number[]): string[] => some.map((tx) => `T${tx + 1}`);
  return {
    problem,
    witness: label(order),
    misses: [...naive, order.toReversed()].map(label),
    effort: edges.length + steps.length * 2,
  };
}

function edgesOf({ steps }: Problem): [number, number][] {
  return steps.flatMap((one, index) =>
    steps
      .slice(index + 1)
      .flatMap((other): [number, number][] =>
        one.tx !== other.tx && one.item === other.item && (one.write || other.write) ? [[one.tx, other.tx]] : [],
      ),
  );
}

function isOrder(problem: Problem, order: readonly number[]): boolean {
  if (
    order.length !== problem.transactions ||
    new Set(order).size < order.length ||
    !order.every((tx) => tx >= 0 && tx < problem.transactions)
  )
    return false;
  const places = range(problem.transactions).map((tx) => order.indexOf(tx));
  return edgesOf(problem).every(([before, after]) => at(places, before) < at(places, after));
}
