/** countdown: reach a target with given numbers, each used at most once, and + - * /; the expression stands in <answer> tags. */
import { z } from "zod";

import { defineEnvironment } from "../../model/environment.ts";
import type { Message } from "../../../message.ts";
import { reward } from "../../model/reward.ts";
import type { Rng } from "../../../random/rng.ts";
import { singleTurn } from "../../conversation/single-turn.ts";
import { endless } from "../../model/tasks.ts";
import { xmlParser } from "../../../verify/index.ts";
import { ofSplit } from "../../../datasets/index.ts";
import { evaluate } from "./expression.ts";

const config = z.strictObject({
  numbers: z.int().min(2).max(8).default(4).describe("how many numbers are given"),
  largest: z.int().min(2).max(999).default(50).describe("largest of them"),
});

interface Row {
  prompt: Message[];
  numbers: number[];
  target: number;
  /** One way to reach it. */
  solution: string;
}

const parser = xmlParser(["answer"]);

export default defineEnvironment({
  name: "countdown",
  version: "1.1.0",
  tags: ["math", "search", "synthetic"],
  config,
  tasks: ({ config: args, rng, split }) => endless(ofSplit(rows(args, rng), split, contentOf)),
  key: (_, index) => String(index),
  contentKey: (row) => JSON.stringify(contentOf(row)),
  rollout: singleTurn(),
  metrics: { expression: ({ trace }) => evaluate(parser.parseAnswer(trace.lastReply) ?? "") !== null },
  rewards: { solved: reward(1, ({ task, trace }) => solves(parser.parseAnswer(trace.lastReply) ?? "", task)) },
  async validate({ task, score }) {
    const [gold, wrong] = [
      await score(`<answer>${task.solution}</answer>`),
      await score(`<answer>${task.target}</answer>`),
    ];
    if (gold !== 1 || wrong !== 0) throw new Error(`the solution scores ${gold}, the bare target ${wrong}`);
  },
});

/** Whether the expression equals the target and uses no number more often than given. */
export function solves(text: string, { numbers, target }: Pick<Row, "numbers" | "target">): boolean {
  const result = evaluate(text);
  if (result?.value?.denominator !== 1n || result.value.numerator !== BigInt(target)) return false;
  const left = [...numbers];
  return result.numbers.every((number) => {
    const place = left.indexOf(number);
    if (place >= 0) left.splice(place, 1);
    return place >= 0;
  });
}

/** Another order of the numbers is the same task. */
function contentOf({ numbers, target }: Row): unknown {
  return [numbers.toSorted((a, b) => a - b), target];
}

function* rows({ numbers: count, largest }: z.output<typeof config>, rng: Rng): Generator<Row> {
  for (;;) {
    const numbers = Array.from({ length: count }, () => 1 + rng.integer(largest));
    const made = combine(numbers, rng);
    // A target that is among the numbers would be its own answer.
    if (made === null || numbers.includes(made.value)) continue;
    const content =
      `Using the numbers ${numbers.join(", ")}, each at most once, and + - * / with brackets, write an expression that equals ${made.value}. ` +
      "Put it in <answer> tags, for example <answer>(3 + 4) * 2</answer>.";
    yield { prompt: [{ role: "user", content }], numbers, target: made.value, solution: made.text };
  }
}

/** Joins the numbers two by two in random order; null when the result is not a usable target. */
function combine(numbers: readonly number[], rng: Rng): { text: string; value: number } | null {
  const parts = numbers.map((value) => ({ text: String(value), value }));
  while (parts.length > 1) {
    const [a] = parts.splice(rng.integer(parts.length), 1);
    const [b] = parts.splice(rng.integer(parts.length), 1);
    if (a === undefined || b === undefined) return null;
    const choices = [
      { text: `(${a.text} + ${b.text})`, value: a.value + b.value },
      { text: `(${a.text} * ${b.text})`, value: a.value * b.value },
      ...(a.value > b.value ? [{ text: `(${a.text} - ${b.text})`, value: a.value - b.value }] : []),
      ...(b.value !== 0 && a.value % b.value === 0
        ? [{ text: `(${a.text} / ${b.text})`, value: a.value / b.value }]
        : []),
    ];
    parts.push(rng.pick(choices));
  }
  const [whole] = parts;
  if (whole === undefined || whole.value < 1 || whole.value > 10_000) return null;
  return whole;
}
