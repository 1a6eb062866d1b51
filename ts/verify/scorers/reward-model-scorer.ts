/** Scores of texts by a local reward model or classifier. */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { callback, checkOptions, number, only } from "../../options.ts";
import type { Message } from "../../message.ts";
import { ONNX_SHAPE, OnnxModel, type OnnxModelOptions } from "./onnx-model.ts";

export interface RewardModelScorerOptions extends OnnxModelOptions {
  /** Which output counts, where there are several. Default: the only one. */
  label?: number;
  /** `none`: the model's own value; `sigmoid`: from 0 to 1; `softmax`: the label's share. Default `none`. */
  activation?: "none" | "sigmoid" | "softmax";
  /** How a conversation is written for the model. Default: contents of the messages, each on a line, with their roles before them. */
  render?: (messages: readonly Message[]) => string;
}

const optionsSchema = only<RewardModelScorerOptions>({
  ...ONNX_SHAPE,
  label: number.optional(),
  activation: z.enum(["none", "sigmoid", "softmax"]).optional(),
  render: callback.optional(),
});

export interface RewardModelScorer {
  score(input: string | readonly Message[]): Promise<number>;
  /** The same for many, in batches. */
  scoreAll(inputs: readonly (string | readonly Message[])[]): Promise<number[]>;
  close(): Promise<void>;
}

/**
 * Opens an ONNX model whose output is one or several numbers per text. It runs in a separate thread with `onnxruntime-node`, an
 * optional package.
 *
 * Errors: as `embeddingScorer`; a score that is no finite number is PRL_VERIFY_FAILED.
 */
export async function rewardModelScorer(options: RewardModelScorerOptions): Promise<RewardModelScorer> {
  checkOptions("PRL_VERIFY_OPTIONS", "rewardModelScorer", optionsSchema, options);
  const { label, activation = "none", render = asLines } = options;
  const model = await OnnxModel.open("rewardModelScorer", options);
  const scoreAll = async (inputs: readonly (string | readonly Message[])[]): Promise<number[]> => {
    const { rows } = await model.run(inputs.map((input) => (typeof input === "string" ? input : render(input))));
    return rows.map((row) => scoreOf(row, label, activation));
  };
  return {
    scoreAll,
    async score(input) {
      const [score = Number.NaN] = await scoreAll([input]);
      return score;
    },
    close: () => model.close(),
  };
}

function scoreOf(
  row: Float32Array,
  label: number | undefined,
  activation: NonNullable<RewardModelScorerOptions["activation"]>,
): number {
  if (label === undefined && row.length !== 1) {
    throw new PrlError("PRL_VERIFY_OPTIONS", `rewardModelScorer: the model has ${row.length} outputs; choose a label`);
  }
  const logit = row[label ?? 0];
  if (logit === undefined) {
    throw new PrlError("PRL_VERIFY_OPTIONS", `rewardModelScorer: there is no label ${label} among ${row.length}`);
  }
  const score =
    activation === "none"
      ? logit
      : activation === "sigmoid"
        ? 1 / (1 + Math.exp(-logit))
        : 1 / row.reduce((sum, other) => sum + Math.exp(other - logit), 0);
  if (!Number.isFinite(score)) throw new PrlError("PRL_VERIFY_FAILED", `the reward model gave ${score}`);
  return score;
}

function asLines(messages: readonly Message[]): string {
  return messages.map(({ role, content }) => `${role}: ${content}`).join("\n");
}
