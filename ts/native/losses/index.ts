/** The policy losses of the engine as pure functions over flat arrays. Public through `prl-lm/algorithms`. */

import { z } from "zod";

import { checkFinite, checkOptions, numbers, only, uint32, uint8 } from "../../options.ts";
import { addon } from "../addon.ts";
import { native } from "../errors.ts";

type Floats = Float32Array | Float64Array;

/** Flat arrays over packed sequences, one entry per token; `cuSeqlens` holds the sequence boundaries. */
export interface PolicyLossInputs<F extends Floats> {
  logprobs: F;
  inferenceLogprobs: F;
  advantages: F;
  /** 1 where the token trains. */
  mask: Uint8Array;
  cuSeqlens: Uint32Array;
  /** Default: `inferenceLogprobs`. */
  oldLogprobs?: F;
  referenceLogprobs?: F;
  rlWeights?: F;
  ceWeights?: F;
  refKlWeights?: F;
  /** Denominators over the whole batch of which these are a part. Default: the members of these inputs. */
  counts?: LossCounts;
}

/** Members of the three streams, and sequences with a member of the rl stream (default: those of the inputs). */
export interface LossCounts {
  rl: number;
  ce: number;
  refKl: number;
  sequences?: number;
}

export interface PolicyLoss<F extends Floats> {
  loss: number;
  /** d loss / d logprobs. */
  gradLogprobs: F;
  metrics: Record<string, number>;
}

const CODE = "PRL_LOSS_INPUT";

const inputsSchema = only<PolicyLossInputs<Floats>>({
  logprobs: numbers,
  inferenceLogprobs: numbers,
  advantages: numbers,
  mask: uint8,
  cuSeqlens: uint32,
  oldLogprobs: numbers.optional(),
  referenceLogprobs: numbers.optional(),
  rlWeights: numbers.optional(),
  ceWeights: numbers.optional(),
  refKlWeights: numbers.optional(),
  counts: only<LossCounts>({
    rl: z.number(),
    ce: z.number(),
    refKl: z.number(),
    sequences: z.number().optional(),
  }).optional(),
});

/**
 * A policy loss and its gradient, computed in the precision of `logprobs`. The same numbers as inside a run.
 * Names, formulas, parameters: crates/engine/src/loss. Errors: PRL_LOSS_UNKNOWN, PRL_LOSS_INPUT.
 */
export function policyLoss<F extends Floats>(
  name: string,
  inputs: PolicyLossInputs<F>,
  params: Record<string, unknown> = {},
): PolicyLoss<F> {
  checkOptions(CODE, "policyLoss", inputsSchema, inputs);
  checkFinite(CODE, "params", params);
  const single = inputs.logprobs instanceof Float32Array;
  const wide = (values: F | undefined) => (values === undefined ? null : Float64Array.from(values));
  const result = native(() =>
    addon().policyLoss(
      name,
      {
        single,
        logprobs: Float64Array.from(inputs.logprobs),
        inferenceLogprobs: Float64Array.from(inputs.inferenceLogprobs),
        advantages: Float64Array.from(inputs.advantages),
        mask: inputs.mask,
        cuSeqlens: inputs.cuSeqlens,
        oldLogprobs: wide(inputs.oldLogprobs),
        referenceLogprobs: wide(inputs.referenceLogprobs),
        rlWeights: wide(inputs.rlWeights),
        ceWeights: wide(inputs.ceWeights),
        refKlWeights: wide(inputs.refKlWeights),
        counts: inputs.counts === undefined ? null : { ...inputs.counts, sequences: inputs.counts.sequences ?? null },
      },
      JSON.stringify(params),
    ),
  );
  return {
    loss: result.loss,
    gradLogprobs: (single ? Float32Array.from(result.gradLogprobs) : result.gradLogprobs) as F,
    metrics: JSON.parse(result.metrics) as Record<string, number>,
  };
}
