/**
 * How much a run has sampled and trained on, under prime-rl's names: `progress/{tokens,input_tokens,output_tokens,rollouts,tasks}` of a step
 * and `progress/total_...` of all steps up to it, those of earlier attempts included.
 *
 * Tokens, rollouts (traces) and tasks (groups) count everything that ended since the last step: what is in the batch, what failed, and what
 * was rejected, but not what was dropped for its age. Input and output tokens count the rollouts in the batch that did not fail.
 */
import { z } from "zod";

import type { Group } from "../scheduling/dispatcher.ts";

const count = z.int().nonnegative();
export const progressSchema = z.strictObject({
  tokens: count,
  input_tokens: count,
  output_tokens: count,
  rollouts: count,
  tasks: count,
});
export type ProgressCounts = z.output<typeof progressSchema>;

export function noProgress(): ProgressCounts {
  return { tokens: 0, input_tokens: 0, output_tokens: 0, rollouts: 0, tasks: 0 };
}

/** Counts the rollouts, tokens and tasks of these groups; `inBatch`: they are shipped. */
export function progressOf(groups: readonly Pick<Group, "rollouts">[], inBatch: boolean): ProgressCounts {
  const counts = noProgress();
  counts.tasks = groups.length;
  for (const { rollouts } of groups) {
    for (const { episode } of rollouts) {
      counts.rollouts += episode.traces.length;
      for (const { usage } of episode.traces) {
        counts.tokens += usage.prompt_tokens + usage.completion_tokens;
        if (!inBatch || !episode.ok) continue;
        counts.input_tokens += usage.prompt_tokens;
        counts.output_tokens += usage.completion_tokens;
      }
    }
  }
  return counts;
}

export function plus(a: ProgressCounts, b: ProgressCounts): ProgressCounts {
  return {
    tokens: a.tokens + b.tokens,
    input_tokens: a.input_tokens + b.input_tokens,
    output_tokens: a.output_tokens + b.output_tokens,
    rollouts: a.rollouts + b.rollouts,
    tasks: a.tasks + b.tasks,
  };
}

export function progressMetrics(step: ProgressCounts, total: ProgressCounts): Record<string, number> {
  const named = (prefix: string, counts: ProgressCounts) =>
    Object.entries(counts).map(([name, value]) => [`progress/${prefix}${name}`, value]);
  return Object.fromEntries([...named("", step), ...named("total_", total)]);
}
