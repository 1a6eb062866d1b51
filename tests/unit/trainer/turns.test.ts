/** A trainer that shares its GPU with the inference servers: in which turn it does what, and when it has left the GPU. */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import { rlConfigSchema } from "../../../ts/config/schema/rl.ts";
import { openMetrics } from "../../../ts/monitors/index.ts";
import { buildBatch, packSequences, type Sample } from "../../../ts/native/index.ts";
import type { BackendJob, TrainerBackend } from "../../../ts/trainer/backend/backend.ts";
import { openBackend } from "../../../ts/trainer/backend/open-backend.ts";
import { runTrainer, type TrainerJob } from "../../../ts/trainer/index.ts";
import { filesystemRollouts, filesystemWeights, trainerTurn, writeGpuTurn } from "../../../ts/transports/index.ts";
import { publishVersion } from "../../integration/inference/tiny-model.ts";

let root: string;
let modelDir: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-turns-"));
  ({ dir: modelDir } = await publishVersion(root, 0));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const { trainer: config } = rlConfigSchema.parse({
  seq_len: 64,
  model: { name: "m" },
  trainer: { threads: 1, optim: { lr: 1e-2 } },
  orchestrator: { train: { source: [{ name: "b", env: { id: "reverse-text" } }] } },
});
const rules = { recovery_interval: 1, interval: 1, keep_last: null, keep_interval: null, save_async: true };

function batch() {
  const sample: Sample = {
    tokenIds: Uint32Array.of(104, 105, 106, 107),
    mask: Uint8Array.of(0, 1, 1, 1),
    logprobs: Float32Array.of(0, -1, -1, -1),
    advantages: Float32Array.of(0, 1, 1, 1),
    temperature: 1,
    envId: 0,
    policyVersionSpans: Uint32Array.of(0, 0xffffffff, 1, 0),
  };
  return buildBatch([sample], packSequences([4], { seqLen: 64 }), { seqLen: 64 });
}

test("it opens its model and trains in its turn only, and has left the GPU, checkpoint included, when a version is visible", async () => {
  const runDir = await mkdtemp(join(root, "run-"));
  const visible = (version: number) => existsSync(join(runDir, `weights/step_${version}/manifest.json`));
  const calls: string[] = [];
  const note = (call: string): void => {
    const newest = [2, 1, 0].find(visible);
    calls.push(newest === undefined ? call : `${call} after ${newest}`);
  };
  const open = async (job: BackendJob): Promise<TrainerBackend> => {
    note("open");
    const backend = await openBackend(job);
    const noted = <Arguments extends unknown[], Result>(
      name: string,
      act: (...given: Arguments) => Promise<Result>,
    ) => {
      return (...given: Arguments) => {
        note(name);
        return act(...given);
      };
    };
    return {
      ...backend,
      forwardBackward: noted("forward", (given) => backend.forwardBackward(given)),
      save: noted("save", (dir) => backend.save(dir)),
      saveCheckpoint: noted("checkpoint", (dir) => backend.saveCheckpoint(dir)),
      offload: noted("offload", async () => undefined),
    };
  };
  const stop = new AbortController();
  const rollouts = filesystemRollouts(runDir, "run", 1);
  const weights = filesystemWeights(runDir, { keep: 3 });
  const job: TrainerJob = {
    modelDir,
    baseDir: modelDir,
    config,
    maxSteps: 2,
    startStep: 0,
    profileDir: join(runDir, "profile"),
    checkpoints: { root: join(runDir, "checkpoints"), run: "run", attempt: 1, rules },
    rollouts,
    weights,
    metrics: openMetrics(runDir, "trainer", 1),
    signal: stop.signal,
    turn: trainerTurn(runDir, 1),
    open,
    onReady: async () => note("ready"),
  };
  const training = runTrainer(job);
  await sleep(100);
  expect(calls).toEqual([]);
  const receive = (version: number) => weights.receive(version, { deadlineMs: 20_000, signal: stop.signal });
  await writeGpuTurn(runDir, { attempt: 1, turn: "start", step: 0 });
  await receive(0);
  for (const step of [1, 2]) {
    await writeGpuTurn(runDir, { attempt: 1, turn: "servers", step: step - 1 });
    // A batch alone is no turn.
    await rollouts.send(step, batch(), ["b"]);
    await sleep(100);
    expect(calls.filter((call) => call.startsWith("forward"))).toHaveLength(step - 1);
    await writeGpuTurn(runDir, { attempt: 1, turn: "trainer", step });
    await receive(step);
  }
  await training;
  const step = (version: number) =>
    ["forward", "checkpoint", "save", "offload"].map((call) => `${call} after ${version}`);
  expect(calls).toEqual(["open", "save", "offload", "offload after 0", "ready after 0", ...step(0), ...step(1)]);
});
