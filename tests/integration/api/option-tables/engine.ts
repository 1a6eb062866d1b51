/** Options of `prl-lm/engine`, `prl-lm/algorithms` and `prl-lm/packing`. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { advantages, meanInterval, policyLoss } from "../../../../ts/algorithms/index.ts";
import {
  loadModel,
  openTrainer,
  type GenerateRequest,
  type Model,
  type Trainer,
} from "../../../../ts/native/engine.ts";
import { buildBatch, buildBatchAsync, packSequences } from "../../../../ts/native/packing.ts";
import { publishVersion } from "../../inference/tiny-model.ts";
import type { OptionTable } from "./table.ts";

let root: string;
export let dir: string;
export let model: Model;
export let trainer: Trainer;
/** A model of random weights, opened for scoring and for training. */
export async function openModels(): Promise<void> {
  root = await mkdtemp(join(tmpdir(), "prl-options-"));
  ({ dir } = await publishVersion(root, 0));
  model = await loadModel(dir, { threads: 1, kvCacheBytes: 8 * 1024 * 1024 });
  trainer = await openTrainer(dir, { threads: 1 });
}
export async function closeModels(): Promise<void> {
  await model.close();
  await trainer.close();
  await rm(root, { recursive: true, force: true });
}

const ids = Uint32Array.of(1, 2, 3);
const ends = Uint32Array.of(0, 3);
export const floats = (...values: number[]) => Float32Array.of(...values);
export const batch = {
  inputIds: ids,
  inferenceLogprobs: floats(0, -1, -1),
  advantages: floats(0, 1, 1),
  temperatures: floats(1, 1, 1),
  lossMask: Uint8Array.of(0, 1, 1),
  cuSeqlens: ends,
};
export const columns = {
  logprobs: floats(-1, -1, -1),
  inferenceLogprobs: floats(-1, -1, -1),
  advantages: floats(1, 1, 1),
  mask: Uint8Array.of(1, 1, 1),
  cuSeqlens: ends,
};
const sample = {
  tokenIds: ids,
  mask: Uint8Array.of(0, 1, 1),
  logprobs: floats(0, -1, -1),
  advantages: floats(0, 1, 1),
  temperature: 1,
  envId: 0,
  policyVersionSpans: Uint32Array.of(0, 0),
};
const optim = (more: object) => openTrainer(dir, { threads: 1, optim: { type: "adamw", ...more } });
const loss = (more: object) => openTrainer(dir, { threads: 1, loss: { type: "ppo", ...more } });

/** The error of a request comes as its increment. */
async function generate(more: object): Promise<void> {
  const request: GenerateRequest = { id: "a", promptTokenIds: [1, 2], maxTokens: 1, ...more };
  for await (const { error } of model.generate([request])) if (error !== undefined) throw error;
}

export const ENGINE: OptionTable = {
  loadModel: {
    code: "PRL_ENGINE_INPUT",
    call: (more) => loadModel(dir, more),
    wrong: {
      threads: "2",
      maxNumSeqs: Number.NaN,
      maxModelLen: Infinity,
      prefixCache: 1,
      isa: 2,
      version: "x",
      weightsOf: 1,
    },
  },
  "Model.generate request": {
    code: "PRL_ENGINE_INPUT",
    call: generate,
    wrong: {
      temperature: Infinity,
      topP: Number.NaN,
      topK: 2 ** 32,
      minP: Number.NaN,
      repetitionPenalty: 0,
      frequencyPenalty: 3,
      presencePenalty: Number.NaN,
      logitBias: { 5: 1 },
      allowedTokenIds: [],
      badWords: [[]],
      structuredOutput: { regex: 1 },
      topLogprobs: 21,
      minTokens: "1",
      seed: -1,
      stopTokenIds: 622,
      ignoreEos: "yes",
      cacheSalt: 1,
      promptTokenIds: "abc",
      priority: Number.NaN,
    },
  },
  "Model.generate": { code: "PRL_ENGINE_INPUT", call: (more) => model.generate([], more), wrong: { signal: "now" } },
  "Model.logprobs": {
    code: "PRL_ENGINE_INPUT",
    call: (more) => model.logprobs(ids, ends, more),
    wrong: { temperature: Number.NaN },
  },
  "Model.rankedLogprobs": {
    code: "PRL_ENGINE_INPUT",
    call: (more) => model.rankedLogprobs(ids, ends, 5, more),
    wrong: { temperature: Number.NaN },
  },
  "Model.swapWeights": {
    code: "PRL_ENGINE_INPUT",
    call: (more) => model.swapWeights(dir, more),
    wrong: { version: "1", digest: 5 },
  },
  openTrainer: {
    code: "PRL_ENGINE_INPUT",
    call: (more) => openTrainer(dir, more),
    wrong: { threads: 1.5, activations: 1, loss: 3, optim: "adamw" },
  },
  "openTrainer optim": {
    code: "PRL_ENGINE_INPUT",
    call: optim,
    wrong: {
      lr: Number.NaN,
      betas: [0.9],
      eps: Infinity,
      weight_decay: "0",
      max_norm: Number.NaN,
      nesterov: 1,
      state_dtype: 16,
    },
  },
  "openTrainer loss": {
    code: "PRL_LOSS_INPUT",
    call: loss,
    wrong: { epsilon_high: Infinity, epsilon_low: Number.NaN, delta: "1", correction: { high: Infinity } },
  },
  "Trainer.forwardBackward": {
    code: "PRL_ENGINE_INPUT",
    call: (more) => trainer.forwardBackward({ ...batch, ...more }),
    wrong: { inputIds: [1, 2, 3], envIds: Uint32Array.of(0), counts: { rl: Number.NaN, ce: 0, refKl: 0 } },
  },
  "Trainer.step": { code: "PRL_ENGINE_INPUT", call: (more) => trainer.step(more), wrong: { lr: Infinity } },
  "Trainer.logprobs": {
    code: "PRL_ENGINE_INPUT",
    call: (more) => trainer.logprobs(ids, ends, more),
    wrong: { temperature: Number.NaN },
  },
  "policyLoss inputs": {
    code: "PRL_LOSS_INPUT",
    call: (more) => policyLoss("ppo", { ...columns, ...more }),
    wrong: { mask: [1, 1, 1], oldLogprobs: 3, counts: { rl: Infinity, ce: 0, refKl: 0 } },
  },
  "policyLoss params": {
    code: "PRL_LOSS_INPUT",
    call: (more) => policyLoss("ppo", columns, more as Record<string, unknown>),
    wrong: {
      epsilon_high: Infinity,
      epsilon_low: Number.NaN,
      kl: { coef: Infinity },
      correction: { low: 3, high: 2 },
    },
  },
  advantages: {
    code: "PRL_ADVANTAGE_INPUT",
    call: (more) => advantages("grpo", [[1, 0]], more),
    wrong: { eps: Infinity, unbiased: "yes" },
  },
  meanInterval: {
    code: "PRL_STATISTICS_INPUT",
    call: (more) => meanInterval([1, 2, 3], more),
    wrong: { level: Number.NaN, method: 3, seed: Infinity },
  },
  packSequences: {
    code: "PRL_PACKING_INPUT",
    call: (more) => packSequences([1, 2], { seqLen: 4, ...more }),
    wrong: { seqLen: Infinity, ranks: Number.NaN, classes: 3, cost: { linear: 1, quadratic: Number.NaN } },
  },
  buildBatch: {
    code: "PRL_PACKING_INPUT",
    call: (more) => buildBatch([sample], [Uint32Array.of(0)], more),
    wrong: { seqLen: Infinity, ranks: -1, padTokenId: Number.NaN, padToMultipleOf: "2" },
  },
  "buildBatch samples": {
    code: "PRL_PACKING_INPUT",
    call: (more) => buildBatch([{ ...sample, ...more }], [Uint32Array.of(0)]),
    wrong: { temperature: Number.NaN, tokenIds: [1, 2, 3], envId: 1.5 },
  },
  buildBatchAsync: {
    code: "PRL_PACKING_INPUT",
    call: (more) => buildBatchAsync([sample], [Uint32Array.of(0)], more),
    wrong: { seqLen: Infinity },
  },
};
