/** snapshot-reads: what transactions read under snapshot isolation, and which of them cannot commit. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface Operation {
  who: number;
  kind: "begin" | "read" | "write" | "add" | "commit" | "rollback";
  key: string;
  value: number;
}
export interface SnapshotProblem {
  keys: string[];
  start: number[];
  operations: Operation[];
}

/** By level: transactions, operations of each, keys. */
const SIZES = [
  [2, 3, 2],
  [3, 3, 2],
  [4, 4, 3],
  [5, 5, 3],
  [7, 6, 4],
] as const;
const RULES =
  "Snapshot isolation: a transaction sees the committed values as of its begin and what it wrote itself. At commit it is aborted if another transaction that committed after its begin wrote a key that it has written, too; else all that it wrote becomes visible to transactions that begin later. Writes never wait.";
const WANTED =
  "Give, in the order of the schedule and separated by commas, the value for each read, and ok or abort for each commit; at last the committed values of all keys in the order in which they were introduced.";

export const snapshotReads = itemRow<SnapshotProblem>({
  id: "snapshot-reads",
  asks: "the reads and the outcomes of interleaved transactions under snapshot isolation",
  form: "list",
  tries: 20,
  make,
  prompts: [
    (one) => `${RULES}\n\nAt first ${initial(one)}. Schedule:\n\n${schedule(one)}\n\n${WANTED}`,
    (one) =>
      `A database with multi-version storage runs\n\n${schedule(one)}\n\nand holds ${initial(one)} before. ${RULES} ${WANTED}`,
    (one) =>
      `${WANTED}\n\nThe log of one afternoon:\n\n${schedule(one)}\n\nInitial values: ${initial(one)}.\n\n${RULES}`,
    (one) =>
      `What does each transaction see?\n\nStart: ${initial(one)}\n${schedule(one)}\n\nThe rules: ${RULES} ${WANTED}`,
  ],
});

function initial({ keys, start }: SnapshotProblem): string {
  return keys.map((key, index) => `${key} = ${at(start, index)}`).join(", ");
}

function schedule({ operations }: SnapshotProblem): string {
  return operations
    .map(({ who, kind, key, value }) => {
      const what = {
        read: ` ${key}`,
        write: ` ${key} = ${value}`,
        add: ` ${key} = ${key} + ${value}`,
        begin: "",
        commit: "",
        rollback: "",
      }[kind];
      return `T${who}: ${kind === "add" ? "write" : kind}${what}`;
    })
    .join("\n");
}

interface Transaction {
  readonly seen: Map<string, number>;
  readonly written: Set<string>;
  readonly begun: number;
}

/** Other rules than "snapshot" are those of readers who forget that snapshots are kept, or that later writers are aborted. */
function outcomes(
  { keys, start, operations }: SnapshotProblem,
  rule: "snapshot" | "committed" | "last" = "snapshot",
): string[] {
  const committed = new Map(keys.map((key, index) => [key, at(start, index)]));
  const commits: { time: number; written: ReadonlySet<string> }[] = [];
  const open = new Map<number, Transaction>();
  const out: string[] = [];
  for (const [time, { who, kind, key, value }] of operations.entries()) {
    if (kind === "begin") open.set(who, { seen: new Map(committed), written: new Set(), begun: time });
    const one = open.get(who);
    if (one === undefined) continue;
    const visible = rule === "committed" && !one.written.has(key) ? committed.get(key) : one.seen.get(key);
    if (kind === "read") out.push(String(visible ?? 0));
    if (kind === "write" || kind === "add") {
      one.seen.set(key, kind === "write" ? value : (visible ?? 0) + value);
      one.written.add(key);
    }
    if (kind === "rollback") open.delete(who);
    if (kind !== "commit") continue;
    const isLate = commits.some(
      (other) => other.time > one.begun && [...other.written].some((name) => one.written.has(name)),
    );
    open.delete(who);
    out.push(isLate && rule !== "last" ? "abort" : "ok");
    if (isLate && rule !== "last") continue;
    commits.push({ time, written: one.written });
    for (const name of one.written) committed.set(name, one.seen.get(name) ?? 0);
  }
  return [...out, ...keys.map((key) => String(committed.get(key) ?? 0))];
}

function make(rng: Rng, level: Level) {
  const [count, length, keyCount] = at(SIZES, level - 1);
  const keys = "xyzw".slice(0, keyCount).split("");
  const plans = range(count).map((index): Operation[] => {
    const inner = range(length).map((): Operation => ({
      who: index + 1,
      kind: rng.pick(["read", "read", "write", "add"] as const),
      key: rng.pick(keys),
      value: between(rng, 1, 40),
    }));
    const bare = { who: index + 1, key: "", value: 0 };
    return [{ ...bare, kind: "begin" }, ...inner, { ...bare, kind: rng.integer(7) === 0 ? "rollback" : "commit" }];
  });
  const operations: Operation[] = [];
  while (plans.some((plan) => plan.length > 0)) {
    // At most three transactions are open at a time.
    const open = plans.filter((plan) => plan.length > 0).slice(0, 3);
    const next = rng.pick(open).shift();
    if (next !== undefined) operations.push(next);
  }
  const problem = { keys, start: keys.map(() => between(rng, 1, 50)), operations };
  const items = outcomes(problem);
  const misses = [
    outcomes(problem, "committed"),
    outcomes(problem, "last"),
    items.map((item) => (item === "abort" ? "ok" : item)),
  ];
  const isPlain = misses.some((miss) => miss.join() === items.join());
  if (isPlain && level > 1) return null;
  if (!items.includes("ok") || (level > 1 && !items.includes("abort"))) return null;
  return { problem, items, misses, effort: operations.length + items.length };
}
