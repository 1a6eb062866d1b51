/**
 * What the native trainer computes for small models and batches, written to a folder that the Python tests of the torch worker read
 * (`ts/trainer/torch/python/tests`): models, batch files, and for each case the loss, the metrics, the gradients, and the weights after three
 * optimizer steps.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import {
  type Batch,
  buildBatch,
  loadModel,
  type LoraOptions,
  openTrainer,
  packSequences,
  readBatch,
  type Sample,
  type TrainBatch,
  type TrainerOptions,
  writeBatch,
  writeSafetensors,
} from "../../../ts/native/index.ts";
import { createRng } from "../../../ts/random/rng.ts";
import { publishVersion, VOCAB_SIZE } from "../inference/tiny-model.ts";

export const VERSION = 4;
const SEQ_LEN = 48;
const ENVIRONMENTS = ["a", "b"];

/** Shapes of the models; `tiny-model.ts` has what they leave out. */
const MODELS: Readonly<Record<string, Record<string, unknown>>> = {
  tied: {},
  untied: { architectures: ["LlamaForCausalLM"], model_type: "llama", tie_word_embeddings: false },
  experts: {
    architectures: ["Qwen3MoeForCausalLM"],
    model_type: "qwen3_moe",
    num_experts: 4,
    num_experts_per_tok: 2,
    moe_intermediate_size: 16,
    norm_topk_prob: true,
    mlp_only_layers: [0],
  },
  windowed: { architectures: ["MistralForCausalLM"], model_type: "mistral", sliding_window: 4 },
};

const KINDS = ["plain", "streams", "replayed"] as const;
/** What samples have: the columns of every batch, those of all loss streams, or recorded experts. */
type Kind = (typeof KINDS)[number];

interface LossCase {
  name: string;
  batch: Kind;
  loss: { type: string } & Record<string, unknown>;
}

const correction = { level: "token", mode: "mask", low: 0.5, high: 5 };
const LOSSES: LossCase[] = [
  ...["default", "ipo", "grpo", "ppo", "two_sided", "dapo", "gspo", "cispo", "sapo", "kl", "ce", "ref_kl"].map(
    (type): LossCase => ({ name: type, batch: "streams", loss: { type } }),
  ),
  { name: "plain default", batch: "plain", loss: { type: "default" } },
  { name: "plain ce", batch: "plain", loss: { type: "ce" } },
  { name: "dr_grpo", batch: "streams", loss: { type: "dr_grpo", max_completion_length: 16 } },
  { name: "dual clip", batch: "streams", loss: { type: "ppo", dual_clip: 1.5, aggregation: "sum" } },
  { name: "offset cispo", batch: "streams", loss: { type: "cispo", epsilon_low: 0.1 } },
  { name: "absolute cispo", batch: "streams", loss: { type: "cispo", bounds: "absolute", epsilon_high: 0.9 } },
  { name: "limited", batch: "streams", loss: { type: "default", log_ratio_clamp: 0.2, kl_tau: 0.5 } },
  { name: "corrected", batch: "streams", loss: { type: "grpo", correction } },
  { name: "dropped", batch: "streams", loss: { type: "grpo", correction: { ...correction, low: 1.5 } } },
  { name: "nonempty", batch: "streams", loss: { type: "gspo", aggregation: "sequence-mean-token-mean/nonempty" } },
  { name: "global", batch: "streams", loss: { type: "dapo", global_tokens: 100 } },
  ...["k1", "k2", "k3"].map((estimator): LossCase => ({
    name: `unbiased ${estimator}`,
    batch: "streams",
    loss: { type: "gspo", kl: { estimator, coef: 0.3, unbiased: true } },
  })),
];

/** For the model with experts. */
const REPLAYED: LossCase = { name: "replayed", batch: "replayed", loss: { type: "default" } };

const OPTIMIZERS: Readonly<Record<string, NonNullable<TrainerOptions["optim"]>>> = {
  adamw: { type: "adamw", lr: 1e-3, weight_decay: 0.1, decay_1d: false },
  "adamw without clipping": { type: "adamw", lr: 1e-3, max_norm: null },
  sgd: { type: "sgd", lr: 1e-2, momentum: 0.9, nesterov: true, weight_decay: 0.1 },
  "plain sgd": { type: "sgd", lr: 1e-2 },
  muon: { type: "muon", lr: 1e-3, weight_decay: 0.1 },
};

/** The adapters of two models; that of experts has the targets that are usual for them. */
const ADAPTERS: Readonly<Record<string, LoraOptions>> = {
  tied: {
    rank: 3,
    alpha: 6,
    use_rslora: true,
    target_modules: ["v_proj", "q_proj", "down_proj"],
    seed: 5,
    base: "org/name",
  },
  untied: { rank: 4, alpha: 8, target_modules: null, seed: 6, base: "org/name" },
  experts: { rank: 4, alpha: 8, target_modules: null, seed: 7, base: "org/name" },
};

/** Writes everything below `root`. */
export async function writeTorchFixtures(root: string): Promise<void> {
  const cases = [];
  for (const [name, shape] of Object.entries(MODELS)) {
    await mkdir(join(root, name));
    const { dir } = await publishVersion(join(root, name), 0, shape);
    const batches = await writeBatches(join(root, name), dir);
    const losses = name === "tied" ? [...LOSSES] : LOSSES.filter((one) => one.name === "plain default");
    if (name === "experts") losses.push(REPLAYED);
    for (const one of losses) cases.push(await lossCase({ dir, path: batches[one.batch], ...one }));
    const lora = ADAPTERS[name];
    if (lora !== undefined) {
      const optim = { type: "adamw", lr: 1e-3, weight_decay: 0.1 };
      const trained = await optimizerCase(root, {
        dir,
        path: batches.plain,
        method: `adapter of ${name}`,
        optim,
        lora,
      });
      const from = { ...lora, from: trained.expected.folder };
      const loss = { name: "adapted", batch: "plain", loss: { type: "default" } } as const;
      cases.push(trained, await lossCase({ dir, path: batches.plain, lora: from, ...loss }));
    }
    const optimizers = name === "tied" ? Object.keys(OPTIMIZERS) : name === "experts" ? ["adamw", "muon"] : [];
    for (const method of optimizers) {
      const optim = OPTIMIZERS[method] ?? { type: method };
      cases.push(await optimizerCase(root, { dir, path: batches.plain, method: `${method} of ${name}`, optim }));
    }
  }
  await writeFile(join(root, "cases.json"), JSON.stringify(cases));
}

/** Batches of several bins, sampled by two versions. */
async function writeBatches(root: string, modelDir: string): Promise<Record<Kind, string>> {
  const at = (kind: Kind) => join(root, `${kind}.safetensors`);
  const paths = { plain: at("plain"), streams: at("streams"), replayed: at("replayed") };
  for (const kind of KINDS) {
    const [batch] = await batchesFor(modelDir, kind, 1);
    if (batch === undefined) throw new RangeError("no batch");
    await writeBatch(paths[kind], batch, { runId: "run", attempt: 1, step: 1, rank: 0, envNames: ENVIRONMENTS });
  }
  return paths;
}

/** The batch of each rank; log-probabilities of its sequences are about those of the model. */
export async function batchesFor(modelDir: string, kind: Kind, ranks: number): Promise<Batch[]> {
  const model = await loadModel(modelDir, { threads: 1 });
  try {
    const samples = await Promise.all([5, 9, 14, 20, 23, 31].map((length, i) => sampleOf(model, length, i, kind)));
    const lengths = samples.map(({ tokenIds }) => tokenIds.length);
    return buildBatch(samples, packSequences(lengths, { seqLen: SEQ_LEN, ranks }), { seqLen: SEQ_LEN, ranks });
  } finally {
    await model.close();
  }
}

type Model = Awaited<ReturnType<typeof loadModel>>;

async function sampleOf(model: Model, length: number, index: number, kind: Kind): Promise<Sample> {
  const rng = createRng(100 * index + length);
  const prompt = 1 + (index % 4);
  const tokenIds = Uint32Array.from({ length }, () => rng.integer(VOCAB_SIZE));
  const exact = await model.logprobs(tokenIds, Uint32Array.of(0, length), { temperature: 0.9 });
  const near = (spread: number) =>
    exact.map((value, t) => (t < prompt ? 0 : Math.min(-1e-3, value + spread * (rng.next() - 0.5))));
  const isOf = (share: number) =>
    Float32Array.from({ length }, (_, t) => (t >= prompt && rng.next() < share ? 0.5 + rng.next() : 0));
  return {
    tokenIds,
    mask: Uint8Array.from({ length }, (_, t) => (t >= prompt && t % 5 !== 0 ? 1 : 0)),
    logprobs: near(index < 3 ? 0.02 : 2.5),
    advantages: Float32Array.from({ length }, () => 2 * rng.next() - 1),
    temperature: 0.9,
    envId: index % 2,
    policyVersionSpans: Uint32Array.of(0, 0xffffffff, prompt, index < 3 ? VERSION : VERSION - 1),
    ...(kind === "streams" && {
      rlWeights: isOf(0.8),
      ceWeights: isOf(0.3),
      refKlWeights: isOf(0.4),
      referenceLogprobs: near(1.5),
    }),
    ...(kind === "replayed" && { routedExperts: { layers: 1, topK: 2, ids: expertsOf(length, rng) } }),
  };
}

/** Two of the four experts for every token but the last, which no sampler computes. */
function expertsOf(length: number, rng: ReturnType<typeof createRng>): Uint8Array {
  const rows = Array.from({ length: length - 1 }, () => {
    const first = rng.integer(4);
    return [first, (first + 1 + rng.integer(3)) % 4];
  });
  return Uint8Array.from([...rows.flat(), 255, 255]);
}

async function batchAt(path: string): Promise<TrainBatch> {
  const { batch } = await readBatch(path);
  return { ...batch, onPolicyVersion: VERSION };
}

async function lossCase({ dir, path, name, loss, lora }: { dir: string; path: string; lora?: LoraOptions } & LossCase) {
  const trainer = await openTrainer(dir, { threads: 1, loss, ...(lora !== undefined && { lora }) });
  try {
    const { loss: value, metrics } = await trainer.forwardBackward(await batchAt(path));
    const gradients: Parameters<typeof writeSafetensors>[1] = {};
    for (const parameter of trainer.parameterNames()) {
      const values = await trainer.gradient(parameter);
      const data = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
      gradients[parameter] = { dtype: "F32", shape: [values.length], data };
    }
    const file = `${dir}-${name.replaceAll(" ", "-")}.gradients.safetensors`;
    await writeSafetensors(file, gradients);
    return {
      kind: "loss",
      name,
      model: dir,
      batch: path,
      loss,
      lora,
      expected: { loss: value, metrics, gradients: file },
    };
  } finally {
    await trainer.close();
  }
}

interface OptimizerCase {
  dir: string;
  path: string;
  method: string;
  optim: NonNullable<TrainerOptions["optim"]>;
  lora?: LoraOptions;
}

async function optimizerCase(root: string, { dir, path, method, optim, lora }: OptimizerCase) {
  const trainer = await openTrainer(dir, { threads: 1, optim, ...(lora !== undefined && { lora }) });
  try {
    const norms = [];
    for (let step = 0; step < 3; step++) {
      await trainer.forwardBackward(await batchAt(path));
      norms.push((await trainer.step()).gradNorm);
    }
    const folder = join(root, `after-${method.replaceAll(" ", "-")}`);
    await trainer.save(folder);
    await trainer.saveOptimizer(join(folder, "optimizer.safetensors"));
    return { kind: "optimizer", name: method, model: dir, batch: path, optim, lora, expected: { norms, folder } };
  } finally {
    await trainer.close();
  }
}
