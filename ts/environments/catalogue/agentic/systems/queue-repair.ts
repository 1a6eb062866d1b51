/** queue-repair: a jammed queue is drained so that every effect happens once and in order, without the messages that are broken. */
import { z } from "zod";

import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { type Call, defineWorldRow, type Level, Refusal, type Script, worldTool } from "../../row.ts";
import {
  aboveBase,
  call,
  changedShare,
  namesOf,
  pageOf,
  pageStart,
  recordName,
  recordNames,
  recordOf,
} from "../records.ts";

interface Message {
  id: string;
  /** Messages of a key take effect in the order of their numbers. */
  key: string;
  number: number;
  add: number;
  checksum: number;
}

interface Instance {
  messages: Message[];
  /** Numbers that have taken effect already, by key. */
  done: Record<string, number>;
  /** What the best single fate for all messages gets. */
  base: number;
}

type Draft = Omit<Instance, "base">;

type Fate = "processed" | "dropped" | "parked" | "dead";

interface World {
  readonly instance: Draft;
  readonly fates: Map<string, Fate>;
  /** Messages in the order of their effect. */
  readonly log: string[];
}

/** By level: keys, messages of a key, duplicates, broken messages, gaps. */
const SIZES = [
  [2, 3, 1, 0, 1],
  [3, 4, 2, 1, 1],
  [4, 5, 4, 2, 1],
  [6, 6, 7, 3, 2],
  [8, 7, 11, 5, 3],
] as const;
const PAGE = 12;
/** Instances in which one fate for all gets more are dropped. */
const MOST_BASE = 0.7;
const MODULUS = 97;

function settle(fate: Exclude<Fate, "processed">, description: string) {
  return worldTool({
    description,
    parameters: z.object({ messages: recordNames }),
    run: (world: World, { messages }: { messages: string[] }) => {
      for (const id of messages) if (waiting(world, id) === null) throw new Refusal(`${id} is not in the queue`);
      for (const id of new Set(messages)) world.fates.set(id, fate);
      return { left: world.instance.messages.length - world.fates.size };
    },
  });
}

const tools = {
  list_messages: worldTool<World, typeof pageStart>({
    description: `Messages in the queue in the order of their arrival, ${PAGE} at a time`,
    parameters: pageStart,
    run: ({ instance, fates }, { from }) =>
      pageOf(
        instance.messages.filter(({ id }) => !fates.has(id)),
        from,
        PAGE,
      ),
  }),
  last_done: worldTool<World, z.ZodObject>({
    description: "For each key the number of the last message that has taken effect",
    parameters: z.object({}),
    run: ({ instance }) => instance.done,
  }),
  process: worldTool({
    description: "Lets a message take effect and removes it. The service checks nothing",
    parameters: z.object({ message: recordName }),
    run: (world: World, { message }) => {
      if (waiting(world, message) === null) throw new Refusal(`${message} is not in the queue`);
      world.fates.set(message, "processed");
      world.log.push(message);
      return "processed";
    },
  }),
  drop: settle("dropped", "Removes messages for good, without effect"),
  park: settle("parked", "Puts messages aside until what they wait for has come"),
  dead_letter: settle("dead", "Removes messages and sends them to the developers"),
};

const RULES = [
  "a message is broken if its checksum is not (number times 7 plus add) modulo 97: it goes to the dead letters, whatever else holds, and leaves a gap",
  "a message whose key and number have taken effect already, or that equals a sound message that arrived earlier, is a duplicate: drop it",
  "the others are processed, for each key in the order of their numbers without a gap (the order among keys is free)",
  "messages behind a gap, where no sound message has the missing number, are parked",
];

export const queueRepair = defineWorldRow<Instance, World>({
  id: "queue-repair",
  asks: "drain a queue with duplicates, broken messages and gaps so that effects happen once and in order",
  make,
  effort: ({ messages }) => messages.length,
  canonical: ({ messages }) => messages.map(({ id, number }) => JSON.stringify([id, number])).toSorted(),
  prompts: [
    () =>
      `The queue is jammed. Give every message its right fate:\n${RULES.map((rule) => `- ${rule}`).join("\n")}\n\nThe checksum is of whole numbers and is never negative. Processing cannot be undone.`,
    () =>
      `Please empty the queue.\n${RULES.map((rule, index) => `${index + 1}) ${rule};`).join("\n")}\nThe number of the last effect of each key is known to the tool last_done; the next one follows it. A message that takes effect out of turn counts as wrong, and wrong fates cost as much as right ones earn.`,
    () =>
      `Work through all messages by this procedure: ${RULES.join(". Further: ")}. The queue holds them in the order in which they arrived, which is not the order of their numbers. No message may be left in it.`,
    () =>
      `You operate a message queue after an outage. Messages came twice, out of order, damaged, or not at all. What to do with each:\n${RULES.map((rule) => `* ${rule}`).join("\n")}\nNumbers of a key begin after the last one that is done. Effects are final.`,
  ],
  tools,
  world: (instance) => ({ instance, fates: new Map(), log: [] }),
  gold: (instance) => script(instance, fatesOf(instance)),
  slips: (instance) => {
    const right = fatesOf(instance);
    const change = (from: Fate, to: Fate) =>
      new Map([...right].map(([id, fate]): [string, Fate] => [id, fate === from ? to : fate]));
    return {
      "processes duplicates": script(instance, change("dropped", "processed")),
      "processes behind gaps": script(instance, change("parked", "processed")),
      "processes in the order of arrival": [
        ...script(instance, right).filter(({ tool }) => tool !== "process"),
        ...inOrderOfArrival(instance),
      ],
      "stops before the last message": script(instance, right).slice(0, -1),
      "drops what should be parked": script(instance, change("parked", "dropped")),
    };
  },
  blankets: (instance) => ({
    "processes everything": instance.messages.map(({ id }) => call("process", { message: id })),
    "drops everything": [call("list_messages", { from: 0 }), ...settled("drop", instance.messages)],
    "parks everything": settled("park", instance.messages),
  }),
  grade: (instance, world) => aboveBase(share(instance, world), instance.base),
});

function make(rng: Rng, level: Level): Instance | null {
  const [keys, count, duplicates, broken, gaps] = at(SIZES, level - 1);
  const done: Record<string, number> = {};
  const drafts: Omit<Message, "id">[] = namesOf("key", keys, rng).flatMap((key) => {
    const last = between(rng, 3, 60);
    done[key] = last;
    return range(between(rng, count - 1, count + 1)).map((index) => sound(key, last + 1 + index, rng));
  });
  const lost = new Set(sample(drafts, gaps, rng));
  const kept = drafts.filter((one) => !lost.has(one));
  const copies = sample(kept, duplicates, rng).map((one) => ({ ...one }));
  // Some duplicates are of messages that took effect before the outage.
  for (const copy of copies.slice(0, Math.ceil(duplicates / 2))) {
    const number = Math.max(1, (done[copy.key] ?? 1) - rng.integer(3));
    Object.assign(copy, sound(copy.key, number, rng));
  }
  const damaged = sample(kept, broken, rng).map((one) => ({
    ...one,
    checksum: (one.checksum + between(rng, 1, 90)) % MODULUS,
  }));
  // Some of the damaged messages have a sound copy, the others replace it.
  const replaced = kept.filter(
    (one) => !damaged.slice(0, Math.floor(broken / 2)).some((bad) => bad.key === one.key && bad.number === one.number),
  );
  const all = shuffled([...replaced, ...copies, ...damaged], rng);
  const ids = namesOf("msg", all.length, rng);
  const instance = { messages: all.map((one, index) => ({ id: at(ids, index), ...one })), done };
  const fates = [...fatesOf(instance).values()];
  const isVaried =
    fates.includes("parked") &&
    fates.includes("dropped") &&
    fates.filter((fate) => fate === "processed").length >= keys;
  const base = baseOf(instance);
  const arrival = after(instance, inOrderOfArrival(instance)).log;
  const isMixed = share(instance, { instance, fates: fatesOf(instance), log: arrival }) < 1;
  return isVaried && isMixed && base < MOST_BASE ? { ...instance, base } : null;
}

function sound(key: string, number: number, rng: Rng): Omit<Message, "id"> {
  const add = between(rng, 1, 90);
  return { key, number, add, checksum: checksumOf({ number, add }) };
}

function checksumOf({ number, add }: Pick<Message, "number" | "add">): number {
  return (number * 7 + add) % MODULUS;
}

function waiting({ instance, fates }: World, id: string): Message | null {
  const message = recordOf(instance.messages, id, "message");
  return fates.has(id) ? null : message;
}

function fatesOf({ messages, done }: Draft): Map<string, Fate> {
  const isSound = (one: Message): boolean => one.checksum === checksumOf(one);
  const first = messages.filter(
    (one, index) =>
      isSound(one) &&
      one.number > (done[one.key] ?? 0) &&
      !messages.slice(0, index).some((other) => isSound(other) && other.key === one.key && other.number === one.number),
  );
  const isConnected = ({ key, number }: Message): boolean =>
    range(number - (done[key] ?? 0) - 1).every((step) =>
      first.some((one) => one.key === key && one.number === number - 1 - step),
    );
  return new Map(
    messages.map((one): [string, Fate] => {
      if (!isSound(one)) return [one.id, "dead"];
      if (!first.includes(one)) return [one.id, "dropped"];
      return [one.id, isConnected(one) ? "processed" : "parked"];
    }),
  );
}

/** Fates as they should be; a message that took effect out of turn has another one. */
function share(instance: Draft, { fates, log }: World): number {
  const last = new Map(Object.entries(instance.done));
  const late = new Set<string>();
  for (const id of log) {
    const { key, number } = recordOf(instance.messages, id, "message");
    if (number !== (last.get(key) ?? 0) + 1) late.add(id);
    last.set(key, Math.max(number, last.get(key) ?? 0));
  }
  const found = [...fates].map(([id, fate]) => [id, late.has(id) ? "out of turn" : fate]);
  return changedShare({}, Object.fromEntries(fatesOf(instance)), Object.fromEntries(found));
}

function after(instance: Draft, calls: Script): World {
  const world: World = { instance, fates: new Map(), log: [] };
  for (const { tool, args } of calls) {
    if (tool !== "process") continue;
    world.fates.set(String(args["message"]), "processed");
    world.log.push(String(args["message"]));
  }
  return world;
}

/** Share of the best fate for all messages. */
function baseOf(instance: Draft): number {
  const all = (["dropped", "parked", "dead"] as const).map((fate) =>
    share(instance, { ...after(instance, []), fates: new Map(instance.messages.map(({ id }) => [id, fate])) }),
  );
  return Math.max(...all, share(instance, after(instance, inOrderOfArrival(instance, true))));
}

/** What should be processed, or all messages, in the wrong order. */
function inOrderOfArrival(instance: Draft, isAll = false): Call[] {
  const fates = fatesOf(instance);
  const chosen = instance.messages.filter(({ id }) => isAll || fates.get(id) === "processed");
  return chosen.map(({ id }) => call("process", { message: id }));
}

function settled(tool: string, messages: readonly { readonly id: string }[]): Script {
  return range(Math.ceil(messages.length / 20)).map((page) =>
    call(tool, { messages: messages.slice(20 * page, 20 * (page + 1)).map(({ id }) => id) }),
  );
}

function script({ messages }: Instance, fates: ReadonlyMap<string, Fate>): Script {
  const of = (fate: Fate) => messages.filter(({ id }) => fates.get(id) === fate);
  const processed = of("processed").toSorted((a, b) => a.number - b.number);
  return [
    call("last_done"),
    ...range(Math.ceil(messages.length / PAGE)).map((page) => call("list_messages", { from: page * PAGE })),
    ...settled("dead_letter", of("dead")),
    ...settled("drop", of("dropped")),
    ...settled("park", of("parked")),
    ...processed.map(({ id }) => call("process", { message: id })),
  ];
}
