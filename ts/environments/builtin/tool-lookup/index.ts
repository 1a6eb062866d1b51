/**
 * tool-lookup: a question about people whose facts only the tools know: their managers, offices and salaries.
 *
 * Every task has its own small world, made from its seed; answers need one to three calls of different tools.
 */
import { z } from "zod";

import { defineEnvironment, type Demonstration } from "../../model/environment.ts";
import type { Message, ToolCall } from "../../../message.ts";
import { reward } from "../../model/reward.ts";
import { createRng, type Rng } from "../../../random/rng.ts";
import { endless } from "../../model/tasks.ts";
import { tool, toolSchemas } from "../../conversation/tool.ts";
import { toolUse } from "../../conversation/tool-use.ts";
import { extractAnswer } from "../../../verify/index.ts";
import { ofSplit } from "../../../datasets/index.ts";
import { distinct, name } from "../words.ts";

const KINDS = ["office", "manager_office", "manager_salary", "sum"] as const;

const config = z.strictObject({
  people: z.int().min(3).max(200).default(12).describe("people in a world"),
  maxTurns: z.int().min(1).max(50).default(8).describe("most model calls"),
  questions: z
    .array(z.enum(KINDS))
    .min(1)
    .default([...KINDS])
    .describe("kinds of questions"),
  guesses: z.number().min(0).max(1).default(0).describe("demonstrations: probability that the answer is a guess"),
  guessAfter: z.int().min(0).default(0).describe("demonstrations: how many come without guesses first"),
});

type Arguments = z.output<typeof config>;

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
  /** The person and the fact of the question. */
  who: string;
  kind: (typeof KINDS)[number];
  answer: string;
}

type World = ReadonlyMap<string, Person>;

const person = z.object({ name: z.string().describe("first name") });
const lookUp = (world: World, wanted: string): Person => {
  const found = world.get(wanted);
  if (found === undefined) throw new Error(`no person has the name ${wanted}`);
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
  contentKey: ({ worldSeed, people, who, kind }) => [worldSeed, people, who, kind].join(" "),
  rollout: async (context) =>
    toolUse<Row, unknown, World>({
      tools,
      maxTurns: context.config.maxTurns,
      state: ({ task }) => worldOf(task.worldSeed, task.people),
    })(context),
  metrics: { turns: ({ trace }) => trace.turns },
  rewards: { correct: reward(1, ({ task, trace }) => extractAnswer(trace.lastReply) === task.answer) },
  demonstrations: ({ config: args, rng }) => demonstrations(args, rng),
  async validate({ task, score }) {
    const [gold, wrong] = [await score(`\\boxed{${task.answer}}`), await score("\\boxed{nobody}")];
    if (gold !== 1 || wrong !== 0) throw new Error(`the answer scores ${gold}, another ${wrong}`);
  },
});

/** Looked up with the tools; from number `guessAfter` on, with probability `guesses`, answered at once with the fact of a random person. */
function* demonstrations(args: Arguments, rng: Rng): Generator<Demonstration> {
  const schemas = toolSchemas(tools);
  let index = 0;
  for (const row of ofSplit(rows(args, rng), "demonstrations", ({ worldSeed }) => worldSeed)) {
    const guesses = index >= args.guessAfter && rng.next() < args.guesses;
    const messages = guesses ? [...row.prompt, boxed(guess(row, rng))] : lookedUp(row);
    yield { messages, tools: schemas };
    index++;
  }
}

/** The shortest way to the answer, with several calls in a turn where that is possible. */
function lookedUp({ prompt, worldSeed, people, who, kind, answer }: Row): Message[] {
  const world = worldOf(worldSeed, people);
  const manager = lookUp(world, who).manager ?? "";
  type Lookup = readonly [lookup: keyof typeof tools, of: string, result: string];
  const ofManager: Lookup = ["get_manager", who, manager];
  const office = (of: string): Lookup => ["get_office", of, lookUp(world, of).office];
  const salary = (of: string): Lookup => ["get_salary", of, String(lookUp(world, of).salary)];
  const turns: Record<Row["kind"], Lookup[][]> = {
    office: [[office(who)]],
    manager_office: [[ofManager], [office(manager)]],
    manager_salary: [[ofManager], [salary(manager)]],
    sum: [[ofManager], [salary(who), salary(manager)]],
  };
  const exchanges = turns[kind].flatMap((lookups, turn): Message[] => {
    const calls = lookups.map(([lookup, of], place): ToolCall => {
      const call = { name: lookup, arguments: JSON.stringify({ name: of }) };
      return { id: `call_${turn}_${place}`, type: "function", function: call };
    });
    const results = lookups.map(([, , content], place): Message => ({
      role: "tool",
      content,
      tool_call_id: `call_${turn}_${place}`,
    }));
    return [{ role: "assistant", content: "", tool_calls: calls }, ...results];
  });
  return [...prompt, ...exchanges, boxed(answer)];
}

function guess({ worldSeed, people, kind }: Row, rng: Rng): string {
  const [someone, other] = [0, 1].map(() => rng.pick([...worldOf(worldSeed, people).values()]));
  if (someone === undefined || other === undefined) throw new Error("a world has people");
  if (kind === "sum") return String(someone.salary + other.salary);
  return kind === "manager_salary" ? String(someone.salary) : someone.office;
}

function boxed(answer: string): Message {
  return { role: "assistant", content: `\\boxed{${answer}}` };
}

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

function* rows({ people, questions }: Arguments, rng: Rng): Generator<Row> {
  for (;;) {
    const worldSeed = rng.integer(2 ** 31);
    const world = worldOf(worldSeed, people);
    const managed = [...world.values()].filter(({ manager }) => manager !== null);
    const { name: who, manager, office, salary } = rng.pick(managed);
    const boss = world.get(manager ?? "");
    if (boss === undefined) continue;
    const kind = rng.pick(questions);
    const [question, answer] = {
      office: [`In which office does ${who} sit?`, office],
      manager_office: [`In which office does the manager of ${who} sit?`, boss.office],
      manager_salary: [`What is the salary of the manager of ${who}?`, String(boss.salary)],
      sum: [`How much do ${who} and the manager of ${who} earn together?`, String(salary + boss.salary)],
    }[kind] as [string, string];
    const content = `${question} Use the tools, then give the answer as \\boxed{...}.`;
    yield { prompt: [{ role: "user", content }], worldSeed, people, who, kind, answer };
  }
}
