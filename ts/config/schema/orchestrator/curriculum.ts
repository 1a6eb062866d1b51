/** A training source's `curriculum`: how the next task is drawn, and which completed groups train. */
import { z } from "zod";

const share = (text: string) => z.number().min(0).max(1).describe(text);

const pool = z.strictObject({
  name: z.string().min(1).describe("Name in the metrics"),
  max_reward: share("Tasks whose last group had a mean reward up to this, and above that of the pool before"),
  weight: z.number().nonnegative().describe("Weight of each such task in the draw; one that was never tried weighs 1"),
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
        "Tasks in their order; drawn by how well the last group did; or drawn by p(1-p) of its mean reward p. Drawing needs a finite set",
      ),
    pools: z
      .array(pool)
      .min(1)
      .default(POOLS)
      .describe("difficulty_pool: pools by ascending max_reward; the last one takes the rest"),
    floor: z
      .number()
      .positive()
      .default(0.01)
      .describe("learnability: least weight of a task, so that none is lost for good; an untried one weighs 0.25"),
  })
  .prefault({})
  .describe("Order of the tasks");

const gates = z
  .strictObject({
    advantage_range: z
      .strictObject({
        reject_min: z.number().default(0).describe("Lowest advantage that is rejected"),
        reject_max: z.number().default(0).describe("Highest advantage that is rejected"),
      })
      .nullable()
      .default(null)
      .describe(
        "A group all of whose advantages (reward minus mean) lie in the range is rejected, and another is sampled for it; absent: none is",
      ),
  })
  .prefault({})
  .describe("What keeps a completed group out of the batch, which keeps its size");

export const curriculumBlock = z.strictObject({ sampler, gates }).prefault({}).describe("Curriculum of a source");
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
