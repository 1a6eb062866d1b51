/** `[orchestrator.algo]` and a source's own `algo`: how rewards become advantages. */
import { z } from "zod";

const lengthPenalty = z
  .strictObject({
    output: z.number().nonnegative().default(0.25).describe("Share for sampled tokens"),
    input: z.number().nonnegative().default(0.1).describe("Share for prompt tokens"),
    turns: z.number().nonnegative().default(0.1).describe("Share for turns"),
  })
  .nullable()
  .default(null)
  .describe(
    "Rewards lose so much of the group's pass rate, each quantity relative to the group's largest; absent: nothing",
  );

const overlong = z
  .strictObject({
    max_tokens: z.int().positive().describe("Sampled tokens at which the whole penalty is reached"),
    cache_tokens: z.int().positive().describe("Last tokens before that, over which it grows"),
    factor: z.number().nonnegative().default(1).describe("The whole penalty"),
  })
  .nullable()
  .default(null)
  .describe("DAPO's penalty for answers that run into their limit; absent: none");

export const algoBlock = z
  .strictObject({
    type: z
      .enum([
        "grpo",
        "dr_grpo",
        "rloo",
        "max_rl",
        "reinforce_pp",
        "reinforce_pp_baseline",
        "opo",
        "gdpo",
        "rae",
        "hierarchical_grpo",
      ])
      .default("grpo")
      .describe("Advantage estimator; formulas in ts/orchestrator/algorithms"),
    std: z
      .enum(["none", "group", "batch"])
      .default("none")
      .describe("grpo: divide by the standard deviation of the group, of the batch, or not at all"),
    eps: z
      .number()
      .nonnegative()
      .nullable()
      .default(null)
      .describe(
        "Added to the standard deviation; unset: 1e-6 for grpo, 1e-8 under the root for reinforce_pp, 1e-4 for gdpo",
      ),
    unbiased: z.boolean().default(true).describe("Standard deviations over n - 1 instead of n"),
    singleton: z
      .union([z.literal(0), z.literal("raw")])
      .default(0)
      .describe('Advantage in a group with one valid reward: 0, or "raw" for the reward itself'),
    decay: z.number().min(0).lt(1).default(0.95).describe("rae: what an agent's average keeps at each reward"),
    length_penalty: lengthPenalty,
    overlong,
  })
  .describe("How rewards become advantages");

export type AlgoBlock = z.output<typeof algoBlock>;
