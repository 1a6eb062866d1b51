/** The inference servers as one policy: which weights they hold, and whether they compute what the trainer computes. */

import { PrlError } from "../errors.ts";
import type { InferenceAdmin } from "../inference/index.ts";
import type { Metrics } from "../monitors/index.ts";
import type { Canary } from "../native/index.ts";
import type { AvailableWeights, WeightSource } from "../transports/index.ts";

/** One inference server. */
export interface Engine {
  url: string;
  isa: string;
  dtype: string;
  /** `host:port` where others can pull the weights that it has; null when it serves none. */
  weights: string | null;
  admin: EngineAdmin;
}

/** What is asked of a server beside rollouts. */
export type EngineAdmin = Pick<
  InferenceAdmin,
  "prefetchWeights" | "pause" | "updateWeights" | "resume" | "promptLogprobs"
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
}

/** Engines that pull from one node. */
const FAN_OUT = 2;

/**
 * Moves every engine to a version: what travels does so while they sample; then pause with requests kept, swap, resume, canary. Any failure is an error of the run, so an engine whose
 * update failed stays paused: it must not go on sampling with weights that nobody asked for.
 */
export async function updateEngines(
  engines: readonly Engine[],
  { source, manifest }: Pick<AvailableWeights, "source" | "manifest">,
  { maxMeanAbs, metrics, signal }: UpdateOptions,
): Promise<void> {
  const { canary, version, digest } = manifest;
  await Promise.all(
    engines.map(async ({ admin }, i) => {
      const weights = { version, digest, source: sourceOf(engines, i, source) };
      if ("grpc" in source) await admin.prefetchWeights(weights, signal);
      await admin.pause("keep", signal);
      await admin.updateWeights(weights, signal);
      await admin.resume(signal);
    }),
  );
  if (canary === null) return;
  await Promise.all(
    engines.map(async (engine) => {
      const logprobs = await engine.admin.promptLogprobs(canary.tokenIds, signal);
      const { maxAbs, meanAbs } = compareCanary(canary, logprobs);
      const band = engine.isa === canary.isa && engine.dtype === canary.dtype ? 0 : maxMeanAbs;
      metrics.event("canary", { engine: engine.url, version, max_abs: maxAbs, mean_abs: meanAbs, band });
      if (!(meanAbs <= band)) {
        throw new PrlError(
          "PRL_CANARY_OUT_OF_BAND",
          `the engine at ${engine.url} computes other log-probabilities than the trainer for version ${version}: mean |difference| ` +
            `${meanAbs}, allowed ${band}; its weights or kernels differ (trainer ${canary.isa}/${canary.dtype}, engine ${engine.isa}/${engine.dtype})`,
        );
      }
    }),
  );
}

/**
 * Where engine `i` pulls from: engines form a tree below the publisher, so that it sends each version once. Its ancestors come first, the
 * nearest one before the others, the publisher last.
 */
function sourceOf(engines: readonly Engine[], i: number, source: WeightSource): WeightSource {
  if ("dir" in source) return source;
  const ancestors: string[] = [];
  for (let above = i; above > 0;) {
    above = Math.floor((above - 1) / FAN_OUT);
    const address = engines[above]?.weights ?? null;
    if (address !== null) ancestors.push(address);
  }
  return { grpc: [...ancestors, ...source.grpc] };
}

/** Compares from the second token on: the first has no predecessor. */
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
