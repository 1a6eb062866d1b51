/** Costs that the user has measured, in place of those that follow from data sheets: a JSON file, every key of which may be left out. */
import { z } from "zod";

import { PrlError } from "../errors.ts";
import type { RunCosts } from "../plan/index.ts";

const seconds = z.number().nonnegative();

export const measuredCostsSchema = z.strictObject({
  decode: z
    .array(z.tuple([z.int().positive(), z.number().positive()]))
    .min(1)
    .optional()
    .describe(
      "[sequences, seconds of a decoding step with them]; between two entries the time is interpolated, outside the nearest one holds",
    ),
  prefill_tokens_per_s: z
    .number()
    .positive()
    .optional()
    .describe("Tokens of prompts that a server computes in a second"),
  train_tokens_per_gpu_s: z
    .number()
    .positive()
    .optional()
    .describe("Tokens that a GPU of the trainer trains in a second"),
  publish_s: seconds.optional().describe("From the end of a batch until its version can be read"),
  hop_s: seconds.optional().describe("A version from one node to the next, with weight_broadcast.type = grpc"),
  swap_s: seconds.optional().describe("How long a server is paused for a version"),
  env_cpu_s: seconds.optional().describe("CPU time of an env worker for a rollout"),
  exchange_cpu_s: seconds
    .optional()
    .describe("CPU time of the orchestrator for the request and the answer of a rollout"),
});

export type MeasuredCosts = z.infer<typeof measuredCostsSchema>;

/** Errors: PRL_CONFIG_FILE for a text that is no JSON, PRL_CONFIG_INVALID for keys and values that do not fit; both name the file. */
export function parseMeasuredCosts(text: string, file: string): MeasuredCosts {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new PrlError("PRL_CONFIG_FILE", `${file} is not valid JSON`, { cause });
  }
  const parsed = measuredCostsSchema.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new PrlError("PRL_CONFIG_INVALID", `${file}: ${z.prettifyError(parsed.error)}`);
}

/** The costs with what was measured in their place. */
export function withMeasured(costs: RunCosts, measured: MeasuredCosts): RunCosts {
  const { decode, prefill_tokens_per_s: prefill, train_tokens_per_gpu_s: train } = measured;
  return {
    ...costs,
    ...(decode !== undefined && { decode: interpolated(decode) }),
    ...(prefill !== undefined && { prefill: (tokens: number) => tokens / prefill }),
    ...(train !== undefined && { train: ({ all }: { all: number }, ranks: number) => all / (train * ranks) }),
  };
}

/** Straight lines between the points, constant outside of them. */
function interpolated(points: readonly (readonly [number, number])[]): (at: number) => number {
  const sorted = points.toSorted(([a], [b]) => a - b);
  return (at) => {
    const next = sorted.findIndex(([x]) => x >= at);
    const [right, left] = [sorted[next] ?? sorted.at(-1), sorted[next - 1]];
    if (right === undefined) return Number.NaN;
    if (next <= 0 || left === undefined) return right[1];
    return left[1] + ((right[1] - left[1]) * (at - left[0])) / (right[0] - left[0]);
  };
}
