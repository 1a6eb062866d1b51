/** How bins become the columns of a batch: the options of `buildBatch` and of `SampleSet`. */
import { checkOptions, number, only } from "../../options.ts";
import { whole } from "../checks.ts";

export interface BatchOptions {
  /** Most tokens of a bin; longer samples are cut at their end. Default: no limit. */
  seqLen?: number;
  ranks?: number;
  /** Each bin is padded to a multiple of this many tokens, as context parallelism needs. */
  padToMultipleOf?: number;
  padTokenId?: number;
}

const INPUT = "PRL_PACKING_INPUT";
const schema = only<BatchOptions>({
  seqLen: number.optional(),
  ranks: number.optional(),
  padToMultipleOf: number.optional(),
  padTokenId: number.optional(),
});

/** The options with their defaults, every number checked. */
export function batchOptions(options: BatchOptions) {
  checkOptions(INPUT, "buildBatch", schema, options);
  const { seqLen = 0xffffffff, ranks = 1, padToMultipleOf = 1, padTokenId = 0 } = options;
  return {
    seqLen: whole(INPUT, "seqLen", seqLen),
    ranks: whole(INPUT, "ranks", ranks),
    padToMultipleOf: whole(INPUT, "padToMultipleOf", padToMultipleOf),
    padTokenId: whole(INPUT, "padTokenId", padTokenId),
  };
}
