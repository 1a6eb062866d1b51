/**
 * Validation of the supervised stage: the mean loss over the tokens of rows that are held out.
 *
 * The rows are read anew each time, in their order, and scored in pieces of at most one micro batch; no gradient is touched.
 */
import type { SftConfig } from "../../config/index.ts";
import { type DataSource, placedRows } from "../../datasets/index.ts";
import { PrlError } from "../../errors.ts";
import type { Sample, Trainer } from "../../native/index.ts";
import type { DemonstrationEncoding } from "./demonstration-samples.ts";
import { dataSource, encodeAt, isHeldOut } from "./sft-data.ts";
import { sftRowSchema } from "./sft-rows.ts";

/** `val/...` by the names of `metrics.jsonl`. Errors: those of `rows`, PRL_PACKING_INPUT when there is nothing to score. */
export async function validate(
  trainer: Pick<Trainer, "logprobs">,
  config: SftConfig,
  encoding: Pick<DemonstrationEncoding, "tokenizer" | "renderer">,
  signal: AbortSignal,
): Promise<Record<string, number>> {
  const { data, val } = config;
  if (val === null) return {};
  const startedAt = performance.now();
  const settings = { ...encoding, seqLen: config.seq_len, roles: data.loss_mask, overlong: "cut" } as const;
  const most = data.micro_batch_tokens ?? config.seq_len;
  const found = { loss: 0, tokens: 0, rows: 0, cut: 0, leftOut: 0 };
  let piece: Sample[] = [];
  let size = 0;
  const scorePiece = async (): Promise<void> => {
    if (piece.length === 0) return;
    found.loss += await summedLoss(trainer, piece);
    [piece, size] = [[], 0];
  };
  for await (const { row, at } of placedRows(validationSource(config), sftRowSchema, { signal })) {
    if (val.share !== null && !isHeldOut(row, val.share)) continue;
    if (found.rows === val.limit) break;
    found.rows++;
    const { samples, cut, leftOut } = await encodeAt({ demonstration: row, at }, settings);
    found.cut += cut;
    found.leftOut += leftOut;
    for (const sample of samples) {
      if (size + sample.tokenIds.length > most) await scorePiece();
      piece.push(sample);
      size += sample.tokenIds.length;
      found.tokens += sample.ceWeights?.reduce((sum, weight) => sum + weight, 0) ?? 0;
    }
  }
  await scorePiece();
  if (found.tokens === 0) {
    const problem = found.rows === 0 ? "there are no rows" : `seq_len ${config.seq_len} leaves no token to learn`;
    throw new PrlError("PRL_PACKING_INPUT", `there is nothing to validate on (val): ${problem}`);
  }
  const loss = found.loss / found.tokens;
  return {
    "val/loss": loss,
    "val/perplexity": Math.exp(loss),
    "val/tokens": found.tokens,
    "val/rows": found.rows,
    "val/cut": found.cut,
    "val/left_out": found.leftOut,
    "time/val": (performance.now() - startedAt) / 1000,
  };
}

function validationSource({ data, val }: SftConfig): DataSource {
  if (val === null || val.share !== null) return dataSource(data);
  if (val.split !== null) return dataSource({ ...data, split: val.split });
  return dataSource({ source: val.source, split: "validation", subset: null, revision: "main" });
}

/** The sum over the tokens that carry loss, in nats. */
async function summedLoss(trainer: Pick<Trainer, "logprobs">, samples: readonly Sample[]): Promise<number> {
  const cuSeqlens = new Uint32Array(samples.length + 1);
  for (const [index, { tokenIds }] of samples.entries()) {
    cuSeqlens[index + 1] = (cuSeqlens[index] ?? 0) + tokenIds.length;
  }
  const inputIds = new Uint32Array(cuSeqlens.at(-1) ?? 0);
  for (const [index, { tokenIds }] of samples.entries()) inputIds.set(tokenIds, cuSeqlens[index]);
  const logprobs = await trainer.logprobs(inputIds, cuSeqlens);
  let sum = 0;
  for (const [index, { ceWeights = [] }] of samples.entries()) {
    const start = cuSeqlens[index] ?? 0;
    for (const [offset, weight] of ceWeights.entries()) if (weight !== 0) sum -= logprobs[start + offset] ?? Number.NaN;
  }
  return sum;
}
