/**
 * The torch trainer beside the native one: the same losses, gradients and steps on one and on two ranks, folders that every reader takes,
 * checkpoints that go on with another number of ranks, and ranks that end.
 */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../ts/config/schema/rl.ts";
import { loadModel, openSafetensors, openTrainer, verifyWeights, writeManifest } from "../../../ts/native/index.ts";
import { openTorchBackend } from "../../../ts/trainer/torch/torch-backend.ts";
import { WorkerGroup } from "../../../ts/trainer/torch/worker-group.ts";
import type { BackendJob, TrainerBackend } from "../../../ts/trainer/backend/backend.ts";
import { filesystemRollouts, type ReceivedBatch } from "../../../ts/transports/index.ts";
import { NEEDED_PACKAGES, TORCH_PYTHON, withoutPython } from "../../support/training/torch-python.ts";
import { EXPERTS, publishVersion } from "../inference/tiny-model.ts";
import { batchesFor, VERSION, writeTorchFixtures } from "./torch-fixtures.ts";

const PYTHON_TESTS = fileURLToPath(new URL("../../../ts/trainer/torch/python", import.meta.url));
const missing = withoutPython(NEEDED_PACKAGES);
const missingPytest = withoutPython([...NEEDED_PACKAGES, "pytest"]);
const skipped = (why: string) => (why === "" ? "" : ` (skipped: ${why})`);
const interpreter = TORCH_PYTHON ?? "";
/** Two sequences, whose tokens are no multiple of the ranks. */
const IDS = Uint32Array.of(5, 6, 7, 90, 91);
const BOUNDS = Uint32Array.of(0, 3, 5);
/** Longer than what a test waits for. */
const PATIENCE = { silenceMs: 600_000, callMs: 600_000 };

let root: string;
let modelDir: string;
let mixtureDir: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-torch-test-"));
  ({ dir: modelDir } = await publishVersion(root, 0));
  await mkdir(join(root, "mixture"));
  ({ dir: mixtureDir } = await publishVersion(join(root, "mixture"), 0, EXPERTS));
});
afterAll(() => rm(root, { recursive: true, force: true }));

test.skipIf(missingPytest !== "")(
  `the worker's Python tests agree with the native trainer${skipped(missingPytest)}`,
  async () => {
    const folder = join(root, "fixtures");
    await mkdir(folder);
    await writeTorchFixtures(folder);
    const env = { ...process.env, PRL_TORCH_FIXTURES: folder, OMP_NUM_THREADS: "1" };
    const run = promisify(execFile)(interpreter, ["-m", "pytest", "-q", "-p", "no:cacheprovider"], {
      cwd: PYTHON_TESTS,
      env,
    });
    const { stdout } = await run.catch((error: { stdout: string; stderr: string }) => {
      throw new Error(error.stdout + error.stderr);
    });
    expect(stdout).toMatch(/\d+ passed/);
  },
  // A minute where nothing else runs.
  900_000,
);

/** The batch of a step for each rank, as files. */
async function received(ranks: number, base = modelDir): Promise<ReceivedBatch[]> {
  const runDir = await mkdtemp(join(root, "run-"));
  const rollouts = filesystemRollouts(runDir, "run", 1);
  await rollouts.send(1, await batchesFor(base, "plain", ranks), ["a", "b"]);
  const waiting = { deadlineMs: 10_000, signal: new AbortController().signal };
  return Promise.all(Array.from({ length: ranks }, (_, rank) => rollouts.receive(1, rank, waiting)));
}

interface Opening {
  ranks: number;
  context?: number;
  tensor?: number;
  replicas?: number;
  expert?: number;
  /** The base; unset: a dense model. */
  base?: string;
  from?: string;
  dtype?: BackendJob["dtype"];
}

function jobOf({ ranks, base = modelDir, from = base, dtype = "float32", ...parallel }: Opening): BackendJob {
  const { trainer } = rlConfigSchema.parse({
    model: { name: "m", dtype },
    trainer: { backend: "torch", ranks, parallel, threads: 1, optim: { lr: 1e-3 } },
    orchestrator: { train: { source: [{ name: "a", env: { id: "reverse-text" } }] } },
  });
  const isResumed = from !== base;
  return {
    model: { lora: null, name: "m", baseDir: base, modelDir: from, seed: 0, isResumed },
    dtype,
    baseDtype: null,
    referenceDir: null,
    loss: trainer.loss,
    settings: trainer,
  };
}

async function withBackend<Result>(
  opening: Opening,
  use: (backend: TrainerBackend) => Promise<Result>,
): Promise<Result> {
  const backend = await openTorchBackend(jobOf(opening), interpreter);
  try {
    return await use(backend);
  } finally {
    await backend.close();
  }
}

async function steps(backend: TrainerBackend, count: number, base?: string): Promise<number[]> {
  const batches = await received(backend.ranks, base);
  const losses = [];
  for (let step = 0; step < count; step++) {
    losses.push((await backend.forwardBackward({ batches, onPolicyVersion: VERSION })).loss);
    await backend.step({ lr: 1e-3 });
  }
  return losses;
}

/** Every tensor of a folder, whatever its files. */
async function tensors(dir: string, files: readonly string[]): Promise<Map<string, Float32Array>> {
  const found = new Map<string, Float32Array>();
  for (const file of files) {
    const opened = await openSafetensors(join(dir, file));
    for (const name of opened.names) {
      const { data } = opened.tensor(name);
      found.set(name, new Float32Array(Uint8Array.from(data).buffer));
    }
    opened.close();
  }
  return found;
}

/** The largest difference of a tensor over its largest number. */
function farthest(found: Map<string, Float32Array>, expected: Map<string, Float32Array>): number {
  expect([...found.keys()].toSorted()).toEqual([...expected.keys()].toSorted());
  const distances = [...expected].map(([name, wanted]) => {
    const values = found.get(name) ?? new Float32Array();
    const size = wanted.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    return wanted.reduce((most, value, at) => Math.max(most, Math.abs(value - (values[at] ?? Number.NaN))), 0) / size;
  });
  return Math.max(...distances);
}

describe.skipIf(missing !== "")(`the torch trainer${skipped(missing)}`, () => {
  test("ends after three steps with the native trainer's weights, on one rank and on two, and resumes on another number", async () => {
    const native = await openTrainer(modelDir, { threads: 1, optim: { type: "adamw", lr: 1e-3 } });
    const [batch] = await batchesFor(modelDir, "plain", 1);
    if (batch === undefined) throw new RangeError("no batch");
    const losses: number[] = [];
    for (let step = 0; step < 3; step++) {
      losses.push((await native.forwardBackward({ ...batch, onPolicyVersion: VERSION })).loss);
      await native.step();
    }
    const { shards } = await native.save(join(root, "native"));
    await native.close();
    const expected = await tensors(
      join(root, "native"),
      shards.map(({ file }) => file),
    );

    const saved: Map<string, Float32Array>[] = [];
    for (const ranks of [1, 2]) {
      await withBackend({ ranks }, async (backend) => {
        expect(backend).toMatchObject({ isa: "torch-cpu", dtype: "float32", vocabSize: 260, ranks });
        const found = await steps(backend, 2);
        const half = join(root, `half-${ranks}`);
        await backend.saveCheckpoint(half);
        found.push(...(await steps(backend, 1)));
        found.forEach((loss, step) => expect(Math.abs(loss / (losses[step] ?? 0) - 1)).toBeLessThan(1e-5));
        const dir = join(root, `ranks-${ranks}`);
        const written = await backend.save(dir);
        expect(written.shards.map(({ file }) => file)).toEqual(
          ranks === 1
            ? ["model.safetensors"]
            : ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"],
        );
        await writeManifest(dir, {
          format: "prl-weights",
          version: 1,
          base: null,
          encoding: "full",
          canary: null,
          ...written,
        });
        await verifyWeights(dir);
        expect(await readFile(join(dir, "tokenizer.json"))).toEqual(await readFile(join(modelDir, "tokenizer.json")));
        saved.push(
          await tensors(
            dir,
            written.shards.map(({ file }) => file),
          ),
        );
        expect(farthest(saved.at(-1) ?? new Map(), expected)).toBeLessThan(1e-4);
      });
    }
    for (const [from, ranks] of [
      [1, 2],
      [2, 1],
    ] as const) {
      await withBackend({ ranks, from: join(root, `half-${from}`) }, async (backend) => {
        await steps(backend, 1);
        const written = await backend.save(join(root, `resumed-${ranks}`));
        const weights = await tensors(
          join(root, `resumed-${ranks}`),
          written.shards.map(({ file }) => file),
        );
        expect(farthest(weights, expected)).toBeLessThan(1e-4);
      });
    }
  });

  test.each([
    { ranks: 2, context: 2 },
    { ranks: 2, replicas: 2 },
    { ranks: 2, tensor: 2 },
    { ranks: 4, context: 2, replicas: 2 },
    { ranks: 2, expert: 2 },
  ])("ends with the weights of one rank for %j", async (opening: Opening) => {
    const base = opening.expert === undefined ? modelDir : mixtureDir;
    const sharing = (opening.context ?? 1) * (opening.tensor ?? 1);
    const after = async (given: Opening, ranks: number) => {
      const dir = join(root, Object.entries(given).flat().join("-"));
      return withBackend({ ...given, base }, async (backend) => {
        expect(backend.ranks).toBe(ranks);
        const losses = await steps(backend, 3, base);
        const { shards } = await backend.save(dir);
        const files = shards.map(({ file }) => file);
        return { losses, weights: await tensors(dir, files), scores: await backend.logprobs(IDS, BOUNDS) };
      });
    };
    const alone = opening.ranks / sharing;
    // Of ranks that share experts each has a batch, as those have that share nothing.
    const expected = await after({ ranks: alone }, alone);
    const found = await after(opening, alone);
    found.losses.forEach((loss, step) => expect(Math.abs(loss / (expected.losses[step] ?? 0) - 1)).toBeLessThan(1e-5));
    expect(farthest(found.weights, expected.weights)).toBeLessThan(1e-4);
    found.scores.forEach((value, t) => expect(Math.abs(value - (expected.scores[t] ?? 0))).toBeLessThan(1e-4));
  });

  test("names the heads of a model that so many ranks cannot share", async () => {
    const opened = withBackend({ ranks: 3, context: 3 }, async () => undefined);
    await expect(opened).rejects.toMatchObject({ code: "PRL_ENGINE_ARCHITECTURE_UNSUPPORTED" });
    await expect(opened).rejects.toThrow("attention heads cannot be shared by trainer.parallel.context = 3 ranks");
  });

  test("writes a trace of the step that asks for one, of each rank", async () => {
    const traceDir = join(root, "profile/step_2");
    await withBackend({ ranks: 2 }, async (backend) => {
      expect(backend.accelerators).toBeNull();
      await steps(backend, 1);
      const batches = await received(2);
      await backend.forwardBackward({ batches, onPolicyVersion: VERSION, traceDir });
      await backend.step({ lr: 1e-3 });
      await steps(backend, 1);
    });
    expect((await readdir(traceDir)).toSorted()).toEqual(["rank_0.json.gz", "rank_1.json.gz"]);
    for (const name of ["rank_0.json.gz", "rank_1.json.gz"]) {
      const text = gunzipSync(await readFile(join(traceDir, name))).toString();
      const { traceEvents } = JSON.parse(text) as { traceEvents: { name: string }[] };
      const names = new Set(traceEvents.map((event) => event.name));
      // Forward, backward and the optimizer are in it.
      expect([...names].filter((event) => /^aten::mm$|Backward0$|^Optimizer.step/u.test(event)).length).toBeGreaterThan(
        1,
      );
    }
  });

  test("scores as the engine does, and publishes bfloat16 that the engine loads", async () => {
    const dir = join(root, "rounded");
    const scores = await withBackend({ ranks: 1 }, (backend) => backend.logprobs(IDS, BOUNDS, { temperature: 0.7 }));
    const model = await loadModel(modelDir, { threads: 1 });
    const expected = await model.logprobs(IDS, BOUNDS, { temperature: Float32Array.of(0.7) });
    await model.close();
    scores.forEach((value, t) => expect(Math.abs(value - (expected[t] ?? 0))).toBeLessThan(1e-4));
    await withBackend({ ranks: 1, dtype: "bfloat16" }, async (backend) => {
      expect(backend.dtype).toBe("bfloat16");
      await steps(backend, 1);
      await backend.save(dir);
    });
    const rounded = await loadModel(dir, { threads: 1 });
    const [close, exact] = [
      await rounded.logprobs(IDS, BOUNDS),
      await withBackend({ ranks: 1 }, (one) => one.logprobs(IDS, BOUNDS)),
    ];
    await rounded.close();
    close.forEach((value, t) => expect(Math.abs(value - (exact[t] ?? 0))).toBeLessThan(1));
  });

  test("names a rank that ends, and leaves no process behind", async () => {
    const group = await WorkerGroup.start({ interpreter, ranks: 2, threads: 1, ...PATIENCE });
    const { processes } = group;
    const victim = processes.get(1) ?? 0;
    process.kill(victim, "SIGKILL");
    // Rank 0 waits for the other one.
    const opening = group.call("open");
    await expect(opening).rejects.toMatchObject({
      code: "PRL_TORCH_WORKER",
      message: expect.stringMatching(/rank 1 \(process \d+\) ended/),
    });
    await group.close();
    await expect.poll(() => [...processes.values()].filter(isAlive), { timeout: 10_000 }).toEqual([]);
  });

  test("names a rank that is stopped while the others wait for it, and leaves no process behind", async () => {
    const group = await WorkerGroup.start({ interpreter, ranks: 2, threads: 1, ...PATIENCE, silenceMs: 12_000 });
    const { processes } = group;
    process.kill(processes.get(1) ?? 0, "SIGSTOP");
    await expect(group.call("open")).rejects.toMatchObject({
      code: "PRL_TORCH_WORKER",
      message: expect.stringMatching(/rank 1 \(process \d+.*gave no sign of life for 12 s/u),
    });
    await group.close();
    await expect.poll(() => [...processes.values()].filter(isAlive), { timeout: 10_000 }).toEqual([]);
  });

  test("says where in the code a rank is that does not answer a call in time", async () => {
    const group = await WorkerGroup.start({ interpreter, ranks: 2, threads: 1, ...PATIENCE, callMs: 20_000 });
    process.kill(group.processes.get(1) ?? 0, "SIGSTOP");
    // Rank 0 waits for the other one where ranks find each other.
    await expect(group.call("open")).rejects.toMatchObject({
      code: "PRL_TORCH_WORKER",
      message: expect.stringMatching(
        /rank 0 \(process \d+, at worker\.py:\d+ in main\).*did not answer open within 20 s/u,
      ),
    });
    await group.close();
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
