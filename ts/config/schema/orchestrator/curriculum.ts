/** A training source's `curriculum`: how the next task is drawn, and which completed groups train. */
import { z } from "zod";

const share = (text: string) => z.number().min(0).max(1).describe(text);

const pool = z.strictObject({
  name: z.string().min(1).describe("Name in the metrics"),
  max_reward: share(
    "The pool has the tasks whose last group had a mean reward up to this and above that of the pool before",
  ),
  weight: z
    .number()
    .nonnegative()
    .describe("Weight of each task of the pool in the draw; a task that was never tried weighs 1"),
});

const POOLS = [
  { name: "hard", max_reward: 0.25, weight: 0.2 },
  { name: "normal", max_reward: 0.75, weight: 1 },
  { name: "easy", max_reward: 1, weight: 0.2 },
];

const sampler = z
  .strictObject({
    type: z
      .enum(["sequential", "difficulty_pool", "learnability"])
      .default("sequential")
      .describe(
        "sequential: tasks in their order; difficulty_pool: drawn by the mean reward of their last group; learnability: drawn by p(1-p) of that mean reward p. Drawing needs a finite number of tasks",
      ),
    pools: z
      .array(pool)
      .min(1)
      .default(POOLS)
      .describe("difficulty_pool: pools by ascending max_reward; the last one has all other tasks"),
    floor: z
      .number()
      .positive()
      .default(0.01)
      .describe(
        "learnability: least weight of a task, so that every task can be drawn again; a task that was never tried weighs 0.25",
      ),
  })
  .prefault({})
  .describe("Order of the tasks");

const gates = z
  .strictObject({
    advantage_range: z
      .strictObject({
        reject_min: z.number().default(0).describe("Lower end of the range"),
        reject_max: z.number().default(0).describe("Upper end of the range"),
      })
      .nullable()
      .default(null)
      .describe(
        "Rejects a group whose advantages (reward minus mean) all lie in the range, and another group is sampled in its place; absent: no group is rejected",
      ),
  })
  .prefault({})
  .describe("Rules that reject completed groups; the batch keeps its size");

export const curriculumBlock = z
  .strictObject({ sampler, gates })
  .prefault({})
  .describe("How tasks are drawn, and which groups are rejected");
export type CurriculumBlock = z.output<typeof curriculumBlock>;

/** A range that no advantage lies in, or null. */
export function gateProblem({ gates: { advantage_range: range } }: CurriculumBlock): string | null {
  if (range === null || range.reject_min <= range.reject_max) return null;
  return `reject_min ${range.reject_min} is above reject_max ${range.reject_max}: nothing would be rejected`;
}

/** A problem of the pools, or null. */
export function curriculumProblem({ sampler: { pools } }: CurriculumBlock): string | null {
  const ascends = pools.every((own, i) => i === 0 || own.max_reward > (pools[i - 1]?.max_reward ?? 0));
  if (!ascends) return "pools must have ascending max_reward";
  return pools.some(({ weight }) => weight > 0) ? null : "every pool has weight 0: no task could be drawn";
}
