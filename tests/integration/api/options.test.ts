/** Every public function refuses the keys and values of its options that it does not take, by their names. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { advantages, meanInterval, policyLoss } from "../../../ts/orchestrator/algorithms/index.ts";
import { loadModel, openTrainer, type GenerateRequest, type Model, type Trainer } from "../../../ts/native/engine.ts";
import { buildBatch, packSequences } from "../../../ts/native/packing.ts";
import {
  bleu,
  compareStdout,
  exactMatch,
  extractAnswer,
  gradeProgram,
  matchPattern,
  numericMatch,
  stripThinking,
  xmlParser,
} from "../../../ts/environments/verify/index.ts";
import { publishVersion } from "../inference/tiny-model.ts";

let root: string;
let dir: string;
let model: Model;
let trainer: Trainer;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-options-"));
  ({ dir } = await publishVersion(root, 0));
  model = await loadModel(dir, { threads: 1, kvCacheBytes: 8 * 1024 * 1024 });
  trainer = await openTrainer(dir, { threads: 1 });
});
afterAll(async () => {
  await model.close();
  await trainer.close();
  await rm(root, { recursive: true, force: true });
});

const ids = Uint32Array.of(1, 2, 3);
const ends = Uint32Array.of(0, 3);
const floats = (...values: number[]) => Float32Array.of(...values);
const batch = {
  inputIds: ids,
  inferenceLogprobs: floats(0, -1, -1),
  advantages: floats(0, 1, 1),
  temperatures: floats(1, 1, 1),
  lossMask: Uint8Array.of(0, 1, 1),
  cuSeqlens: ends,
};
const columns = {
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

type Call = (options: object) => unknown;

/** Each function with options that are right but for those given, and the code that it refuses with. */
const FUNCTIONS: Record<string, { code: string; call: Call; wrong: Record<string, unknown> }> = {
  loadModel: {
    code: "PRL_ENGINE_INPUT",
    call: (more) => loadModel(dir, more),
    wrong: { threads: "2", maxNumSeqs: Number.NaN, maxModelLen: Infinity, prefixCache: 1, isa: 2, version: "x" },
  },
  "generate's request": {
    code: "PRL_ENGINE_INPUT",
    call: generate,
    wrong: {
      temperature: Infinity,
      topP: Number.NaN,
      topK: 2 ** 32,
      minTokens: "1",
      seed: -1,
      stopTokenIds: 622,
      ignoreEos: "yes",
      cacheSalt: 1,
      promptTokenIds: "abc",
      priority: Number.NaN,
    },
  },
  generate: { code: "PRL_ENGINE_INPUT", call: (more) => model.generate([], more), wrong: { signal: "now" } },
  logprobs: {
    code: "PRL_ENGINE_INPUT",
    call: (more) => model.logprobs(ids, ends, more),
    wrong: { temperature: Number.NaN },
  },
  swapWeights: {
    code: "PRL_ENGINE_INPUT",
    call: (more) => model.swapWeights(dir, more),
    wrong: { version: "1", digest: 5 },
  },
  openTrainer: {
    code: "PRL_ENGINE_INPUT",
    call: (more) => openTrainer(dir, more),
    wrong: { threads: 1.5, activations: 1, loss: 3, optim: "adamw" },
  },
  "openTrainer's optim": {
    code: "PRL_ENGINE_INPUT",
    call: optim,
    wrong: { lr: Number.NaN, betas: [0.9], eps: Infinity, weight_decay: "0", max_norm: Number.NaN, nesterov: 1 },
  },
  "openTrainer's loss": {
    code: "PRL_LOSS_INPUT",
    call: loss,
    wrong: { epsilon_high: Infinity, epsilon_low: Number.NaN, delta: "1", correction: { high: Infinity } },
  },
  forwardBackward: {
    code: "PRL_ENGINE_INPUT",
    call: (more) => trainer.forwardBackward({ ...batch, ...more }),
    wrong: { inputIds: [1, 2, 3], envIds: Uint32Array.of(0), counts: { rl: Number.NaN, ce: 0, refKl: 0 } },
  },
  step: { code: "PRL_ENGINE_INPUT", call: (more) => trainer.step(more), wrong: { lr: Infinity } },
  "the trainer's logprobs": {
    code: "PRL_ENGINE_INPUT",
    call: (more) => trainer.logprobs(ids, ends, more),
    wrong: { temperature: Number.NaN },
  },
  "policyLoss's inputs": {
    code: "PRL_LOSS_INPUT",
    call: (more) => policyLoss("ppo", { ...columns, ...more }),
    wrong: { mask: [1, 1, 1], oldLogprobs: 3, counts: { rl: Infinity, ce: 0, refKl: 0 } },
  },
  "policyLoss's params": {
    code: "PRL_LOSS_INPUT",
    call: (more) => policyLoss("ppo", columns, more as Record<string, unknown>),
    wrong: {
      epsilon_high: Infinity,
      epsilon_low: Number.NaN,
      kl: { coef: Infinity },
      correction: { low: 3, high: 2 },
    },
  },
  "advantages's params": {
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
  "buildBatch's samples": {
    code: "PRL_PACKING_INPUT",
    call: (more) => buildBatch([{ ...sample, ...more }], [Uint32Array.of(0)]),
    wrong: { temperature: Number.NaN, tokenIds: [1, 2, 3], envId: 1.5 },
  },
};

const V = { code: "PRL_VERIFY_OPTIONS" };
const VERIFIERS: typeof FUNCTIONS = {
  extractAnswer: { ...V, call: (more) => extractAnswer("a", more), wrong: { from: 3, strict: "yes" } },
  stripThinking: { ...V, call: (more) => stripThinking("a", more), wrong: { strict: 1 } },
  compareStdout: { ...V, call: (more) => compareStdout("1", "2", more), wrong: { tolerance: Number.NaN } },
  xmlParser: { ...V, call: (more) => xmlParser(["a"], more), wrong: { answerField: 1 } },
  bleu: { ...V, call: (more) => bleu("a", "b", more), wrong: { maxOrder: Number.NaN, smoothing: "add" } },
  exactMatch: { ...V, call: (more) => exactMatch("a", "b", more), wrong: { ignoreCase: "yes" } },
  numericMatch: {
    ...V,
    call: (more) => numericMatch(1, "1", more),
    wrong: { relative: Number.NaN, absolute: "1" },
  },
  matchPattern: {
    ...V,
    call: (more) => matchPattern("a", "a", more),
    wrong: { flags: 1, mode: "all", deadlineMs: Number.NaN },
  },
  gradeProgram: {
    ...V,
    call: (more) =>
      gradeProgram({} as never, { language: "python", code: "", tests: [{ input: "", output: "" }], ...more }),
    wrong: { timeLimitMs: Infinity, tolerance: Number.NaN, tests: 3, compare: "all", signal: 1 },
  },
};

/** What a call ends with, whether it throws or rejects. */
async function failure(call: () => unknown): Promise<{ code?: string; message?: string } | null> {
  try {
    await call();
    return null;
  } catch (error) {
    return error as { code?: string; message?: string };
  }
}

describe.each(Object.entries({ ...FUNCTIONS, ...VERIFIERS }))("%s", (_name, { code, call, wrong }) => {
  test.each(["topp", "weightDecay", "logitBias", "x".repeat(10_000)])("refuses the unknown key %s", async (key) => {
    const error = await failure(() => call({ [key]: 1 }));
    expect(error).toMatchObject({ code });
    expect(error?.message).toContain(key.slice(0, 50));
    expect(error?.message?.length).toBeLessThan(12_000);
  });

  test.each(Object.entries(wrong))("refuses %s of %o", async (key, value) => {
    const error = await failure(() => call({ [key]: value }));
    expect(error).toMatchObject({ code });
    expect(error?.message).toContain(key);
  });
});

describe.each([Number.NEGATIVE_INFINITY, Number.NaN, 5])("the log-probability %d of the sampler", (value) => {
  test.each([
    ["policyLoss", /inferenceLogprobs\[1\]/, "PRL_LOSS_INPUT"],
    ["forwardBackward", /inference_logprobs\[1\]/, "PRL_LOSS_INPUT"],
  ])("is refused by %s where the token trains, and no matter elsewhere", async (name, message, code) => {
    const run = (values: Float32Array, mask: Uint8Array) =>
      name === "policyLoss"
        ? policyLoss("ppo", { ...columns, inferenceLogprobs: values, mask })
        : trainer.forwardBackward({ ...batch, inferenceLogprobs: values, lossMask: mask });
    const error = await failure(() => run(floats(0, value, -1), Uint8Array.of(0, 1, 1)));
    expect(error).toMatchObject({ code });
    expect(error?.message).toMatch(message);
    expect(await failure(() => run(floats(0, value, -1), Uint8Array.of(0, 0, 1)))).toBeNull();
  });
});
