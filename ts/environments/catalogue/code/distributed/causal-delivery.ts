/** causal-delivery: which broadcast messages a process can deliver after each arrival, by their vector stamps. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface DeliveryProblem {
  processes: number;
  /** In the order of arrival at a process that sends nothing. */
  messages: { name: string; sender: number; stamp: number[] }[];
}

/** By level: processes, messages. */
const SIZES = [
  [2, 4],
  [2, 6],
  [3, 8],
  [3, 11],
  [4, 15],
] as const;

export const causalDelivery = itemRow<DeliveryProblem>({
  id: "causal-delivery",
  asks: "the broadcast messages that a process delivers after each arrival, by their vector stamps",
  form: "lines",
  tries: 60,
  make,
  prompts: [
    (one) =>
      `${RULES}\n\nMessages arrive at Q, which has sent and delivered nothing, in this order:\n${text(one)}\n\nWrite one line for each arrival: the messages that Q delivers right after it, in order of delivery with spaces between, or - for none.`,
    (one) =>
      `Q receives\n${text(one)}\n\n${RULES} What does Q deliver after each arrival? A line per arrival, names separated by spaces; - if the message has to wait and nothing else gets free.`,
    (one) =>
      `Causal broadcast. ${RULES}\n\nArrivals at an observer Q, first to last:\n${text(one)}\n\nGive ${one.messages.length} lines: line n lists, in order, what is delivered to the application when the n-th message has come in (- for nothing).`,
    (one) =>
      `Simulate the buffer of a receiver Q that delivers causally.\n\n${text(one)}\n\n${RULES} For each of these arrivals in turn, write the deliveries that it sets off on one line (space-separated names, or -).`,
  ],
});

const RULES =
  "Each message carries a vector: entry i is the number of messages of Pi that the sender had sent or delivered when it sent this one, itself included. Q delivers a message of Pi as soon as it has delivered exactly one message less of Pi than entry i says, and of every other process at least as many as the vector says. If several waiting messages can be delivered, the one that arrived first goes first, and then it is looked again.";

function text({ messages }: DeliveryProblem): string {
  return messages.map(({ name, sender, stamp }) => `${name} from P${sender + 1} [${stamp.join(", ")}]`).join("\n");
}

function make(rng: Rng, level: Level) {
  const [processes, count] = at(SIZES, level - 1);
  const seen = range(processes).map(() => range(processes).map(() => 0));
  const sent: { sender: number; stamp: number[] }[] = [];
  const pending = range(processes).map((): { sender: number; stamp: number[] }[] => []);
  while (sent.length < count) {
    const who = rng.integer(processes);
    const own = at(seen, who);
    const ready = at(pending, who).filter((one) => isReady(own, one));
    if (ready.length > 0 && rng.integer(2) === 0) {
      const one = rng.pick(ready);
      own[one.sender] = (own[one.sender] ?? 0) + 1;
      pending[who] = at(pending, who).filter((other) => other !== one);
      continue;
    }
    own[who] = (own[who] ?? 0) + 1;
    const message = { sender: who, stamp: [...own] };
    sent.push(message);
    for (const [other, queue] of pending.entries()) if (other !== who) queue.push(message);
  }
  const messages = shuffled(sent, rng).map((one, index) => ({
    name: "abcdefghijklmnopqrstuvwxyz".charAt(index),
    ...one,
  }));
  const problem = { processes, messages };
  const { items, checks } = deliveries(problem, isReady);
  const waits = items.filter((item) => item === "-").length;
  if (waits < Math.max(1, count / 4) || waits > count * 0.7) return null;
  const misses = [
    deliveries(problem, (own, { sender, stamp }) => own[sender] === at(stamp, sender) - 1).items,
    messages.map(({ name }) => name),
    items.map((item) => item.split(" ").toReversed().join(" ")),
  ];
  if (level > 1 && misses[0]?.join() === items.join()) return null;
  return { problem, items, misses, effort: checks + count };
}

function isReady(own: readonly number[], { sender, stamp }: { sender: number; stamp: readonly number[] }): boolean {
  return stamp.every((value, index) => (index === sender ? own[index] === value - 1 : at(own, index) >= value));
}

function deliveries({ processes, messages }: DeliveryProblem, ready: typeof isReady) {
  const own = range(processes).map(() => 0);
  let waiting: DeliveryProblem["messages"] = [];
  let checks = 0;
  const items = messages.map((message) => {
    waiting.push(message);
    const delivered: string[] = [];
    for (;;) {
      checks += waiting.length;
      const next = waiting.find((one) => ready(own, one));
      if (next === undefined) break;
      own[next.sender] = at(own, next.sender) + 1;
      delivered.push(next.name);
      waiting = waiting.filter((one) => one !== next);
    }
    return delivered.join(" ") || "-";
  });
  return { items, checks };
}
