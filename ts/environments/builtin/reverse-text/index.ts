/**
 * reverse-text: the right answer to `reverse: abc\n` is `cba` and the end of the sequence.
 *
 * The smallest task that shows the whole loop: generated, endless, scored without a model. The reward is the
 * Ratcliff-Obershelp similarity, so partly right answers get a part. Training tasks, held-out tasks and
 * demonstrations never share a string.
 */
import { defineEnvironment } from "../../model/environment.ts";
import type { Rng } from "../../../random/rng.ts";
import { reward, type RewardContext } from "../../model/reward.ts";
import { singleTurn } from "../../conversation/single-turn.ts";
import { endless } from "../../model/tasks.ts";
import { sequenceRatio, stripWhitespace } from "../../../verify/index.ts";
import { config, type ReverseConfig } from "./config.ts";
import { demonstrations } from "./demonstrations.ts";
import { strings } from "./strings.ts";
import { type ReverseTask, taskOf } from "./task.ts";

export default defineEnvironment({
  name: "reverse-text",
  version: "1.1.0",
  tags: ["text", "synthetic"],
  config,
  tasks: ({ config: args, rng, split }) => endless(tasks(args, rng, split)),
  key: (_, index) => String(index),
  rollout: singleTurn(),
  rewards: {
    similarity: reward(1, ({ task, trace }: RewardContext<ReverseTask>) =>
      sequenceRatio(stripWhitespace(trace.lastReply), task.answer),
    ),
  },
  metrics: {
    exact_match: ({ task, trace }) => trace.lastReply === task.answer,
  },
  demonstrations: ({ config: args, rng }) => demonstrations(args, rng),
  async validate({ task, score }) {
    const gold = await score(task.answer);
    if (gold !== 1) throw new Error(`the gold answer "${task.answer}" scores ${gold}`);
  },
});

function* tasks(args: ReverseConfig, rng: Rng, split: "train" | "eval"): Generator<ReverseTask> {
  for (const text of strings(args, rng, split)) yield taskOf(text);
}
