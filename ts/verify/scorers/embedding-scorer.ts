/** Similarity of texts by a local embedding model. */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { checkOptions, only } from "../../options.ts";
import { ONNX_SHAPE, OnnxModel, type OnnxModelOptions, type OnnxRows } from "./onnx-model.ts";

export interface EmbeddingScorerOptions extends OnnxModelOptions {
  /** How token vectors become one, where the model does not do it: their mean, the first, the last. Default `mean`. */
  pooling?: "mean" | "first" | "last";
}

const optionsSchema = only<EmbeddingScorerOptions>({
  ...ONNX_SHAPE,
  pooling: z.enum(["mean", "first", "last"]).optional(),
});

export interface EmbeddingScorer {
  /** One vector of length 1 per text. */
  embed(texts: readonly string[]): Promise<Float32Array[]>;
  /** Cosine of the angle between two texts' vectors, from -1 to 1; 0 when one of them is no direction. */
  similarity(a: string, b: string): Promise<number>;
  close(): Promise<void>;
}

/**
 * Opens an ONNX model whose output is one vector per text or per token. It runs in a separate thread with `onnxruntime-node`, an
 * optional package.
 *
 * Errors: PRL_VERIFY_UNSUPPORTED without the package, PRL_IO and PRL_VERIFY_OPTIONS for a model that is missing or does not fit.
 */
export async function embeddingScorer(options: EmbeddingScorerOptions): Promise<EmbeddingScorer> {
  checkOptions("PRL_VERIFY_OPTIONS", "embeddingScorer", optionsSchema, options);
  const model = await OnnxModel.open("embeddingScorer", options);
  const embed = async (texts: readonly string[]): Promise<Float32Array[]> => {
    const output = await model.run(texts);
    return output.rows.map((row, index) => unit(pooled(row, output, index, options.pooling ?? "mean")));
  };
  return {
    embed,
    async similarity(a, b) {
      const [x = new Float32Array(), y = new Float32Array()] = await embed([a, b]);
      const cosine = x.reduce((sum, value, index) => sum + value * (y[index] ?? 0), 0);
      return Math.max(-1, Math.min(1, cosine));
    },
    close: () => model.close(),
  };
}

function pooled(
  row: Float32Array,
  { dims, lengths }: OnnxRows,
  index: number,
  pooling: NonNullable<EmbeddingScorerOptions["pooling"]>,
): Float32Array {
  if (dims.length === 1) return row;
  const [, width] = dims;
  if (dims.length !== 2 || width === undefined) {
    throw new PrlError("PRL_VERIFY_FAILED", `an embedding has the shape ${dims.join(" x ")}, not one vector or some`);
  }
  const length = lengths[index] ?? 0;
  const vector = (token: number): Float32Array => row.subarray(token * width, (token + 1) * width);
  if (pooling === "first") return vector(0);
  if (pooling === "last") return vector(length - 1);
  const mean = new Float32Array(width);
  for (let token = 0; token < length; token++) {
    vector(token).forEach((value, at) => (mean[at] = (mean[at] ?? 0) + value / length));
  }
  return mean;
}

/** Scales a vector to length 1; one without a direction stays as it is. */
function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length > 0 ? vector.map((value) => value / length) : vector;
}
