/**
 * The embedded engine: scores and samples with a Hugging Face checkpoint of the Qwen2, Qwen3, Qwen3-MoE, Llama or Mistral family, on the CPU, in f32 with weights in
 * f32 or bfloat16.
 * Public as `prl-lm/engine`. It knows token ids, never text.
 */

import { z } from "zod";

import type { NativeEngine } from "#native";
import { PrlError } from "../errors.ts";
import { abortSignal, checkOptions, float32, number, only } from "../options.ts";
import { addon } from "./addon.ts";
import { whole, wholeOrNull } from "./checks.ts";
import { native, nativeAsync } from "./errors.ts";
import type { GenerateIncrement, GenerateRequest, TokenRanking } from "./generation.ts";
import { IncrementRouter } from "./increment-router.ts";
import { Formats } from "./formats/structured-output.ts";
import { type SavedWeights, type Trainer, trainerOf } from "./trainer.ts";
import { type BaseDtype, type WeightDtype, type WeightDtypeChoice, weightDtype } from "./weight-dtype.ts";

export type { GenerateIncrement, GenerateRequest, RequestTimes, TokenRanking } from "./generation.ts";
export type { StructuredOutput } from "./formats/structured-output.ts";
export type { BaseDtype, WeightDtype, WeightDtypeChoice } from "./weight-dtype.ts";
export type { CustomLoss, CustomLossInputs, CustomLossResult } from "./losses/custom-loss.ts";
export {
  type LoraOptions,
  openTrainer,
  type SavedWeights,
  type StepMetrics,
  type TrainBatch,
  type Trainer,
  type TrainerOptions,
} from "./trainer.ts";

export interface ModelInfo {
  modelType: string;
  vocabSize: number;
  hiddenSize: number;
  numLayers: number;
  maxModelLen: number;
  eosTokenIds: number[];
}

export interface EngineStats {
  running: number;
  waiting: number;
  /** Names of the adapters of running requests. */
  runningAdapters: string[];
  /** How many running requests each of them has. */
  runningAdapterCounts: number[];
  /** Share of the KV blocks in use, 0 to 1. */
  kvCacheUsage: number;
  kvCacheTokens: number;
  /** Upper bounds of `stepCounts` in tokens; the last count has none. */
  stepBounds: number[];
  /** Steps by the number of their tokens. */
  stepCounts: number[];
  /** Tokens of all steps. */
  stepTokens: number;
  preemptions: number;
  promptTokens: number;
  generationTokens: number;
  prefixCacheQueries: number;
  prefixCacheHits: number;
  version: number;
  digest: string | null;
}

export interface LoadModelOptions {
  /**
   * How the weights are kept. Default auto, as config.json says. Tensors that are bfloat16 give the same results as with float32, in half the
   * memory; float32 tensors under a config.json that says bfloat16 are rounded.
   */
  dtype?: WeightDtypeChoice;
  /**
   * How the projections of attention and of feed-forward networks are kept, experts included: int8 takes about one byte a weight. It rounds
   * each to the nearest multiple of the largest of 64 neighbours / 127. Embedding, head, norms, biases and routers stay `dtype`. Default: as `dtype`.
   */
  baseDtype?: BaseDtype;
  /**
   * A trainer of an adapter of the model in `dir`, opened in this process. Its frozen weights, which never change, are then held once for both; `dtype`,
   * `baseDtype` and `isa` are those of the trainer, and may not be given. The trainer may be closed first. Default: the weights are loaded.
   */
  weightsOf?: Trainer;
  /** Folder of an adapter of the model, as `peft` and `Trainer.save` write it, which is then part of the weights. Default: none. */
  adapter?: string;
  /** 0 takes every core that this process may run on. */
  threads?: number;
  /** portable | avx2 | avx512 | avx512bf16 | amx; by default the best that the processor has. */
  isa?: string;
  /** Policy version of the weights in `dir`, recorded with every sampled token. Default 0. */
  version?: number;
  /** Most sequences in one decode step. Default 256. */
  maxNumSeqs?: number;
  /** Most tokens of one step over all sequences; longer prompts are computed in parts. Default 512. */
  maxBatchedTokens?: number;
  /** Default: the model's own limit. */
  maxModelLen?: number;
  /** By default room for maxNumSeqs sequences of maxModelLen tokens, 256 MiB at the most. */
  kvCacheBytes?: number;
  /** Default true. */
  prefixCache?: boolean;
}

/** A loaded model that scores and samples. Every method but `stats` returns a promise and runs off the event loop. */
export interface Model {
  readonly config: ModelInfo;
  readonly isa: string;
  readonly dtype: WeightDtype;
  readonly threads: number;
  /** Next-token logits of packed sequences: `T * vocabSize` floats, row `t` predicts token `t + 1`. */
  logits(inputIds: Uint32Array, cuSeqlens: Uint32Array): Promise<Float32Array>;
  /**
   * `[t]` is the log-probability of `inputIds[t]` given its predecessors in its segment; 0 at each segment's first token. `temperature`: one
   * for all tokens, or one for each.
   */
  logprobs(
    inputIds: Uint32Array,
    cuSeqlens: Uint32Array,
    options?: { temperature?: number | Float32Array },
  ): Promise<Float32Array>;
  /**
   * The same with each token's rank and the `top` most probable tokens of its place, at most 20. The first token of a segment has rank 0 and
   * a row of zeros.
   */
  rankedLogprobs(
    inputIds: Uint32Array,
    cuSeqlens: Uint32Array,
    top: number,
    options?: { temperature?: number | Float32Array },
  ): Promise<{ logprobs: Float32Array; ranking: TokenRanking }>;
  /** Samples; calls running at the same time share one batch. Aborting the signal, or leaving the loop, aborts what is unfinished. */
  generate(requests: GenerateRequest[], options?: { signal?: AbortSignal }): AsyncIterable<GenerateIncrement>;
  /**
   * Loads an adapter that requests can name. Another one of this name is replaced for requests that come later. Errors:
   * PRL_ENGINE_CONFIG_UNSUPPORTED with the key that the engine does not compute, PRL_ENGINE_WEIGHTS when it is of another model or rank,
   * PRL_WEIGHTS_*.
   */
  loadAdapter(name: string, dir: string): Promise<void>;
  /** Forgets an adapter; requests that have it go on. Errors: PRL_ENGINE_INPUT when there is none of this name. */
  unloadAdapter(name: string): Promise<void>;
  /**
   * Loads another version's weights between two decode steps, or, when the folder is an adapter's, another adapter of the same weights; running requests go on with them. Errors: those of `loadModel`, and
   * PRL_ENGINE_INPUT naming the key when config.json or generation_config.json has another shape, computes differently (`rope_theta`,
   * `rms_norm_eps`, ...) or ends sequences elsewhere. Keys that only describe a model may differ (`torch_dtype`, `transformers_version`,
   * `initializer_range`, ...), and files that the engine does not read.
   */
  swapWeights(
    dir: string,
    options?: { version?: number; digest?: string },
  ): Promise<{ version: number; digest: string | null }>;
  /** `keep` freezes running requests, `wait` lets them end, `abort` ends them. Resolves when nothing runs any more. */
  pause(mode: "keep" | "wait" | "abort"): Promise<void>;
  resume(): Promise<void>;
  /** Frees the KV cache's memory. Requests keep their tokens and wait; scoring and changes of the weights go on. */
  sleep(): Promise<void>;
  /** Takes the memory again, and requests go on unless the model is paused. Errors: PRL_ENGINE_CAPACITY. */
  wakeUp(): Promise<void>;
  resetPrefixCache(): Promise<void>;
  stats(): EngineStats;
  close(): Promise<void>;
}

const CODE = "PRL_ENGINE_INPUT";

const loadSchema = only<LoadModelOptions>({
  dtype: z.custom<WeightDtypeChoice>((value) => typeof value === "string").optional(),
  baseDtype: z.custom<BaseDtype>((value) => typeof value === "string").optional(),
  weightsOf: z.custom<Trainer>((value) => typeof value === "object" && value !== null).optional(),
  adapter: z.string().optional(),
  threads: number.optional(),
  isa: z.string().optional(),
  version: z.number().optional(),
  maxNumSeqs: number.optional(),
  maxBatchedTokens: number.optional(),
  maxModelLen: number.optional(),
  kvCacheBytes: z.number().optional(),
  prefixCache: z.boolean().optional(),
});
const scoringSchema = only<{ temperature?: number | Float32Array }>({
  temperature: z.union([z.number(), float32]).optional(),
});
const generateSchema = only<{ signal?: AbortSignal }>({ signal: abortSignal.optional() });
const swapSchema = only<{ version?: number; digest?: string }>({
  version: z.number().optional(),
  digest: z.string().optional(),
});

/**
 * Loads a Hugging Face checkpoint folder.
 * Errors: PRL_ENGINE_CONFIG, PRL_ENGINE_CONFIG_UNSUPPORTED, PRL_ENGINE_ARCHITECTURE_UNSUPPORTED, PRL_ENGINE_WEIGHTS, PRL_WEIGHTS_*, PRL_ENGINE_DTYPE_UNSUPPORTED.
 */
export async function loadModel(dir: string, options: LoadModelOptions = {}): Promise<Model> {
  checkOptions(CODE, "loadModel", loadSchema, options);
  const { engine, dtype } = await openEngine(dir, options);
  const info = engine.info();
  const { vocabSize, eosTokenIds } = info.config;
  const router = new IncrementRouter(engine, new Formats({ dir, vocabSize, eosTokenIds }));
  return {
    config: info.config,
    isa: info.isa,
    dtype,
    threads: info.threads,
    logits: (inputIds, cuSeqlens) => nativeAsync(() => engine.logits(inputIds, cuSeqlens)),
    logprobs: async (inputIds, cuSeqlens, scoring = {}) => {
      checkOptions(CODE, "logprobs", scoringSchema, scoring);
      return nativeAsync(() => engine.logprobs(inputIds, cuSeqlens, perToken(scoring.temperature ?? 1)));
    },
    rankedLogprobs: async (inputIds, cuSeqlens, top, scoring = {}) => {
      checkOptions(CODE, "rankedLogprobs", scoringSchema, scoring);
      const temperatures = perToken(scoring.temperature ?? 1);
      const what = { ids: inputIds, cuSeqlens, temperatures, top: whole(CODE, "top", top) };
      return nativeAsync(() => engine.rankedLogprobs(what));
    },
    generate: (requests, generating = {}) => {
      checkOptions(CODE, "generate", generateSchema, generating);
      return router.generate(requests, generating.signal);
    },
    loadAdapter: (name, adapterDir) => nativeAsync(() => engine.loadAdapter(name, adapterDir)),
    unloadAdapter: async (name) => native(() => engine.unloadAdapter(name)),
    swapWeights: async (weightsDir, next = {}) => {
      checkOptions(CODE, "swapWeights", swapSchema, next);
      const swapped = { version: next.version ?? engine.stats().version + 1, digest: next.digest ?? null };
      await nativeAsync(() => engine.swap(weightsDir, swapped.version, swapped.digest));
      return swapped;
    },
    pause: (mode) => nativeAsync(() => engine.pause(mode)),
    resume: async () => native(() => engine.resume()),
    sleep: () => nativeAsync(() => engine.sleep()),
    wakeUp: () => nativeAsync(() => engine.wakeUp()),
    resetPrefixCache: () => nativeAsync(() => engine.resetPrefixCache()),
    stats: () => native(() => engine.stats()),
    close: async () => {
      await nativeAsync(() => engine.close());
      await router.closed();
    },
  };
}

/** Loads the weights, or shares those of a trainer. */
async function openEngine(
  dir: string,
  { weightsOf, ...options }: LoadModelOptions,
): Promise<{ engine: NativeEngine; dtype: WeightDtype }> {
  const threads = whole(CODE, "threads", options.threads ?? 0);
  const maxNumSeqs = whole(CODE, "maxNumSeqs", options.maxNumSeqs ?? 256);
  const maxBatchedTokens = wholeOrNull(CODE, "maxBatchedTokens", options.maxBatchedTokens);
  const maxModelLen = wholeOrNull(CODE, "maxModelLen", options.maxModelLen);
  const { adapter = null, version = 0, kvCacheBytes = null, prefixCache = true } = options;
  const running = { threads, adapter, version, maxNumSeqs, maxBatchedTokens, maxModelLen, kvCacheBytes, prefixCache };
  if (weightsOf !== undefined) {
    const given = (["dtype", "baseDtype", "isa"] as const).find((key) => options[key] !== undefined);
    if (given !== undefined) {
      throw new PrlError(CODE, `${given} is that of the trainer under weightsOf: leave it out`);
    }
    const trainer = trainerOf(dir, weightsOf);
    return { engine: await nativeAsync(() => trainer.engine(running)), dtype: weightsOf.dtype };
  }
  const dtype = await weightDtype(options.dtype ?? "auto", dir);
  const { NativeEngine: Engine } = addon();
  const layout = { isa: options.isa ?? process.env["PRL_ISA"] ?? null, dtype, baseDtype: options.baseDtype ?? null };
  return { engine: await nativeAsync(() => Engine.open(dir, layout, running)), dtype };
}

/**
 * Writes a checkpoint with random weights: config.json of `configDir`, Hugging Face's initialisation (normal with the config's
 * initializer_range, norms 1, biases 0), the tokenizer files copied. In bfloat16 when config.json names that, else in float32. The same seed gives the same bytes.
 */
export async function randomCheckpoint(configDir: string, outDir: string, seed: number): Promise<void> {
  const { randomCheckpoint: write } = addon();
  await nativeAsync(() => write(configDir, outDir, seed));
}

/**
 * Writes the model in `base` with the adapter in `adapter` added to its weights, in bfloat16 when the model's config.json names that, else in
 * float32: a model that needs no adapter. Errors: those of `loadModel` and `Model.loadAdapter`.
 */
export async function mergeAdapter(base: string, adapter: string, outDir: string): Promise<SavedWeights> {
  const { mergeAdapter: merge } = addon();
  return nativeAsync(() => merge(base, adapter, outDir));
}

function perToken(temperature: number | Float32Array): Float32Array {
  return typeof temperature === "number" ? Float32Array.of(temperature) : temperature;
}
