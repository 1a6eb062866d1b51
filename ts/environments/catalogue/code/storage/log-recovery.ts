/** log-recovery: what the recovery of a database redoes and undoes after a crash, and the pages that it leaves. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

type Record =
  | { do: "update"; tx: number; page: string; from: number; to: number }
  | { do: "commit"; tx: number }
  | { do: "flush"; page: string }
  /** Takes back the update with number `of`. */
  | { do: "compensate"; tx: number; page: string; of: number; to: number };
export interface RecoveryProblem {
  pages: { name: string; start: number }[];
  /** Numbers from 1; flushes are no log records and have none. */
  events: Record[];
}

/** By level: transactions, pages, events. */
const SIZES = [
  [2, 2, 6],
  [3, 2, 9],
  [3, 3, 13],
  [4, 4, 19],
  [5, 5, 27],
] as const;

export const logRecovery = itemRow<RecoveryProblem>({
  id: "log-recovery",
  asks: "the log records that crash recovery redoes and undoes, and the pages that it leaves",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${history(one)}\n\nThen the machine crashes. ${RULES}\n\nAnswer with three lines: the numbers of the records that are redone, the numbers of the updates that are undone (each in the order of the work, with spaces; - for none), and the final values of the pages as name=value.`,
    (one) =>
      `Restart a database from its log. ${RULES}\n\nBefore the crash:\n${history(one)}\n\nWrite line 1: redone record numbers; line 2: undone update numbers; line 3: all pages afterwards as name=value. Order as they happen, pages in alphabetical order, spaces between, - for an empty list.`,
    (one) =>
      `${RULES}\n\nHistory until the power failed:\n${history(one)}\n\nWhich records does recovery apply again, which does it roll back, and what do the pages hold then? Three lines: redo numbers, undo numbers (space-separated, in working order, or -), pages such as A=1 B=2.`,
    (one) =>
      `Given the history\n\n${history(one)}\n\nand a crash right after it, carry out recovery. ${RULES} Three lines are wanted, items separated by spaces (- if there are none): numbers redone, numbers undone, name=value of every page in order of name.`,
  ],
});

const RULES =
  "Each page on disk carries the number of the last record that had been applied to it when it was written (0 at first); changes are made in memory until a page is written. Recovery first redoes, in order, every update and compensation whose number is larger than that of its page on disk, for all transactions. Then it undoes the updates of transactions without a commit, from the latest to the earliest, except those that a compensation has already taken back; an undo restores the value before the update.";

function history({ pages, events }: RecoveryProblem): string {
  let number = 0;
  const lines = events.map((event) => {
    if (event.do === "flush") return `-- page ${event.page} is written to disk`;
    number += 1;
    if (event.do === "commit") return `${number}: commit T${event.tx}`;
    if (event.do === "update") return `${number}: T${event.tx} updates ${event.page} from ${event.from} to ${event.to}`;
    return `${number}: T${event.tx} compensates record ${event.of}: ${event.page} becomes ${event.to}`;
  });
  return `Pages at the start: ${pages.map(({ name, start }) => `${name}=${start}`).join(", ")}.\n${lines.join("\n")}`;
}

function make(rng: Rng, level: Level) {
  const [txs, pageCount, count] = at(SIZES, level - 1);
  const pages = range(pageCount).map((index) => ({ name: "ABCDEF".charAt(index), start: between(rng, 10, 99) }));
  const values = new Map(pages.map(({ name, start }) => [name, start]));
  const owners = new Map<string, number>();
  const ended = new Set<number>();
  const open: { number: number; tx: number; page: string; from: number }[] = [];
  const events: Record[] = [];
  let number = 0;
  while (events.length < count) {
    const kind = rng.integer(10);
    const tx = 1 + rng.integer(txs);
    const { name: page } = rng.pick(pages);
    if (kind < 2) events.push({ do: "flush", page });
    else if (kind === 2 && !ended.has(tx) && open.some((one) => one.tx === tx)) {
      number += 1;
      ended.add(tx);
      for (const [held, owner] of owners) if (owner === tx) owners.delete(held);
      events.push({ do: "commit", tx });
    } else if (kind === 3 && level > 1) {
      const last = open.findLast((one) => one.tx === tx);
      if (last === undefined || ended.has(tx)) continue;
      number += 1;
      open.splice(open.indexOf(last), 1);
      values.set(last.page, last.from);
      events.push({ do: "compensate", tx, page: last.page, of: last.number, to: last.from });
    } else if (!ended.has(tx) && (owners.get(page) ?? tx) === tx) {
      number += 1;
      owners.set(page, tx);
      const from = values.get(page) ?? 0;
      const to = between(rng, 10, 99);
      values.set(page, to);
      open.push({ number, tx, page, from });
      events.push({ do: "update", tx, page, from, to });
    } else if (ended.size === txs) return null;
  }
  const problem = { pages, events };
  const items = recover(problem, "right");
  if (items[0] === "-" || items[1] === "-" || ended.size === 0 || !events.some((event) => event.do === "flush"))
    return null;
  const misses = [recover(problem, "winners"), recover(problem, "all"), recover(problem, "again")];
  if (misses[0]?.join() === items.join() || misses[1]?.join() === items.join()) return null;
  return { problem, items, misses, effort: count * 2 + items.join(" ").split(" ").length };
}

/** Slips: only winners are redone, all records are, or compensated updates are undone again. */
function recover({ pages, events }: RecoveryProblem, how: "right" | "winners" | "all" | "again"): string[] {
  const live = new Map(pages.map(({ name, start }) => [name, { value: start, last: 0 }]));
  const disk = new Map(pages.map(({ name, start }) => [name, { value: start, last: 0 }]));
  const winners = new Set(events.flatMap((event) => (event.do === "commit" ? [event.tx] : [])));
  const taken = new Set(events.flatMap((event) => (event.do === "compensate" && how !== "again" ? [event.of] : [])));
  const records = events.filter((event) => event.do !== "flush").map((event, index) => ({ event, number: index + 1 }));
  let number = 0;
  for (const event of events) {
    if (event.do === "flush") disk.set(event.page, live.get(event.page) ?? { value: 0, last: 0 });
    else {
      number += 1;
      if (event.do !== "commit") live.set(event.page, { value: event.to, last: number });
    }
  }
  const redone = records.filter(({ event, number: own }) => {
    if (event.do === "commit" || (how === "winners" && !winners.has(event.tx))) return false;
    const page = disk.get(event.page);
    if (page === undefined || (how !== "all" && own <= page.last)) return false;
    disk.set(event.page, { value: event.to, last: own });
    return true;
  });
  const undone = records.toReversed().filter(({ event, number: own }) => {
    if (event.do !== "update" || winners.has(event.tx) || taken.has(own)) return false;
    disk.set(event.page, { value: event.from, last: own });
    return true;
  });
  const list = (some: readonly { number: number }[]): string => some.map((one) => one.number).join(" ") || "-";
  return [list(redone), list(undone), pages.map(({ name }) => `${name}=${disk.get(name)?.value}`).join(" ")];
}
