/** The embedded trainer: forward, hand-written backward, AdamW with state in f32 or bfloat16. Part of the public `prl-lm/engine`. */

import { resolve } from "node:path";

import { z } from "zod";

import { PrlError } from "../errors.ts";
import type { NativeBatch, NativeLora, NativeTrainer } from "#native";
import { checkFinite, checkOptions, number, only } from "../options.ts";
import { addon } from "./addon.ts";
import { finite, whole, wholeOrNull } from "./checks.ts";
import { type Batch, streamsToNative, type TrainBatch, trainBatchSchema } from "./batches/columns.ts";
import { expertsToNative } from "./batches/routed-experts.ts";
import { nativeAsync } from "./errors.ts";
import { forAddon, type CustomLoss } from "./losses/custom-loss.ts";
import { type BaseDtype, type WeightDtype, type WeightDtypeChoice, weightDtype } from "./weight-dtype.ts";

export type { TrainBatch } from "./batches/columns.ts";

export interface StepMetrics {
  loss: number;
  /** Means over tokens: entropy/all, mismatch_kl/all, is_masked, ...; for a batch with `envIds` also entropy/<id> and mismatch_kl/<id>. */
  metrics: Record<string, number>;
}

export interface TrainerOptions {
  /** The format of the weights that are computed with and published; the trainer's own copy is f32. Default float32. */
  dtype?: WeightDtypeChoice;
  /** The format of the frozen projections under `lora`, as `LoadModelOptions.baseDtype`; PRL_ENGINE_INPUT without `lora`. Default: as `dtype`. */
  baseDtype?: BaseDtype;
  /** 0 takes every core that this process may run on. */
  threads?: number;
  isa?: string;
  /** A loss by name with its parameters, or a custom function. */
  loss?: ({ type: string } & Record<string, unknown>) | CustomLoss;
  optim?: {
    /** adamw, sgd or muon (matrices inside the layers; AdamW for the rest). */
    type: string;
    lr?: number;
    /** sgd (default 0), muon (default 0.95). */
    momentum?: number;
    /** sgd: look ahead by one step of the buffer. */
    nesterov?: boolean;
    betas?: readonly [number, number];
    eps?: number;
    weight_decay?: number;
    /** Global gradient norm above which gradients are scaled down; null never clips. */
    max_norm?: number | null;
    /** Whether weight decay reaches 1-D tensors. Default true (as torch). */
    decay_1d?: boolean;
    /**
     * Format of the moments between steps. In bfloat16 they are rounded stochastically by noise that follows from step, parameter and element:
     * the same bits in every run. Default float32.
     */
    state_dtype?: WeightDtype;
  };
  /**
   * Factor of the loss that balances the experts (`load_balancing_loss_func` of transformers), reported as `router_aux_loss` and no part of
   * `loss`. Each call of `forwardBackward` has the whole factor: n calls for one step take an n-th of it. Default 0: none.
   */
  routerAuxLossCoef?: number;
  /** The routers of mixtures of experts stay as they are. Default false. */
  freezeMoeRouter?: boolean;
  /** keep stores what backward needs, recompute stores layer inputs only; same bits. Default auto. */
  activations?: "auto" | "keep" | "recompute";
  /**
   * Folder of the model whose tokenizer, chat template and generation config go with every folder that is saved: the one that the run began
   * with. They are read when the trainer is opened. Default: those beside the weights in `dir`, if there are any.
   */
  companions?: string;
  /** Trains an adapter and leaves the weights as they are. Parameters and gradients are then those of the adapter, under peft's names. */
  lora?: LoraOptions;
}

/** A low-rank adapter to train. */
export interface LoraOptions {
  /** Default 16. */
  rank?: number;
  /** The adapter's product is multiplied by alpha / rank. Default 32. */
  alpha?: number;
  /** Multiply by alpha / sqrt(rank) instead. Default false. */
  use_rslora?: boolean;
  /** Share of the adapter's inputs that is zeroed in training. Default 0. */
  dropout?: number;
  /** Default: q_proj, k_proj, v_proj, o_proj, and in a dense model gate_proj, up_proj, down_proj. */
  target_modules?: readonly string[] | null;
  /** Seed of a new adapter and of the dropout. Default 0. */
  seed?: number;
  /** Folder of an adapter to continue with, which must have the same options. Default: a new one, which changes nothing yet. */
  from?: string;
  /** Name of the model that is saved with the adapter, for `peft`. Default: the model's folder. */
  base?: string;
}

export interface SavedWeights {
  digest: string;
  shards: { file: string; bytes: number; digest: string }[];
}

export interface Trainer {
  readonly isa: string;
  /** The format of the published weights. */
  readonly dtype: WeightDtype;
  readonly vocabSize: number;
  readonly threads: number;
  /**
   * Adds the batch's gradients to the accumulated ones. Bins run one after the other, and a custom loss is called once for each; its
   * exception is the rejection. Do not change the columns until it is done.
   */
  forwardBackward(batch: TrainBatch): Promise<StepMetrics>;
  /** Hugging Face name; f32, before clipping; a tied tensor once. */
  gradient(name: string): Promise<Float32Array>;
  /** One optimizer step over the accumulated gradients, which it clears. `gradNorm` is before clipping. */
  step(options?: { lr?: number }): Promise<{ gradNorm: number }>;
  parameter(name: string): Promise<Float32Array>;
  parameterNames(): string[];
  /** Log-probabilities with the weights as published, as `Model.logprobs`. */
  logprobs(inputIds: Uint32Array, cuSeqlens: Uint32Array, options?: { temperature?: number }): Promise<Float32Array>;
  /** Writes a complete Hugging Face folder, the weights as `dtype`, and returns what a manifest needs. */
  save(dir: string): Promise<SavedWeights>;
  /** The same with the trainer's own f32 copy of the weights, from which training continues with the same bits. */
  saveMasters(dir: string): Promise<SavedWeights>;
  /** Writes the optimizer's state to a file, durably; its digest. With the folder of `saveMasters` it is the whole trainer. */
  saveOptimizer(path: string): Promise<string>;
  /** Restores the optimizer's state from that file. Errors: PRL_ENGINE_INPUT when it is of another optimizer or model, PRL_WEIGHTS_*. */
  loadOptimizer(path: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens a checkpoint for training. Errors as `loadModel`, PRL_LOSS_* for an unknown loss or parameter, and PRL_WEIGHTS_IO when `companions`
 * has no tokenizer.json.
 */
export async function openTrainer(dir: string, options: TrainerOptions = {}): Promise<Trainer> {
  checkOptions(CODE, "openTrainer", trainerSchema, options);
  const dtype = await weightDtype(options.dtype ?? "float32", dir);
  const own = typeof options.loss === "function" ? options.loss : null;
  const named = typeof options.loss === "object" ? options.loss : { type: "default" };
  const { type: lossName, ...lossParams } = named;
  checkFinite("PRL_LOSS_INPUT", "loss", lossParams);
  const threads = whole(CODE, "threads", options.threads ?? 0);
  const { NativeTrainer } = addon();
  const trainer = await nativeAsync(() =>
    NativeTrainer.open(dir, {
      threads,
      isa: options.isa ?? process.env["PRL_ISA"] ?? null,
      loss: lossName,
      lossParams: JSON.stringify(lossParams),
      optim: optimizer(options.optim ?? { type: "adamw" }),
      routerAuxLossCoef: options.routerAuxLossCoef ?? 0,
      freezeMoeRouter: options.freezeMoeRouter ?? false,
      activations: options.activations ?? "auto",
      dtype,
      baseDtype: options.baseDtype ?? null,
      companions: options.companions ?? null,
      lora: options.lora === undefined ? null : adapter(options.lora, dir),
    }),
  );
  const info = trainer.info();
  const opened: Trainer = {
    isa: info.isa,
    dtype,
    vocabSize: info.vocabSize,
    threads: info.threads,
    forwardBackward: async (batch) => {
      checkOptions(CODE, "forwardBackward", trainBatchSchema, batch);
      const { onPolicyVersion, ...columns } = batch;
      const version = wholeOrNull(CODE, "onPolicyVersion", onPolicyVersion);
      const asked = own === null ? null : forAddon(own);
      try {
        const { loss, metrics } = await nativeAsync(() =>
          trainer.forwardBackward(toNative(columns), version, asked?.ask ?? null),
        );
        return { loss, metrics: JSON.parse(metrics) as Record<string, number> };
      } catch (error) {
        throw asked?.error() ?? error;
      }
    },
    gradient: (name) => nativeAsync(() => trainer.gradient(name)),
    step: async (stepping = {}) => {
      checkOptions(CODE, "step", stepSchema, stepping);
      return { gradNorm: await nativeAsync(() => trainer.step(stepping.lr ?? null)) };
    },
    parameter: (name) => nativeAsync(() => trainer.parameter(name)),
    parameterNames: () => info.parameterNames,
    logprobs: async (inputIds, cuSeqlens, scoring = {}) => {
      checkOptions(CODE, "logprobs", scoringSchema, scoring);
      return nativeAsync(() => trainer.logprobs(inputIds, cuSeqlens, Float32Array.of(scoring.temperature ?? 1)));
    },
    save: (out) => nativeAsync(() => trainer.save(out)),
    saveMasters: (out) => nativeAsync(() => trainer.saveMasters(out)),
    saveOptimizer: (path) => nativeAsync(() => trainer.saveOptimizer(path)),
    loadOptimizer: (path) => nativeAsync(() => trainer.loadOptimizer(path)),
    close: () => nativeAsync(() => trainer.close()),
  };
  OPENED.set(opened, { native: trainer, dir: resolve(dir) });
  return opened;
}

/** The state of the trainers of this process, as the addon knows it. */
const OPENED = new WeakMap<Trainer, { native: NativeTrainer; dir: string }>();

/**
 * The addon's trainer of the model in `dir`, whose weights another part of this process shares.
 *
 * @throws PrlError `PRL_ENGINE_INPUT` when it is no trainer of the embedded engine, or one of another folder
 */
export function trainerOf(dir: string, trainer: Trainer): NativeTrainer {
  const known = OPENED.get(trainer);
  if (known === undefined) {
    throw new PrlError(CODE, "weightsOf is no trainer that openTrainer of this process returned");
  }
  if (known.dir !== resolve(dir)) {
    throw new PrlError(CODE, `weightsOf is a trainer of ${known.dir}, and the model is that of ${resolve(dir)}`);
  }
  return known.native;
}

const CODE = "PRL_ENGINE_INPUT";

const trainerSchema = only<TrainerOptions>({
  dtype: z.custom<WeightDtypeChoice>((value) => typeof value === "string").optional(),
  baseDtype: z.custom<BaseDtype>((value) => typeof value === "string").optional(),
  threads: number.optional(),
  isa: z.string().optional(),
  // The engine knows the parameters of each.
  loss: z.union([z.looseObject({ type: z.string() }), z.custom((value) => typeof value === "function")]).optional(),
  optim: only<NonNullable<TrainerOptions["optim"]>>({
    type: z.string(),
    lr: z.number().optional(),
    momentum: z.number().optional(),
    nesterov: z.boolean().optional(),
    betas: z.tuple([z.number(), z.number()]).optional(),
    eps: z.number().optional(),
    weight_decay: z.number().optional(),
    max_norm: z.number().nullish(),
    decay_1d: z.boolean().optional(),
    state_dtype: z.custom<WeightDtype>((value) => typeof value === "string").optional(),
  }).optional(),
  routerAuxLossCoef: z.number().optional(),
  freezeMoeRouter: z.boolean().optional(),
  activations: z.string().optional(),
  companions: z.string().optional(),
  lora: only<LoraOptions>({
    rank: number.optional(),
    alpha: z.number().optional(),
    use_rslora: z.boolean().optional(),
    dropout: z.number().optional(),
    target_modules: z.array(z.string()).nullish(),
    seed: number.optional(),
    from: z.string().optional(),
    base: z.string().optional(),
  }).optional(),
});
const stepSchema = only<{ lr?: number }>({ lr: z.number().optional() });
const scoringSchema = only<{ temperature?: number }>({ temperature: z.number().optional() });
const OPTIMIZERS = ["adamw", "sgd", "muon"];
const DEFAULT_LR = 1e-6;

function optimizer(optim: NonNullable<TrainerOptions["optim"]>) {
  const { type: method, lr = DEFAULT_LR, betas = [0.9, 0.999], eps = 1e-8, decay_1d: decay1D = true } = optim;
  if (!OPTIMIZERS.includes(method)) {
    throw new PrlError("PRL_OPTIM_UNKNOWN", `there is no optimizer "${method}": use ${OPTIMIZERS.join(", ")}`);
  }
  const { weight_decay: weightDecay = 0.01, max_norm: maxNorm = 1, nesterov = false } = optim;
  const { momentum = method === "muon" ? 0.95 : 0, state_dtype: stateDtype = "float32" } = optim;
  const [beta1, beta2] = betas;
  return { method, momentum, nesterov, lr, beta1, beta2, eps, weightDecay, maxNorm, decay1D, stateDtype };
}

function adapter(options: LoraOptions, dir: string): NativeLora {
  const { rank = 16, alpha = 32, use_rslora: rslora = false, dropout = 0, target_modules: targets } = options;
  const { seed = 0, from = null, base = dir } = options;
  const checked = { rank: whole(CODE, "lora.rank", rank, { min: 1 }), alpha: finite(CODE, "lora.alpha", alpha) };
  return { ...checked, rslora, dropout, targets: [...(targets ?? [])], seed, from, base };
}

function toNative({
  routedExperts,
  counts,
  rlSequences,
  ...columns
}: Omit<TrainBatch, "onPolicyVersion">): NativeBatch {
  const { rl, ce, refKl } = counts ?? membersOf(columns);
  return {
    ...columns,
    ...streamsToNative(columns),
    routedExperts: expertsToNative(CODE, routedExperts),
    binSeqOffsets: columns.binSeqOffsets ?? null,
    envIds: columns.envIds ?? null,
    policyVersionSpans: columns.policyVersionSpans ?? null,
    counts: {
      rl: finite("PRL_LOSS_INPUT", "counts.rl", rl),
      ce: finite("PRL_LOSS_INPUT", "counts.ce", ce),
      refKl: finite("PRL_LOSS_INPUT", "counts.refKl", refKl),
      sequences: rlSequences ?? null,
    },
  };
}

function membersOf({ inputIds, lossMask, rlWeights, ceWeights, refKlWeights }: TrainBatch): Batch["counts"] {
  const members = (mask: (t: number) => boolean) => {
    let count = 0;
    for (let t = 0; t < inputIds.length; t++) if (mask(t)) count++;
    return count;
  };
  return {
    rl: members((t) => lossMask[t] === 1 && (rlWeights === undefined || rlWeights[t] !== 0)),
    ce: ceWeights === undefined ? 0 : members((t) => ceWeights[t] !== 0),
    refKl: refKlWeights === undefined ? 0 : members((t) => refKlWeights[t] !== 0),
  };
}
