/**
 * On-policy distillation: the policy samples, a teacher scores every sampled token, and each token's advantage is how much more likely
 * the teacher held it: A_t = log p_teacher(x_t) - log p(x_t), in the stream `ref_kl` of the loss. Its expectation is minus the gradient of
 * KL(policy || teacher). Rewards do not enter the loss; they are logged.
 *
 * Source: thinkingmachines.ai/blog/on-policy-distillation; prime-rl's `opd` (`ref_kl_loss_fn`: drop mask and the squared log ratio).
 * The teacher scores at temperature 1, as prime-rl has it. It must have the policy's tokenizer.
 *
 * `opsd`, self-distillation: the teacher is the policy itself with a hint in front (`opsd.ts`); its scores are used in the same way.
 */
import type { TraceColumns, TraceStreams } from "../../native/index.ts";

/** `reference`: the teacher's log-probabilities of a trace's tokens, read where the policy sampled. */
export function distillStreams({ mask }: TraceColumns, reference: Float32Array): TraceStreams {
  const on = Float32Array.from(mask);
  return {
    rlWeights: new Float32Array(mask.length),
    refKlWeights: on,
    referenceLogprobs: reference.map((logprob, t) => (mask[t] === 1 ? logprob : 0)),
  };
}
