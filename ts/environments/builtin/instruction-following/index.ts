/**
 * instruction-following: write about something and follow some instructions, each of which a program checks.
 *
 * Every task comes with a reply that was built to follow all of its instructions and was checked to do so.
 */
import { z } from "zod";

import { defineEnvironment, type Demonstration } from "../../environment.ts";
import type { Message } from "../../message.ts";
import { reward } from "../../reward.ts";
import type { Rng } from "../../rng.ts";
import { singleTurn } from "../../single-turn.ts";
import { endless } from "../../tasks.ts";
import { checkInstruction, stripThinking } from "../../verify/index.ts";
import { ofSplit } from "../split.ts";
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
      .default("share")
      .describe("reward: share of instructions followed, or all or nothing"),
  })
  .refine(({ minInstructions, maxInstructions }) => minInstructions <= maxInstructions, {
    path: ["maxInstructions"],
    message: "must be at least minInstructions",
  });

const IDLE_REPLY = "I do not know.";

type Arguments = z.output<typeof config>;

interface Row {
  prompt: Message[];
  instructions: DrawnInstruction[];
  /** Follows all of them. */
  gold: string;
}

export default defineEnvironment({
  name: "instruction-following",
  version: "1.0.0",
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

function content({ prompt, instructions }: Row): unknown {
  return [prompt, instructions];
}

function* demonstrations(args: Arguments, rng: Rng): Generator<Demonstration> {
  for (const { prompt, gold } of ofSplit(rows(args, rng), "demonstrations", content)) {
    yield { messages: [...prompt, { role: "assistant", content: gold }] };
  }
}

function* rows({ minInstructions, maxInstructions }: Arguments, rng: Rng): Generator<Row> {
  for (;;) {
    const count = minInstructions + rng.integer(maxInstructions - minInstructions + 1);
    const themes = pickSome([...new Set(CATALOG.map(({ theme }) => theme))], count, rng);
    const topic = rng.pick(TOPICS);
    const draft = emptyDraft();
    draft.sentences.push(sentenceAbout(topic, rng));
    const instructions = themes.map((theme) =>
      rng.pick(CATALOG.filter((kind) => kind.theme === theme)).draw({ rng, draft, topic }),
    );
    const gold = write(draft);
    // Where two instructions cannot be followed at once (small letters under a heading in capitals), others are drawn.
    if (followed({ instructions }, gold, "strict") < 1) continue;
    // Nor is a task one that any reply solves ("use no commas").
    if (followed({ instructions }, IDLE_REPLY, "loose") === 1) continue;
    const listed = instructions.map(({ text }) => `* ${text}`).join("\n");
    const prompt = `Write about ${topic}. Follow ${count === 1 ? "this instruction" : "these instructions"}:\n${listed}`;
    yield { prompt: [{ role: "user", content: prompt }], instructions, gold };
  }
}
