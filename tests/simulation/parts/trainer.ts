/**
 * The trainer of a simulated run: the product's loop, with its take-over, its half of the checkpoints and its metrics. In place of weights there is
 * the digest of all batches that it was trained on, so that equal digests mean equal histories.
 */
import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { readChildConfig } from "../../../ts/config/index.ts";
import { atomicWriteJson, openMetrics } from "../../../ts/monitors/index.ts";
import { readyFilePath, writeReadyFile } from "../../../ts/monitors/ready-file.ts";
import { digest, readManifest } from "../../../ts/native/index.ts";
import type { BackendJob, StepBatch, TrainerBackend } from "../../../ts/trainer/backend/backend.ts";
import { takeOver } from "../../../ts/trainer/rl/replay.ts";
import { runTrainer } from "../../../ts/trainer/rl/run-trainer.ts";
import {
  type AvailableWeights,
  filesystemRollouts,
  type WeightFollower,
  type WeightSender,
} from "../../../ts/transports/index.ts";
import { waitForFile } from "../../../ts/transports/rollouts.ts";
import type { Program } from "../world/patched-node.ts";
import { logprobsOf, type Machine, placeOf } from "./machine.ts";

const STATE = "state.json";
const VOCABULARY = 64;

export function trainer({ world, defect, pace }: Machine): Program {
  return async (args, process) => {
    const { configPath, runDir, index, attempt } = placeOf(args);
    const config = await readChildConfig("trainer", configPath);
    const { run_id: runId, start_step: startStep, ckpt } = config;
    const checkpoints = { root: config.checkpoints, run: runId, attempt };
    const begun = { step: startStep, modelDir: config.model_dir };
    const found = await takeOver({ runDir, component: "trainer", checkpoints, begun, ranks: 1 });
    const taken = defect === "trainer-begins-again" ? null : found;
    const start = taken?.start ?? begun;
    const metrics = openMetrics(runDir, "trainer", attempt);
    await runTrainer({
      modelDir: start.modelDir,
      baseDir: config.base_dir,
      config: config.trainer,
      maxSteps: config.max_steps,
      startStep: start.step,
      earlier: taken ?? undefined,
      profileDir: join(runDir, "profile"),
      checkpoints: { ...checkpoints, rules: ckpt },
      rollouts: filesystemRollouts(runDir, runId, attempt),
      weights: sender(runDir, config.weight_broadcast.keep),
      metrics,
      signal: process.stopping.signal,
      open: (job) => backend(job, (ms) => sleep(pace * world.delay(ms / 2, ms))),
      onReady: (info) => writeReadyFile(readyFilePath(runDir, "trainer", index), info),
    });
    metrics.close();
    return 0;
  };
}

async function backend({ model }: BackendJob, takes: (ms: number) => Promise<void>): Promise<TrainerBackend> {
  await takes(30);
  let weights = "none";
  if (model.isResumed)
    weights = (JSON.parse(await readFile(join(model.modelDir, STATE), "utf8")) as { weights: string }).weights;
  let gradient = "";
  const save = async (dir: string) => {
    await takes(10);
    await atomicWriteJson(join(dir, STATE), { weights });
    return { digest: digest(weights), shards: [] };
  };
  return {
    ranks: 1,
    accelerators: null,
    isa: "portable",
    dtype: "float32",
    vocabSize: VOCABULARY,
    logprobs: async (ids: Uint32Array) => Float32Array.from(logprobsOf(digest(weights), [...ids])),
    async forwardBackward({ batches }: StepBatch) {
      await takes(40);
      const columns = batches.map(({ inputIds, advantages, inferenceLogprobs }) =>
        [inputIds, advantages, inferenceLogprobs].map((one) => [...(one ?? [])]),
      );
      gradient = digest(JSON.stringify(columns));
      return { loss: 1, metrics: { "loss/mean": 1 } };
    },
    async step() {
      await takes(5);
      weights = digest(`${weights} ${gradient}`);
      return { gradNorm: 1 };
    },
    save,
    saveCheckpoint: async (dir: string) => void (await save(dir)),
    close: async () => undefined,
  };
}

/** Versions are folders with a manifest. */
function sender(runDir: string, keep: number): WeightSender {
  const dirOf = (version: number) => join(runDir, "weights", `step_${version}`);
  return {
    async publish(version, save, canary) {
      const dir = dirOf(version);
      await rm(dir, { recursive: true, force: true });
      await mkdir(dir, { recursive: true });
      const { digest: found } = await save(dir);
      const { tokenIds, ...rest } = canary ?? { tokenIds: [], logprobs: [], isa: "", dtype: "" };
      const scores = { token_ids: tokenIds, ...rest };
      const manifest = {
        format: "prl-weights",
        version,
        digest: found,
        base: null,
        encoding: "full",
        shards: [{ file: "model.safetensors", bytes: 1, digest: found }],
        files: [],
        canary: scores,
      };
      await atomicWriteJson(join(dir, "manifest.json"), manifest);
      const old = dirOf(version - keep);
      await rm(join(old, "manifest.json"), { force: true });
      await rm(old, { recursive: true, force: true });
      return { dir, manifest: await readManifest(dir) };
    },
    async takeOver(_version, save) {
      const dir = join(runDir, "run", "again");
      await mkdir(dir, { recursive: true });
      await save(dir);
      await rm(dir, { recursive: true });
    },
    delivered: async () => undefined,
    close: async () => undefined,
  };
}

/** The orchestrator's end of them. */
export function follower(runDir: string): WeightFollower {
  return {
    async receive(version, { deadlineMs, signal }): Promise<AvailableWeights> {
      const dir = join(runDir, "weights", `step_${version}`);
      await waitForFile(join(dir, "manifest.json"), deadlineMs, signal, `weight version ${version}`);
      const none = async (): Promise<void> => undefined;
      return { manifest: await readManifest(dir), source: { dir }, acknowledge: none, release: none };
    },
    close: async () => undefined,
  };
}
