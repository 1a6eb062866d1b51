/** json-extraction: the policy returns facts from a sentence as one JSON object with given keys. */
import { z } from "zod";

import { defineEnvironment } from "../../model/environment.ts";
import type { Message } from "../../../message.ts";
import { reward } from "../../model/reward.ts";
import type { Rng } from "../../../random/rng.ts";
import { singleTurn } from "../../conversation/single-turn.ts";
import { endless } from "../../model/tasks.ts";
import { stripThinking } from "../../../verify/index.ts";
import { ofSplit } from "../../../datasets/index.ts";
import { distinct, name, word } from "../words.ts";

const config = z.strictObject({
  minPeople: z.int().min(1).default(1).describe("fewest people in a text"),
  maxPeople: z.int().min(1).max(20).default(3).describe("most people in a text"),
});

type Person = { name: string; age: number; city: string; likes: string[] };

interface Row {
  prompt: Message[];
  people: Person[];
}

export default defineEnvironment({
  name: "json-extraction",
  version: "1.0.0",
  tags: ["extraction", "format", "synthetic"],
  config,
  tasks: ({ config: args, rng, split }) => endless(ofSplit(rows(args, rng), split, (row) => row.people)),
  key: (_, index) => String(index),
  rollout: singleTurn(),
  metrics: { parses: ({ trace }) => read(trace.lastReply) !== null },
  rewards: {
    fields: reward(1, ({ task, trace }) => {
      const given = read(trace.lastReply);
      const people = Array.isArray(given) ? (given as unknown[]) : [];
      const right = task.people.map((person, index) => share(person, people[index]));
      const surplus = Math.max(0, people.length - task.people.length);
      return right.reduce((sum, one) => sum + one, 0) / (task.people.length + surplus);
    }),
  },
  async validate({ task, score }) {
    const gold = await score(JSON.stringify(task.people));
    const wrong = await score(JSON.stringify(task.people.map((person) => ({ ...person, age: person.age + 1 }))));
    if (gold !== 1 || wrong >= 1) throw new Error(`the facts score ${gold}, wrong ages ${wrong}`);
  },
});

/** The JSON of a reply, bare or in a code block; null when there is none. */
function read(reply: string): unknown {
  const text = stripThinking(reply, { strict: false });
  const block = /```(?:json)?([\s\S]*?)```/u.exec(text)?.[1] ?? text;
  try {
    return JSON.parse(block) as unknown;
  } catch {
    return null;
  }
}

/** Share of the four fields that are right. */
function share(person: Person, given: unknown): number {
  if (typeof given !== "object" || given === null) return 0;
  const fields = given as Record<string, unknown>;
  const keys = Object.keys(person) as (keyof Person)[];
  return keys.filter((key) => JSON.stringify(fields[key]) === JSON.stringify(person[key])).length / keys.length;
}

function* rows({ minPeople, maxPeople }: z.output<typeof config>, rng: Rng): Generator<Row> {
  for (;;) {
    const count = minPeople + rng.integer(Math.max(1, maxPeople - minPeople + 1));
    const people = distinct(count, () => name(rng)).map((own): Person => ({
      name: own,
      age: 18 + rng.integer(70),
      city: name(rng),
      likes: distinct(1 + rng.integer(3), () => word(rng)),
    }));
    const text = people.map((person) => sentence(person, rng)).join(" ");
    const content =
      `${text}\n\nGive these facts as a JSON array with one object per person, in the order of the text, ` +
      'with the keys "name", "age" (a number), "city" and "likes" (an array of texts). Answer with the JSON only.';
    yield { prompt: [{ role: "user", content }], people };
  }
}

function sentence({ name: own, age, city, likes }: Person, rng: Rng): string {
  const list = likes.length === 1 ? (likes[0] ?? "") : `${likes.slice(0, -1).join(", ")} and ${likes.at(-1) ?? ""}`;
  return rng.pick([
    `${own}, who is ${age}, lives in ${city} and likes ${list}.`,
    `In ${city} there is ${own}, aged ${age}; favourites: ${list}.`,
    `${own} from ${city} turned ${age} and is fond of ${list}.`,
  ]);
}
