/** happened-before: the events that are concurrent with given ones in logs of processes that send messages. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Event {
  name: string;
  process: number;
  /** Number of the message that the event sends or receives. */
  sends: number | null;
  receives: number | null;
}
export interface OrderProblem {
  /** In an order in which they may have happened. */
  events: Event[];
  processes: number;
  asked: string[];
}

/** By level: processes, events, questions. */
const SIZES = [
  [2, 6, 1],
  [3, 9, 2],
  [3, 13, 2],
  [4, 18, 3],
  [5, 25, 4],
] as const;

export const happenedBefore = itemRow<OrderProblem>({
  id: "happened-before",
  asks: "the events that are concurrent with given ones in logs of messages",
  form: "lines",
  tries: 40,
  make: draw,
  prompts: [
    (one) =>
      `Logs of processes, each in the order of its process:\n\n${logs(one)}\n\nAn event happened before another one if a chain of steps within processes and of messages leads from it to the other. Which events are concurrent with ${one.asked.join(", ")} (neither happened before the other)? ${FORMAT}`,
    (one) =>
      `${logs(one)}\n\nClocks of the machines cannot be trusted; only the order within a process and the way from a send to its receipt count. For each of ${one.asked.join(", ")} list all events that are causally unrelated to it. ${FORMAT}`,
    (one) =>
      `Causality exercise (Lamport's relation "happened before"). Messages m1, m2, ... connect these logs:\n\n${logs(one)}\n\nDetermine the set of events concurrent with each of: ${one.asked.join(", ")}. ${FORMAT}`,
    (one) =>
      `Vector clocks would tell it at once: which events in\n\n${logs(one)}\n\nare incomparable with ${one.asked.join(", then with ")}? ${FORMAT}`,
  ],
});

const FORMAT =
  "One line for each, in this order: the names in alphabetical order, with spaces between, without the event itself.";

function logs({ events, processes }: OrderProblem): string {
  return range(processes)
    .map((process) => {
      const own = events.filter((event) => event.process === process);
      const texts = own.map(
        ({ name, sends, receives }) =>
          `${name}${sends === null ? "" : ` sends m${sends}`}${receives === null ? "" : ` receives m${receives}`}`,
      );
      return `P${process + 1}: ${texts.join("; ")}`;
    })
    .join("\n");
}

function draw(rng: Rng, level: Level) {
  const [processes, count, questions] = at(SIZES, level - 1);
  const names = shuffled("abcdefghijklmnopqrstuvwxyz", rng);
  const waiting: { message: number; from: number }[] = [];
  let messages = 0;
  const events = range(count).map((index): Event => {
    const process = index < processes ? index : rng.integer(processes);
    const name = at(names, index);
    const open = waiting.filter(({ from }) => from !== process);
    if (open.length > 0 && rng.integer(2) === 0) {
      const taken = rng.pick(open);
      waiting.splice(waiting.indexOf(taken), 1);
      return { name, process, sends: null, receives: taken.message };
    }
    if (rng.integer(2) === 0) return { name, process, sends: null, receives: null };
    messages += 1;
    waiting.push({ message: messages, from: process });
    return { name, process, sends: messages, receives: null };
  });
  const received = events.filter(({ receives }) => receives !== null).length;
  if (received < level) return null;
  // Messages that never arrive are left out.
  const kept = events.map((event) =>
    waiting.some(({ message }) => message === event.sends) ? { ...event, sends: null } : event,
  );
  const order = relation(kept);
  const chosen = sample(range(count), questions, rng);
  const concurrent = (index: number, before: readonly (readonly boolean[])[]): string =>
    range(count)
      .filter((other) => other !== index && before[index]?.[other] === false && before[other]?.[index] === false)
      .map((other) => at(names, other))
      .toSorted()
      .join(" ");
  const items = chosen.map((index) => concurrent(index, order));
  const withoutMessages = relation(kept.map((event) => ({ ...event, receives: null })));
  const misses = [
    chosen.map((index) => concurrent(index, withoutMessages)),
    chosen.map((index) => concurrent(index, direct(kept))),
    items.map((item) => item.split(" ").slice(1).join(" ") || "none"),
  ];
  // Who overlooks the messages must be wrong about each event.
  if (items.some((item, index) => item === "" || item === misses[0]?.[index])) return null;
  const problem = { events: kept, processes, asked: chosen.map((index) => at(names, index)) };
  return { problem, items, misses, effort: count * questions + 2 * received };
}

/** Steps within a process and messages, without their chains. */
function direct(events: readonly Event[]): boolean[][] {
  return events.map((a, first) =>
    events.map(
      (b, second) => first < second && (a.process === b.process || (a.sends !== null && a.sends === b.receives)),
    ),
  );
}

/** Whether the first event happened before the second: the closure of the direct steps. */
function relation(events: readonly Event[]): boolean[][] {
  const before = direct(events);
  for (const middle of range(events.length)) {
    for (const first of range(events.length)) {
      if (!at(at(before, first), middle)) continue;
      for (const last of range(events.length)) if (at(at(before, middle), last)) at(before, first)[last] = true;
    }
  }
  return before;
}
