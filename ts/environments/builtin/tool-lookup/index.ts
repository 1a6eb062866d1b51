/**
 * tool-lookup: a question about people whose facts only the tools know: who manages whom, where they sit, what they earn.
 *
 * Every task has a small world of its own, made from its seed; answers need one to three calls of different tools.
 */
import { z } from "zod";

import { defineEnvironment } from "../../environment.ts";
import type { Message } from "../../message.ts";
import { reward } from "../../reward.ts";
import { createRng, type Rng } from "../../rng.ts";
import { endless } from "../../tasks.ts";
import { tool } from "../../tool.ts";
import { toolUse } from "../../tool-use.ts";
import { extractAnswer } from "../../verify/index.ts";
import { ofSplit } from "../split.ts";
import { distinct, name } from "../words.ts";

const config = z.strictObject({
  people: z.int().min(3).max(200).default(12).describe("people in a world"),
  maxTurns: z.int().min(1).max(50).default(8).describe("most model calls"),
});

interface Person {
  name: string;
  manager: string | null;
  office: string;
  salary: number;
}

interface Row {
  prompt: Message[];
  worldSeed: number;
  people: number;
  answer: string;
}

type World = ReadonlyMap<string, Person>;

const person = z.object({ name: z.string().describe("first name") });
const lookUp = (world: World, wanted: string): Person => {
  const found = world.get(wanted);
  if (found === undefined) throw new Error(`nobody is called ${wanted}`);
  return found;
};

const tools = {
  list_people: tool<z.ZodObject<{}>, Row, unknown, World>({
    description: "Names of all people",
    parameters: z.object({}),
    execute: (_args, { state }) => [...state.keys()],
  }),
  get_manager: tool<typeof person, Row, unknown, World>({
    description: "Name of a person's manager, or null",
    parameters: person,
    execute: (args, { state }) => lookUp(state, args.name).manager,
  }),
  get_office: tool<typeof person, Row, unknown, World>({
    description: "A person's office",
    parameters: person,
    execute: (args, { state }) => lookUp(state, args.name).office,
  }),
  get_salary: tool<typeof person, Row, unknown, World>({
    description: "A person's salary",
    parameters: person,
    execute: (args, { state }) => lookUp(state, args.name).salary,
  }),
};

export default defineEnvironment({
  name: "tool-lookup",
  version: "1.0.0",
  tags: ["tools", "synthetic"],
  config,
  tasks: ({ config: args, rng, split }) => endless(ofSplit(rows(args, rng), split, (row) => row.worldSeed)),
  key: (_, index) => String(index),
  rollout: async (context) =>
    toolUse<Row, unknown, World>({
      tools,
      maxTurns: context.config.maxTurns,
      state: ({ task }) => worldOf(task.worldSeed, task.people),
    })(context),
  metrics: { turns: ({ trace }) => trace.turns },
  rewards: { correct: reward(1, ({ task, trace }) => extractAnswer(trace.lastReply) === task.answer) },
  async validate({ task, score }) {
    const [gold, wrong] = [await score(`\\boxed{${task.answer}}`), await score("\\boxed{nobody}")];
    if (gold !== 1 || wrong !== 0) throw new Error(`the answer scores ${gold}, another ${wrong}`);
  },
});

function worldOf(seed: number, people: number): World {
  const rng = createRng(seed);
  const names = distinct(people, () => name(rng));
  return new Map(
    names.map((own, index) => [
      own,
      {
        name: own,
        manager: index === 0 ? null : (names[rng.integer(index)] ?? null),
        office: `${String.fromCodePoint(65 + rng.integer(6))}${100 + rng.integer(900)}`,
        salary: 1000 * (30 + rng.integer(90)),
      },
    ]),
  );
}

function* rows({ people }: z.output<typeof config>, rng: Rng): Generator<Row> {
  for (;;) {
    const worldSeed = rng.integer(2 ** 31);
    const world = worldOf(worldSeed, people);
    const managed = [...world.values()].filter(({ manager }) => manager !== null);
    const { name: who, manager, office, salary } = rng.pick(managed);
    const boss = world.get(manager ?? "");
    if (boss === undefined) continue;
    const [question, answer] = rng.pick([
      [`In which office does ${who} sit?`, office],
      [`In which office does the manager of ${who} sit?`, boss.office],
      [`What is the salary of the manager of ${who}?`, String(boss.salary)],
      [`How much do ${who} and the manager of ${who} earn together?`, String(salary + boss.salary)],
    ] as const);
    const content = `${question} Use the tools, then give the answer as \\boxed{...}.`;
    yield { prompt: [{ role: "user", content }], worldSeed, people, answer };
  }
}
