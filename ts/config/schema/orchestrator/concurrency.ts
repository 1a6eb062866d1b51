/** `[orchestrator.concurrency]`: how many rollouts are under way at once, by the engines' metrics. */
import { z } from "zod";
import { automatic, seconds } from "../fields.ts";

export const concurrencyBlock = z
  .strictObject({
    adaptive: z
      .boolean()
      .default(true)
      .describe(
        "Choose the number between min_inflight and orchestrator.max_inflight by the engines' metrics; false: always max_inflight",
      ),
    initial_inflight: automatic("Rollouts at once at the start; unset: orchestrator.max_inflight"),
    min_inflight: z
      .int()
      .positive()
      .default(1)
      .describe("Least number of rollouts at once, whatever the engines' metrics are"),
    target_kv_usage: z
      .number()
      .gt(0)
      .max(1)
      .default(0.8)
      .describe("Share of an engine's KV cache in use above which fewer rollouts begin"),
    interval_s: seconds().default(2).describe("Time between two readings of the engines' metrics (seconds)"),
  })
  .prefault({})
  .describe("How many rollouts run at once");
/** A problem between keys of `[orchestrator]`, with the key to report. */
export function concurrencyProblem(orchestrator: {
  max_inflight: number;
  concurrency: ConcurrencyBlock;
}): { key: keyof ConcurrencyBlock; message: string } | null {
  const { max_inflight: most, concurrency } = orchestrator;
  const { min_inflight: least, initial_inflight: initial } = concurrency;
  if (least > most) return { key: "min_inflight", message: `${least} is more than orchestrator.max_inflight ${most}` };
  if (initial === null || (initial >= least && initial <= most)) return null;
  return {
    key: "initial_inflight",
    message: `${initial} is not between min_inflight ${least} and max_inflight ${most}`,
  };
}

export type ConcurrencyBlock = z.output<typeof concurrencyBlock>;
