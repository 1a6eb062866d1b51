/**
 * Repetition: a policy that is caught in a loop finds every next token almost certain. In other text so many such tokens do not follow
 * each other. prime-rl had this filter before it turned to gates.
 */
import type { TraceColumns } from "../../native/index.ts";

export interface RepetitionLimits {
  window: number;
  probThreshold: number;
}

/** Whether a branch has `window` sampled tokens in a row, each more probable than `probThreshold`. */
export function isRepetition({ mask, logprobs, branchOffsets }: TraceColumns, limits: RepetitionLimits): boolean {
  const threshold = Math.log(limits.probThreshold);
  const starts = new Set(branchOffsets);
  let streak = 0;
  return mask.some((sampled, t) => {
    if (starts.has(t)) streak = 0;
    streak = sampled === 1 && (logprobs[t] ?? 0) > threshold ? streak + 1 : 0;
    return streak >= limits.window;
  });
}
