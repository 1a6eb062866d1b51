/** One inference server, and how it gets a version: the swap, and the proof that it computes what the trainer computes. */

import { PrlError } from "../../errors.ts";
import type { InferenceAdmin } from "../../inference-client/index.ts";
import type { Metrics } from "../../monitors/index.ts";
import type { Canary } from "../../native/index.ts";
import type { AvailableWeights, WeightSource } from "../../transports/index.ts";

/** One inference server. */
export interface Engine {
  url: string;
  isa: string;
  dtype: string;
  /** `host:port` where other engines can pull its weights; null when it does not serve them. */
  weights: string | null;
  admin: EngineAdmin;
  /** Name that it knows the model by; unset: the run's. */
  model?: string;
}

/** Requests to a server besides rollouts. */
export type EngineAdmin = Pick<
  InferenceAdmin,
  | "prefetchWeights"
  | "pause"
  | "updateWeights"
  | "resume"
  | "sleep"
  | "wakeUp"
  | "isSleeping"
  | "promptLogprobs"
  | "health"
  | "load"
>;

/** Largest and mean |difference| of log-probabilities, in nats. */
export interface CanaryResult {
  maxAbs: number;
  meanAbs: number;
}

export interface UpdateOptions {
  /** Widest mean |difference| allowed between an engine and a trainer of different instruction sets or dtypes (nats). */
  maxMeanAbs: number;
  metrics: Metrics;
  signal: AbortSignal;
  /** The engine may be asleep. Default: it never sleeps. */
  sleeps?: boolean;
}

/** Most engines that pull from one node. */
const FAN_OUT = 2;

/**
 * Moves an engine to a version: weights that travel arrive while it samples; then it pauses with requests kept, swaps, resumes and scores the canary. An engine whose
 * update failed stays paused: it must not continue to sample with weights other than the wanted ones. One that is asleep wakes up for it: the weights'
 * memory first, and that of the KV cache, with which it may sample again, when the new weights are in place.
 *
 * @throws PrlError `PRL_CANARY_OUT_OF_BAND`, and those of the calls
 */
export async function updateEngine(
  engine: Engine,
  { source, manifest }: Pick<AvailableWeights, "source" | "manifest">,
  options: UpdateOptions,
): Promise<void> {
  const { admin } = engine;
  const { signal } = options;
  const weights = { version: manifest.version, digest: manifest.digest, source };
  if ("grpc" in source) await admin.prefetchWeights(weights, signal);
  const isAsleep = options.sleeps === true && (await admin.isSleeping(signal));
  if (isAsleep) await admin.wakeUp("weights", signal);
  await admin.pause("keep", signal);
  await admin.updateWeights(weights, signal);
  if (isAsleep) await admin.wakeUp("kv_cache", signal);
  await admin.resume(signal);
  if (manifest.canary !== null) await checkCanary(engine, manifest.version, manifest.canary, options);
}

/**
 * Puts an engine to sleep with its requests kept: it computes nothing before it has a version again (`updateEngine`).
 *
 * @throws PrlError those of the calls
 */
export async function putToSleep({ admin }: Pick<Engine, "admin">, level: number, signal: AbortSignal): Promise<void> {
  await admin.pause("keep", signal);
  await admin.sleep(level, signal);
}

async function checkCanary(
  { url, isa, dtype, admin }: Engine,
  version: number,
  canary: Canary,
  { maxMeanAbs, metrics, signal }: UpdateOptions,
): Promise<void> {
  const { maxAbs, meanAbs } = compareCanary(canary, await admin.promptLogprobs(canary.tokenIds, signal));
  const band = kernelsOf({ isa, dtype }) === kernelsOf(canary) ? 0 : maxMeanAbs;
  metrics.event("canary", { engine: url, version, max_abs: maxAbs, mean_abs: meanAbs, band });
  if (meanAbs <= band) return;
  throw new PrlError(
    "PRL_CANARY_OUT_OF_BAND",
    `the engine at ${url} computes other log-probabilities than the trainer for version ${version}: mean |difference| ` +
      `${meanAbs}, allowed ${band}; its weights or kernels differ (trainer ${canary.isa}/${canary.dtype}, engine ${isa}/${dtype})`,
  );
}

/** Instruction sets that have kernels for bfloat16 only, and those of `avx512` for float32. */
const BFLOAT16_ISAS = ["avx512bf16", "amx"];

/** Two engines with the same name here give the same bits. */
export function kernelsOf({ isa, dtype }: { isa: string; dtype: string }): string {
  return `${BFLOAT16_ISAS.includes(isa) && dtype === "float32" ? "avx512" : isa}/${dtype}`;
}

/**
 * Where engine `i` of those that move to a version pulls from: they form a tree below the publisher, so that it sends each version once. Its
 * ancestors come first, the nearest one before the others, the publisher last.
 */
export function sourceOf(engines: readonly Engine[], i: number, source: WeightSource): WeightSource {
  if ("dir" in source) return source;
  const ancestors: string[] = [];
  for (let above = i; above > 0;) {
    above = Math.floor((above - 1) / FAN_OUT);
    const address = engines[above]?.weights ?? null;
    if (address !== null) ancestors.push(address);
  }
  return { grpc: [...ancestors, ...source.grpc] };
}

/** Compares from the second token on: the first has no predecessor, so no log-probability. */
export function compareCanary(canary: Canary, logprobs: ArrayLike<number | null>): CanaryResult {
  let maxAbs = 0;
  let sum = 0;
  for (let t = 1; t < canary.tokenIds.length; t++) {
    const difference = Math.abs((canary.logprobs[t] ?? Number.NaN) - (logprobs[t] ?? Number.NaN));
    maxAbs = Number.isNaN(difference) ? Number.NaN : Math.max(maxAbs, difference);
    sum += difference;
  }
  return { maxAbs, meanAbs: sum / Math.max(1, canary.tokenIds.length - 1) };
}
