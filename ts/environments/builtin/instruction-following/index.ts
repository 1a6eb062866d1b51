/**
 * instruction-following: write about something and follow some instructions, each of which a program checks.
 *
 * Every task has a reply that was built to follow all of its instructions and was checked. At least one instruction asks for
 * words that were made for the task, so that no text follows the instructions of many tasks, and no task is solved by text
 * copied from the prompt.
 */
import { z } from "zod";

import { defineEnvironment, type Demonstration } from "../../model/environment.ts";
import type { Message } from "../../../message.ts";
import { reward } from "../../model/reward.ts";
import type { Rng } from "../../../random/rng.ts";
import { singleTurn } from "../../conversation/single-turn.ts";
import { endless } from "../../model/tasks.ts";
import { checkInstruction, stripThinking } from "../../../verify/index.ts";
import { ofSplit } from "../../../datasets/index.ts";
import { CATALOG, type DrawnInstruction, pickSome } from "./catalog.ts";
import { emptyDraft, write } from "./draft.ts";
import { sentenceAbout, TOPICS } from "./sentences.ts";

const config = z
  .strictObject({
    minInstructions: z.int().min(1).max(10).default(1).describe("fewest instructions of a task"),
    maxInstructions: z.int().min(1).max(10).default(4).describe("most instructions of a task"),
    mode: z.enum(["strict", "loose"]).default("strict").describe("loose forgives first and last lines and asterisks"),
    scoring: z
      .enum(["share", "all"])
      .default("all")
      .describe("reward: 1 when all instructions are followed, else 0; or the share of them"),
  })
  .refine(({ minInstructions, maxInstructions }) => minInstructions <= maxInstructions, {
    path: ["maxInstructions"],
    message: "must be at least minInstructions",
  });

/** Repetitions of the prompt in a lazy reply: as many as any instruction asks for a word. */
const REPETITIONS = 5;

type Arguments = z.output<typeof config>;

interface Row {
  prompt: Message[];
  instructions: DrawnInstruction[];
  /** Follows all of them. */
  gold: string;
}

export default defineEnvironment({
  name: "instruction-following",
  version: "1.1.0",
  tags: ["instructions", "synthetic"],
  config,
  tasks: ({ config: args, rng, split }) => endless(ofSplit(rows(args, rng), split, content)),
  key: (_, index) => String(index),
  rollout: singleTurn(),
  metrics: {
    strict: ({ task, trace }) => followed(task, trace.lastReply, "strict"),
    loose: ({ task, trace }) => followed(task, trace.lastReply, "loose"),
    all_strict: ({ task, trace }) => followed(task, trace.lastReply, "strict") === 1,
    instructions: ({ task }) => task.instructions.length,
  },
  rewards: {
    followed: reward(1, ({ task, trace, config: { mode, scoring } }) => {
      const share = followed(task, trace.lastReply, mode);
      return scoring === "share" ? share : Number(share === 1);
    }),
  },
  demonstrations: ({ config: args, rng }) => demonstrations(args, rng),
  async validate({ task, score }) {
    const [gold, nothing] = [await score(task.gold), await score("")];
    if (gold !== 1 || nothing !== 0) throw new Error(`the reply that follows scores ${gold}, an empty one ${nothing}`);
  },
});

/** Share of the instructions. */
function followed({ instructions }: Pick<Row, "instructions">, reply: string, mode: "strict" | "loose"): number {
  const answer = stripThinking(reply, { strict: false });
  const count = instructions.filter(({ id, kwargs }) => checkInstruction(id, kwargs, answer)[mode]).length;
  return count / instructions.length;
}

function followsAll(instructions: readonly DrawnInstruction[], reply: string): boolean {
  return instructions.every(({ id, kwargs }) => checkInstruction(id, kwargs, reply).loose);
}

/** Replies without any work; a task that one of them solves is left out. */
function lazyReplies(prompt: string): string[] {
  const quoted = Array.from(prompt.matchAll(/"([^"]+)"/gu), ([, text = ""]) => text);
  const repeated = Array.from({ length: REPETITIONS }, () => prompt).join("\n");
  return ["I do not know.", prompt, repeated, ...quoted, quoted.join(" ")];
}

function content({ prompt, instructions }: Row): unknown {
  return [prompt, instructions];
}

function* demonstrations(args: Arguments, rng: Rng): Generator<Demonstration> {
  for (const { prompt, gold } of ofSplit(rows(args, rng), "demonstrations", content)) {
    yield { messages: [...prompt, { role: "assistant", content: gold }] };
  }
}

/** Draws different instructions; at least one asks for words of this task alone. */
function drawThemes(count: number, rng: Rng): string[] {
  const own = rng.pick([...new Set(CATALOG.filter(({ ownWords }) => ownWords).map(({ theme }) => theme))]);
  const others = [...new Set(CATALOG.map(({ theme }) => theme))].filter((theme) => theme !== own);
  return pickSome([own, ...pickSome(others, count - 1, rng)], count, rng);
}

function* rows({ minInstructions, maxInstructions }: Arguments, rng: Rng): Generator<Row> {
  for (;;) {
    const count = minInstructions + rng.integer(maxInstructions - minInstructions + 1);
    const themes = drawThemes(count, rng);
    const topic = rng.pick(TOPICS);
    const draft = emptyDraft();
    draft.sentences.push(sentenceAbout(topic, rng));
    const instructions = themes.map((theme) =>
      rng.pick(CATALOG.filter((kind) => kind.theme === theme)).draw({ rng, draft, topic }),
    );
    const gold = write(draft);
    // Where two instructions cannot be followed at once (small letters under a heading in capitals), others are drawn.
    if (followed({ instructions }, gold, "strict") < 1) continue;
    const listed = instructions.map(({ text }) => `* ${text}`).join("\n");
    const prompt = `Write about ${topic}. Follow ${count === 1 ? "this instruction" : "these instructions"}:\n${listed}`;
    if (lazyReplies(prompt).some((reply) => followsAll(instructions, reply))) continue;
    yield { prompt: [{ role: "user", content: prompt }], instructions, gold };
  }
}
