/**
 * alphabet-sort: each turn brings new names, and the policy answers with all names so far in alphabetical order, one per line.
 *
 * Multi-turn; only the conversation holds state. The reward is the similarity of the lists, as a mean over the turns; the similarity
 * that the names in their given order already have counts as 0.
 */
import { z } from "zod";

import { defineEnvironment, type Demonstration } from "../../model/environment.ts";
import { multiTurn } from "../../conversation/multi-turn.ts";
import { reward } from "../../model/reward.ts";
import type { Rng } from "../../../random/rng.ts";
import { endless } from "../../model/tasks.ts";
import type { Message } from "../../../message.ts";
import { sequenceRatio } from "../../../verify/index.ts";
import { ofSplit } from "../../../datasets/index.ts";
import { distinct, name } from "../words.ts";

const config = z.strictObject({
  minTurns: z.int().min(1).default(2).describe("fewest turns of a task"),
  maxTurns: z.int().min(1).max(20).default(3).describe("most turns of a task"),
  namesPerTurn: z.int().min(1).max(20).default(3).describe("new names in each turn"),
  answerNoise: z.number().min(0).max(1).default(0).describe("demonstrations: probability that a list is not sorted"),
  noiseAfter: z.int().min(0).default(0).describe("demonstrations: how many come without noise first"),
});

type Arguments = z.output<typeof config>;

interface Row {
  prompt: Message[];
  /** The names of each turn. */
  turns: string[][];
}

export default defineEnvironment({
  name: "alphabet-sort",
  version: "1.1.0",
  tags: ["logic", "multi-turn", "synthetic"],
  config,
  tasks: ({ config: args, rng, split }) => endless(ofSplit(rows(args, rng), split, contentOf)),
  key: (_, index) => String(index),
  contentKey: (row) => JSON.stringify(contentOf(row)),
  rollout: multiTurn<Row>({
    maxTurns: 20,
    respond: (trace, task) => {
      const next = task.turns[trace.turns];
      return next === undefined ? null : moreNames(next);
    },
  }),
  metrics: { turns: ({ trace }) => trace.turns },
  rewards: {
    similarity: reward(1, ({ task, trace }) => {
      const replies = trace.nodes
        .filter(({ sampled }) => sampled)
        .map(({ message }) => lines(message.content).join("\n"));
      const scores = task.turns.map((_, turn) => sortedness(replies[turn] ?? "", task.turns.slice(0, turn + 1)));
      return scores.reduce((sum, score) => sum + score, 0) / scores.length;
    }),
  },
  demonstrations: ({ config: args, rng }) => demonstrations(args, rng),
  async validate({ task, scoreMessages }) {
    const gold = await scoreMessages(conversation(task, (names) => names));
    const nothing = await scoreMessages(conversation(task, () => []));
    if (gold !== 1 || nothing !== 0) throw new Error(`the sorted lists score ${gold}, empty ones ${nothing}`);
  },
});

/** Similarity to the sorted list: 1 for the sorted list, 0 for a list that is no more similar than the names in their given order. */
function sortedness(reply: string, turns: readonly string[][]): number {
  const sorted = sortedUpTo(turns, turns.length - 1).join("\n");
  const [ratio, unsorted] = [sequenceRatio(reply, sorted), sequenceRatio(turns.flat().join("\n"), sorted)];
  return unsorted === 1 ? Number(ratio === 1) : Math.max(0, (ratio - unsorted) / (1 - unsorted));
}

/** Another order of a turn's names is the same task. */
function contentOf({ turns }: Row): string[][] {
  return turns.map((names) => names.toSorted());
}

/** Sorted lists; from number `noiseAfter` on each list is, with probability `answerNoise`, in random order. */
function* demonstrations(args: Arguments, rng: Rng): Generator<Demonstration> {
  let index = 0;
  for (const row of ofSplit(rows(args, rng), "demonstrations", contentOf)) {
    const clean = index < args.noiseAfter;
    yield {
      messages: conversation(row, (names) => (clean || rng.next() >= args.answerNoise ? names : shuffled(names, rng))),
    };
    index++;
  }
}

function conversation({ prompt, turns }: Row, answer: (sorted: string[]) => string[]): Message[] {
  return turns.flatMap((names, turn): Message[] => [
    ...(turn === 0 ? prompt : [{ role: "user", content: moreNames(names) } as const]),
    { role: "assistant", content: answer(sortedUpTo(turns, turn)).join("\n") },
  ]);
}

function moreNames(names: readonly string[]): string {
  return `Add these and list all again:\n${names.join("\n")}`;
}

function shuffled<Item>(items: readonly Item[], rng: Rng): Item[] {
  const keyed = items.map((item) => ({ item, key: rng.next() }));
  return keyed.toSorted((a, b) => a.key - b.key).map(({ item }) => item);
}

function sortedUpTo(turns: readonly string[][], turn: number): string[] {
  return turns
    .slice(0, turn + 1)
    .flat()
    .toSorted();
}

function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function* rows({ minTurns, maxTurns, namesPerTurn }: Arguments, rng: Rng): Generator<Row> {
  for (;;) {
    const count = minTurns + rng.integer(Math.max(1, maxTurns - minTurns + 1));
    const names = distinct(count * namesPerTurn, () => name(rng));
    const turns = Array.from({ length: count }, (_, turn) =>
      names.slice(turn * namesPerTurn, (turn + 1) * namesPerTurn),
    );
    const content = `List these names in alphabetical order, one per line and nothing else:\n${(turns[0] ?? []).join("\n")}`;
    yield { prompt: [{ role: "user", content }], turns };
  }
}
