/** `[ckpt]`: joint checkpoints of trainer and orchestrator, from which `--resume` continues. */
import { z } from "zod";
import { folderPath } from "./fields.ts";

const steps = (text: string) => z.int().positive().nullable().default(null).describe(text);

/** The block is the same for every kind of run, except for the interval of the rolling checkpoints. */
export const ckptBlockOf = (recoveryInterval: number) =>
  z
    .strictObject({
      recovery_interval: z
        .int()
        .positive()
        .default(recoveryInterval)
        .describe("Steps between rolling checkpoints, of which only the newest stays"),
      interval: steps("Steps between checkpoints that are kept; unset: only rolling checkpoints"),
      keep_last: steps("Number of newest kept checkpoints that stay; unset: all"),
      keep_interval: steps("Kept checkpoints at multiples of this step are never removed; unset: no such step"),
      save_async: z
        .boolean()
        .default(true)
        .describe("Write a checkpoint while the trainer waits for the next batch; false: before it waits"),
      stop_deadline_s: z
        .number()
        .nonnegative()
        .default(10)
        .describe("Time that a run which is stopped has for a last checkpoint (seconds); 0: it makes none"),
      path: folderPath(
        "Folder for the checkpoints of all runs, with a folder for each run; unset: checkpoints/ of the run directory",
      )
        .nullable()
        .default(null),
    })
    .prefault({})
    .describe("Checkpoints");
export const ckptBlock = ckptBlockOf(10);
export type CkptBlock = z.output<typeof ckptBlock>;

/** A problem between the keys, or null. */
export function ckptProblem({ interval, keep_last: last, keep_interval: forGood }: CkptBlock): string | null {
  if (interval === null && (last !== null || forGood !== null)) return "keep_last and keep_interval need interval";
  if (interval !== null && forGood !== null && forGood % interval !== 0) {
    return `keep_interval ${forGood} is no multiple of interval ${interval}: nothing would be kept for good`;
  }
  return null;
}
