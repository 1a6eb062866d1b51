/** lock-priority-trace: who waits, dies or is wounded when transactions of different age ask for locks. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Event = { tx: number; lock: string | null };
export interface PriorityProblem {
  rule: "wait-die" | "wound-wait";
  /** Begin of each transaction. */
  begins: number[];
  /** Without a lock: the transaction commits. Events of transactions that wait or have ended are skipped. */
  events: Event[];
}

/** By level: transactions, locks, events. */
const SIZES = [
  [3, 2, 6],
  [3, 3, 9],
  [4, 3, 12],
  [5, 4, 17],
  [6, 5, 25],
] as const;
const RULES = {
  "wait-die": "if the asking one is older than the holder, it waits; otherwise it dies",
  "wound-wait": "if the asking one is older than the holder, the holder is wounded; otherwise the asking one waits",
} as const;

export const lockPriorityTrace = itemRow<PriorityProblem>({
  id: "lock-priority-trace",
  asks: "who gets locks, waits, dies or is wounded under wait-die and wound-wait",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${rules(one)}\n\nEvents:\n${text(one)}\n\nWrite one line for each event with its outcome: skipped, granted, waits, dies, wounds (the holder) or commits. If locks are handed over because of it, add them behind the word as Tn=lock, in alphabetical order of locks, separated by spaces.`,
    (one) =>
      `Deadlocks are avoided by ${one.rule}. ${rules(one)}\n\n${text(one)}\n\nFor every event give a line: one of granted, waits, dies, wounds, commits, skipped, followed by the hand-overs Tn=lock that it causes (locks in alphabetical order, spaces between).`,
    (one) =>
      `${text(one)}\n\nTrace the lock table. ${rules(one)} A line per event: its outcome (granted / waits / dies / wounds / commits / skipped), then each lock that passes on as Tn=lock, sorted by lock.`,
    (one) =>
      `Lock manager log to complete:\n${text(one)}\n\n${rules(one)}\n\nOutcomes are the words granted, waits, dies, wounds, commits and skipped; behind them stand hand-overs such as T2=A, in the order of the locks' names. One line per event.`,
  ],
});

function rules({ rule, begins }: PriorityProblem): string {
  const ages = range(begins.length).toSorted((a, b) => at(begins, a) - at(begins, b));
  return `Oldest first, the transactions are ${ages.map((tx) => `T${tx + 1}`).join(", ")}. Locks are exclusive. When a transaction asks for a free lock or one that it holds, it is granted. If another holds it, ${RULES[rule]}. Who dies, is wounded or commits ends: it leaves all queues and frees its locks, and each freed lock goes to the first transaction in its queue; a lock whose holder was wounded goes to the wounding transaction before its queue (shown as a hand-over, too). Events of transactions that wait or have ended are skipped.`;
}

function text({ events }: PriorityProblem): string {
  return events
    .map(({ tx, lock }) => (lock === null ? `T${tx + 1} commits` : `T${tx + 1} asks for ${lock}`))
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [transactions, locks, count] = at(SIZES, level - 1);
  const events = range(count).map((index): Event => ({
    tx: rng.integer(transactions),
    lock: index > 2 && rng.integer(6) === 0 ? null : "ABCDEF".charAt(rng.integer(locks)),
  }));
  const problem: PriorityProblem = {
    rule: rng.pick(["wait-die", "wound-wait"] as const),
    begins: shuffled(range(transactions), rng),
    events,
  };
  const { items, work } = trace(problem);
  const words = new Set(items.map((item) => item.split(" ")[0]));
  const skipped = items.filter((item) => item === "skipped").length;
  if (words.size < 3 + Number(level > 2) || skipped > count / 3 || !items.some((item) => item.includes("=")))
    return null;
  const misses = [
    trace({ ...problem, rule: problem.rule === "wait-die" ? "wound-wait" : "wait-die" }).items,
    trace({ ...problem, begins: problem.begins.map((begin) => -begin) }).items,
    items.map((item) => item.split(" ")[0] ?? ""),
  ];
  return { problem, items, misses, effort: work + 2 * count };
}

function trace({ rule, begins, events }: PriorityProblem) {
  const holders = new Map<string, number>();
  const queues = new Map<string, number[]>();
  const ended = new Set<number>();
  let work = 0;
  const isWaiting = (tx: number): boolean => [...queues.values()].some((queue) => queue.includes(tx));
  const end = (tx: number, heir?: { lock: string; tx: number }): string[] => {
    ended.add(tx);
    for (const [lock, queue] of queues)
      queues.set(
        lock,
        queue.filter((one) => one !== tx),
      );
    const freed = [...holders]
      .filter(([, holder]) => holder === tx)
      .map(([lock]) => lock)
      .toSorted();
    return freed.flatMap((lock) => {
      work += 1;
      const queue = queues.get(lock) ?? [];
      const next = heir?.lock === lock ? heir.tx : queue.shift();
      if (next === undefined) {
        holders.delete(lock);
        return [];
      }
      holders.set(lock, next);
      return [`T${next + 1}=${lock}`];
    });
  };
  const items = events.map(({ tx, lock }) => {
    work += 1;
    if (ended.has(tx) || isWaiting(tx)) return "skipped";
    if (lock === null) return ["commits", ...end(tx)].join(" ");
    const holder = holders.get(lock);
    if (holder === undefined || holder === tx) {
      holders.set(lock, tx);
      return "granted";
    }
    const isOlder = at(begins, tx) < at(begins, holder);
    if (rule === "wait-die" && !isOlder) return ["dies", ...end(tx)].join(" ");
    if (rule === "wound-wait" && isOlder) return ["wounds", ...end(holder, { lock, tx })].join(" ");
    queues.set(lock, [...(queues.get(lock) ?? []), tx]);
    return "waits";
  });
  return { items, work };
}
