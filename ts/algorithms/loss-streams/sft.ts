/**
 * Distillation of traces: cross-entropy on every sampled token, -log p(x_t) / N_ce, no advantages.
 *
 * With a `teacher`, the teacher samples the rollouts in place of the policy (prime-rl's `sft` with a frozen `sampling.source`); with `min_reward` only
 * traces with at least that reward are learnt. Without a teacher the policy learns its own best traces: rejection sampling (RAFT, arXiv:2304.06767).
 *
 * Departure: a trace below `min_reward` is left out; prime-rl learns all.
 */
import type { TraceColumns, TraceStreams } from "../../native/index.ts";

export function sftStreams({ mask }: TraceColumns): TraceStreams {
  return { rlWeights: new Float32Array(mask.length), ceWeights: Float32Array.from(mask) };
}
