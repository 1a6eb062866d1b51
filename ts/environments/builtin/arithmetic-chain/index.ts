/** arithmetic-chain: a start value and a row of steps (plus, minus, times, modulo); the answer is the last value, in a box. */
import { z } from "zod";

import { defineEnvironment } from "../../model/environment.ts";
import type { Message } from "../../../message.ts";
import { reward } from "../../model/reward.ts";
import type { Rng } from "../../../random/rng.ts";
import { singleTurn } from "../../conversation/single-turn.ts";
import { endless } from "../../model/tasks.ts";
import { extractAnswer } from "../../../verify/index.ts";
import { ofSplit } from "../../../datasets/index.ts";

const config = z.strictObject({
  minSteps: z.int().min(1).default(2).describe("fewest steps"),
  maxSteps: z.int().min(1).max(100).default(6).describe("most steps"),
  largest: z.int().min(2).max(10_000).default(20).describe("largest number in a step"),
});

interface Row {
  prompt: Message[];
  steps: string[];
  answer: number;
}

export default defineEnvironment({
  name: "arithmetic-chain",
  version: "1.0.0",
  tags: ["math", "synthetic"],
  config,
  tasks: ({ config: args, rng, split }) => endless(ofSplit(rows(args, rng), split, (row) => row.steps)),
  key: (_, index) => String(index),
  rollout: singleTurn(),
  metrics: { boxed: ({ trace }) => extractAnswer(trace.lastReply) !== null },
  rewards: {
    correct: reward(
      1,
      ({ task, trace }) => extractAnswer(trace.lastReply)?.replace(/\s/gu, "") === String(task.answer),
    ),
  },
  async validate({ task, score }) {
    const [gold, wrong] = [await score(`\\boxed{${task.answer}}`), await score(`\\boxed{${task.answer + 1}}`)];
    if (gold !== 1 || wrong !== 0) throw new Error(`the answer scores ${gold}, another ${wrong}`);
  },
});

function* rows({ minSteps, maxSteps, largest }: z.output<typeof config>, rng: Rng): Generator<Row> {
  for (;;) {
    let value = rng.integer(largest + 1);
    const steps = [`start with ${value}`];
    const count = minSteps + rng.integer(Math.max(1, maxSteps - minSteps + 1));
    for (let step = 0; step < count; step++) {
      const operand = 1 + rng.integer(largest);
      // Products grow: after one beyond a million a remainder brings it back.
      const kind = Math.abs(value) > 1_000_000 ? "mod" : rng.pick(["plus", "minus", "times", "mod"]);
      if (kind === "plus") value += operand;
      else if (kind === "minus") value -= operand;
      else if (kind === "times") value *= operand;
      else value = ((value % (operand + 1)) + operand + 1) % (operand + 1);
      steps.push(STEP_TEXT[kind]?.(operand) ?? "");
    }
    const content = `Compute step by step: ${steps.join(", ")}. Give the last value as \\boxed{...}.`;
    yield { prompt: [{ role: "user", content }], steps, answer: value };
  }
}

const STEP_TEXT: Readonly<Record<string, (operand: number) => string>> = {
  plus: (operand) => `add ${operand}`,
  minus: (operand) => `subtract ${operand}`,
  times: (operand) => `multiply by ${operand}`,
  mod: (operand) => `take the remainder (0 or more) after division by ${operand + 1}`,
};
