/** The size of a batch that is counted in rollouts. */

const DEFAULT_ROLLOUTS = 128;

/** Rollouts of a batch; null: the batch is counted in tokens. */
export function rolloutsPerBatch(block: { batch_size: number | null; token_batch_size: number | null }): number | null {
  return block.token_batch_size === null ? (block.batch_size ?? DEFAULT_ROLLOUTS) : null;
}
