/**
 * Stand-ins for the processes that an orchestrator talks to: an engine that has every version at once, workers whose rollouts cost nothing, a trainer that
 * trains nothing. Rewards depend on task and sample, so that advantages differ from 0.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";

import { createRng } from "../../random/rng.ts";
import type { Metrics } from "../../monitors/index.ts";
import { EngineFleet, type EnvWorkers } from "../../orchestrator/index.ts";
import { madeUpAnswer, madeUpColumns, madeUpEpisode, madeUpTasks, madeUpWeights } from "../../simulation/internal.ts";
import { type CheckpointWriter, type RolloutSender, type WeightFollower, writeHalf } from "../../transports/index.ts";

const URL = "http://127.0.0.1:0";

export function madeUpEngines(metrics: Metrics): EngineFleet {
  let version = 0;
  const admin = {
    prefetchWeights: async () => undefined,
    pause: async () => undefined,
    updateWeights: async (weights: { version: number }) => {
      version = weights.version;
      return { skipped: false };
    },
    resume: async () => undefined,
    sleep: async () => undefined,
    wakeUp: async () => undefined,
    isSleeping: async () => false,
    promptLogprobs: async (tokenIds: ArrayLike<number>) => new Float32Array(tokenIds.length),
    health: async () => ({
      status: "ok",
      paused: false,
      policyVersion: version,
      digest: String(version),
      running: 0,
      waiting: 0,
    }),
    load: async () => [],
  };
  const engine = { url: URL, isa: "none", dtype: "float32", weights: null, admin };
  return new EngineFleet([{ name: "inference-0", identity: URL, engine }], { maxMeanAbs: 0, metrics });
}

/** Batches go to `sender`; a version exists as soon as its batch does. */
export function madeUpTrainer(
  sender: RolloutSender,
  checkpoints: CheckpointWriter,
  steps: number,
): { rollouts: RolloutSender; weights: WeightFollower } {
  const versions = new Map<number, PromiseWithResolvers>();
  const version = (number: number): PromiseWithResolvers => {
    const known = versions.get(number) ?? withResolvers();
    versions.set(number, known);
    return known;
  };
  version(0).resolve();
  const weights: WeightFollower = {
    async receive(number, { signal }) {
      signal.throwIfAborted();
      signal.addEventListener("abort", () => version(number).resolve(), { once: true });
      await version(number).promise;
      signal.throwIfAborted();
      return madeUpWeights(number);
    },
    close: async () => undefined,
  };
  const rollouts: RolloutSender = {
    async send(step, batches, names, commit) {
      await sender.send(step, batches, names, commit);
      if (step === steps) {
        // The last step always has a checkpoint, which needs the trainer's half.
        await writeHalf(checkpoints, step, "trainer", (dir) => writeFile(join(dir, "nothing"), ""));
      }
      version(step).resolve();
    },
    recover: (committed) => sender.recover(committed),
    close: () => sender.close(),
  };
  return { rollouts, weights };
}

interface PromiseWithResolvers {
  promise: Promise<void>;
  resolve: () => void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

export interface RolloutShape {
  /** Tokens of a rollout, half of them prompt. */
  length: number;
  /** Token ids are below this. */
  vocabSize: number;
}

export function madeUpWorkers({ length, vocabSize }: RolloutShape): EnvWorkers {
  const prompt = Math.floor(length / 2);
  return {
    tasks: madeUpTasks,
    async run(request) {
      await setImmediate();
      const rng = createRng(request.seed);
      const version = Number(request.cache_salt);
      const versions = { start: version, end: version };
      const tokenIds = Uint32Array.from({ length }, () => rng.integer(vocabSize));
      const episode = madeUpEpisode(request, {
        ...versions,
        reward: (request.seed % 5) / 4,
        promptTokens: prompt,
        completionTokens: length - prompt,
      });
      return madeUpAnswer(episode, madeUpColumns(tokenIds, prompt, versions));
    },
    scoreGroup: async () => Promise.reject(new Error("rollouts that are made up compare nothing")),
    close: async () => undefined,
  };
}
