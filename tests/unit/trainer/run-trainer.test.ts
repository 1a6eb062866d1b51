import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../ts/config/schema/rl.ts";
import { PrlError } from "../../../ts/errors.ts";
import { openMetrics } from "../../../ts/monitors/index.ts";
import {
  buildBatch,
  loadModel,
  packSequences,
  readManifest,
  type Batch,
  type Sample,
} from "../../../ts/native/index.ts";
import { runTrainer, type TrainerJob } from "../../../ts/trainer/index.ts";
import { filesystemRollouts, filesystemWeights, newestWholeHalf } from "../../../ts/transports/index.ts";
import { publishVersion } from "../../integration/inference/tiny-model.ts";

let root: string;
let modelDir: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-trainer-"));
  ({ dir: modelDir } = await publishVersion(root, 0));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const base = {
  seq_len: 64,
  model: { name: "m" },
  trainer: { threads: 1, optim: { lr: 1e-2 } },
  orchestrator: { train: { source: [{ name: "b", env: { id: "reverse-text" } }] } },
};
const { trainer: config } = rlConfigSchema.parse(base);

const rules = { recovery_interval: 1, interval: 1, keep_last: null, keep_interval: null, save_async: true };

/** A batch that version `version` sampled. */
async function batchOf(dir: string, version: number): Promise<Batch[]> {
  const tokenIds = Uint32Array.of(104, 105, 106, 107);
  const model = await loadModel(dir, { threads: 1 });
  const logprobs = await model.logprobs(tokenIds, Uint32Array.of(0, 4));
  await model.close();
  const sample: Sample = {
    tokenIds,
    mask: Uint8Array.of(0, 1, 1, 1),
    logprobs,
    advantages: Float32Array.of(0, 1, 1, 1),
    temperature: 1,
    envId: 0,
    policyVersionSpans: Uint32Array.of(0, 0xffffffff, 1, version),
  };
  return buildBatch([sample], packSequences([4], { seqLen: 64 }), { seqLen: 64 });
}

/** Files go both ways, so that a test can be what is at the other end. */
interface Job extends TrainerJob {
  runDir: string;
  abort: AbortController;
  rollouts: ReturnType<typeof filesystemRollouts>;
  weights: ReturnType<typeof filesystemWeights>;
}

async function jobIn(name: string): Promise<Job> {
  const runDir = await mkdtemp(join(root, name));
  const abort = new AbortController();
  return {
    runDir,
    abort,
    modelDir,
    baseDir: modelDir,
    config,
    maxSteps: 2,
    startStep: 0,
    profileDir: join(runDir, "profile"),
    checkpoints: { root: join(runDir, "checkpoints"), run: "run", attempt: 1, rules },
    rollouts: filesystemRollouts(runDir, "run", 1),
    weights: filesystemWeights(runDir, { keep: 3 }),
    metrics: openMetrics(runDir, "trainer", 1),
    signal: abort.signal,
    onReady: async () => undefined,
  };
}

describe("the trainer", () => {
  test("publishes v0 before it asks for a batch, then v(s) after batch s, with a canary that an engine reproduces exactly", async () => {
    const job = await jobIn("steps");
    const training = runTrainer(job);
    const options = { deadlineMs: 20_000, signal: job.signal };
    const published = [];
    for (const version of [0, 1, 2]) {
      const { dir, manifest } = await job.weights.receive(version, options);
      expect(await readManifest(dir, { verify: true })).toEqual(manifest);
      const model = await loadModel(dir, { threads: 1 });
      const ids = Uint32Array.from(manifest.canary?.tokenIds ?? []);
      expect([...(await model.logprobs(ids, Uint32Array.of(0, ids.length)))]).toEqual(manifest.canary?.logprobs);
      await model.close();
      published.push(manifest.digest);
      if (version < 2) await job.rollouts.send(version + 1, await batchOf(dir, version), ["b"]);
    }
    await training;
    expect(new Set(published).size).toBe(3);
    const lines = (await readFile(join(job.runDir, "metrics.jsonl"), "utf8")).trim().split("\n");
    const metrics = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(metrics.map(({ step }) => step)).toEqual([1, 2]);
    for (const line of metrics)
      expect(line).toMatchObject({ "mismatch_on_policy/max_abs_logprob_diff": 0, "mismatch_on_policy/tokens": 3 });
  });

  test("resumed from its half of a checkpoint it publishes the same versions", async () => {
    const whole = await jobIn("whole");
    const options = { deadlineMs: 20_000, signal: whole.signal };
    const follow = async (job: Job, from: number) => {
      const training = runTrainer(job);
      const digests = [];
      for (let version = from; version <= 3; version++) {
        const { dir, manifest } = await job.weights.receive(version, options);
        digests.push(manifest.digest);
        if (version < 3) await job.rollouts.send(version + 1, await batchOf(dir, version), ["b"]);
      }
      await training;
      return digests;
    };
    const digests = await follow({ ...whole, maxSteps: 3 }, 0);
    for (const step of [1, 2]) {
      const resumed = await jobIn(`resumed-${step}`);
      const half = join(whole.runDir, "checkpoints", `step_${step}`, "trainer");
      expect(await follow({ ...resumed, maxSteps: 3, startStep: step, modelDir: half }, step)).toEqual(
        digests.slice(step),
      );
    }
  });

  test("in the place of a lost one it does the steps since a checkpoint again, and publishes and logs only what is new", async () => {
    const lost = await jobIn("lost");
    const options = { deadlineMs: 20_000, signal: lost.signal };
    const first = runTrainer({ ...lost, maxSteps: 2 });
    const digests: string[] = [];
    for (const version of [0, 1, 2]) {
      const { dir, manifest } = await lost.weights.receive(version, options);
      digests.push(manifest.digest);
      await lost.rollouts.send(version + 1, await batchOf(dir, version), ["b"]);
    }
    await first;
    const metrics = join(lost.runDir, "metrics.jsonl");
    const [line = ""] = (await readFile(metrics, "utf8")).split("\n");
    const again = async (startStep: number, digest: string) => {
      // Of the second step everything is visible but its line.
      await writeFile(metrics, `${line}\n`);
      const half = join(lost.runDir, "checkpoints", `step_${startStep}`, "trainer");
      await runTrainer({
        ...lost,
        startStep,
        modelDir: startStep === 0 ? modelDir : half,
        earlier: { published: { version: 2, digest }, logged: 1 },
        weights: filesystemWeights(lost.runDir, { keep: 3 }),
        metrics: openMetrics(lost.runDir, "trainer", 1),
        maxSteps: 3,
      });
      const lines = (await readFile(metrics, "utf8")).trim().split("\n");
      const published = [];
      for (const version of [1, 2, 3])
        published.push((await readManifest(join(lost.runDir, `weights/step_${version}`))).digest);
      return { steps: lines.map((text) => (JSON.parse(text) as { step: number }).step), published };
    };
    const results = [];
    for (const step of [0, 1, 2]) {
      results.push(await again(step, digests[2] ?? ""));
      await rm(join(lost.runDir, "weights/step_3"), { recursive: true });
      await rm(join(lost.runDir, "checkpoints/step_3"), { recursive: true });
    }
    expect(results.map(({ steps }) => steps)).toEqual([
      [1, 2, 3],
      [1, 2, 3],
      [1, 3],
    ]);
    expect(results[1]).toEqual(results[0]);
    expect(results[2]?.published).toEqual(results[0]?.published);
    expect(results[0]?.published.slice(0, 2)).toEqual(digests.slice(1));
    for (const step of [0, 2])
      await expect(again(step, digests[1] ?? "")).rejects.toMatchObject({ code: "PRL_TRAIN_DIFFERS" });
    await rm(join(lost.runDir, "rollouts/step_2"), { recursive: true });
    await expect(again(0, digests[2] ?? "")).rejects.toMatchObject({ code: "PRL_TRAIN_REPLAY" });
  });

  test("with save_async = false a step is reported when its half of the checkpoint is written, and the half exists after that", async () => {
    const job = await jobIn("sync-save");
    const has = (step: number, file: string) =>
      existsSync(join(job.runDir, "checkpoints", `step_${step}`, "trainer", file));
    const whole: boolean[] = [];
    const log = (step: number) =>
      void whole.push(
        has(step, "optimizer.safetensors") && !has(step, "half.json") && (step === 1 || has(step - 1, "half.json")),
      );
    const metrics: Job["metrics"] = { ...job.metrics, log };
    const checkpoints = job.checkpoints && { ...job.checkpoints, rules: { ...rules, save_async: false } };
    const training = runTrainer({ ...job, metrics, checkpoints });
    for (const version of [0, 1]) await job.rollouts.send(version + 1, await batchOf(modelDir, 0), ["b"]);
    await training;
    expect(whole).toEqual([true, true]);
    expect(has(2, "half.json")).toBe(true);
  });

  test("a batch that is not finite changes nothing and is counted, ten in a row end the run", async () => {
    const job = await jobIn("infinite");
    const training = runTrainer({ ...job, maxSteps: 30 });
    training.catch(() => undefined);
    const options = { deadlineMs: 20_000, signal: job.signal };
    const digests = [];
    for (let step = 1; step <= 10; step++) {
      const { dir, manifest } = await job.weights.receive(step - 1, options);
      digests.push(manifest.digest);
      const [batch] = await batchOf(dir, step - 1);
      batch?.advantages.fill(3e38, 1);
      await job.rollouts.send(step, batch === undefined ? [] : [batch], ["b"]);
    }
    await expect(training).rejects.toMatchObject({ code: "PRL_TRAIN_NON_FINITE" });
    expect(new Set(digests).size).toBe(1);
    const events = (await readFile(join(job.runDir, "events.jsonl"), "utf8")).trim().split("\n");
    expect(events.filter((line) => line.includes("step_skipped"))).toHaveLength(10);
  });

  test("a half of a checkpoint that cannot be written ends the run also when the next step changes nothing", async () => {
    const job = await jobIn("half");
    await mkdir(join(job.runDir, "checkpoints"));
    await writeFile(join(job.runDir, "checkpoints", "step_1"), "no folder");
    const training = runTrainer(job);
    training.catch(() => undefined);
    await job.rollouts.send(1, await batchOf(modelDir, 0), ["b"]);
    const [batch] = await batchOf(modelDir, 0);
    batch?.advantages.fill(3e38, 1);
    await job.rollouts.send(2, batch === undefined ? [] : [batch], ["b"]);
    await expect(training).rejects.toMatchObject({ message: expect.stringContaining("step_1") as string });
  });

  test("trains with a function by path, and with a KL term towards a frozen model that the policy moves away from", async () => {
    const losses = async (name: string, loss: object, referenceDir: string | null) => {
      const job = await jobIn(name);
      const { trainer } = rlConfigSchema.parse({ ...base, trainer: { ...base.trainer, loss } });
      const training = runTrainer({ ...job, config: trainer, referenceDir });
      training.catch((error: unknown) => job.abort.abort(error));
      const options = { deadlineMs: 20_000, signal: job.signal };
      const digests: string[] = [];
      const feed = async () => {
        for (const version of [0, 1, 2]) {
          const { dir, manifest } = await job.weights.receive(version, options);
          digests.push(manifest.digest);
          if (version < 2) await job.rollouts.send(version + 1, await batchOf(dir, version), ["b"]);
        }
      };
      await Promise.all([training, feed()]);
      const lines = (await readFile(join(job.runDir, "metrics.jsonl"), "utf8")).trim().split("\n");
      return { digests, metrics: lines.map((line) => JSON.parse(line) as Record<string, number>) };
    };
    const own = join(root, "losses.ts");
    await writeFile(
      own,
      `import { policyLoss } from "prl-lm/algorithms";
       export const same = (inputs: object, args: { type: string }) => policyLoss(args.type, inputs as never);
       export const broken = () => { throw new Error("never mind"); };
       export const endless = () => { for (;;); };
       export const infinite = (inputs) => ({ loss: NaN, gradLogprobs: inputs.logprobs });
       export const later = async () => ({});`,
    );
    const expected = await losses("built-in", { type: "grpo" }, null);
    const custom = await losses("by-path", { type: "custom", path: `${own}#same`, args: { type: "grpo" } }, null);
    expect(custom.digests).toEqual(expected.digests);
    const broken = losses("broken", { type: "custom", path: `${own}#broken` }, null);
    await expect(broken).rejects.toMatchObject({
      code: "PRL_USER_MODULE",
      message: expect.stringContaining("never mind") as string,
    });

    const endless = losses("endless", { type: "custom", path: `${own}#endless`, deadline_s: 0.2 }, null);
    await expect(endless).rejects.toMatchObject({
      code: "PRL_LOSS_DEADLINE",
      message: expect.stringContaining("#endless: it did not return") as string,
    });
    const later = losses("later", { type: "custom", path: `${own}#later` }, null);
    await expect(later).rejects.toMatchObject({ code: "PRL_LOSS_INPUT" });
    const absent = losses("absent", { type: "custom", path: `${own}#absent` }, null);
    await expect(absent).rejects.toMatchObject({ code: "PRL_USER_MODULE" });
    const infinite = await losses("infinite-loss", { type: "custom", path: `${own}#infinite` }, null);
    expect(infinite.metrics.map((line) => line["optim/skipped"])).toEqual([1, 1]);
    expect(new Set(infinite.digests).size).toBe(1);

    const kl = await losses("kl", { type: "grpo", kl: { estimator: "k2", coef: 10 } }, modelDir);
    // The policy of the first step is the reference itself.
    expect(kl.metrics[0]?.["reference_kl"]).toBe(0);
    expect(kl.metrics[1]?.["reference_kl"]).toBeGreaterThan(0);
    expect(kl.digests[1]).toBe(expected.digests[1]);
    expect(kl.digests[2]).not.toBe(expected.digests[2]);
    expect(kl.metrics[1]?.["time/reference_logprobs"]).toBeGreaterThan(0);
  });

  test("an adapter pulled towards the weights under it, which are shared, is trained with the bits of a reference that is loaded", async () => {
    const copy = join(root, "copy");
    await cp(modelDir, copy, { recursive: true });
    const loss = { type: "grpo", kl: { estimator: "k2", coef: 10 } };
    const parsed = rlConfigSchema.parse({
      ...base,
      model: { name: "m", lora: { rank: 4 } },
      trainer: { ...base.trainer, loss },
    });
    const trained = async (referenceDir: string) => {
      const job = await jobIn("adapter");
      const { trainer, model } = parsed;
      const training = runTrainer({ ...job, config: { ...trainer, model }, referenceDir });
      training.catch((error: unknown) => job.abort.abort(error));
      const digests: string[] = [];
      for (const version of [0, 1, 2]) {
        const { manifest } = await job.weights.receive(version, { deadlineMs: 20_000, signal: job.signal });
        digests.push(manifest.digest);
        if (version < 2) await job.rollouts.send(version + 1, await batchOf(modelDir, version), ["b"]);
      }
      await training;
      const lines = (await readFile(join(job.runDir, "metrics.jsonl"), "utf8")).trim().split("\n");
      return { digests, kl: lines.map((line) => (JSON.parse(line) as Record<string, number>)["reference_kl"]) };
    };
    const shared = await trained(modelDir);
    expect(shared).toEqual(await trained(copy));
    expect(shared.kl[0]).toBe(0);
    expect(shared.kl[1]).toBeGreaterThan(0);
    expect(new Set(shared.digests).size).toBe(3);
  });

  test("stops while it waits for a batch, and publishes nothing more", async () => {
    const job = await jobIn("stop");
    const training = runTrainer({ ...job, maxSteps: null, onReady: async () => job.abort.abort(new Error("stop")) });
    await expect(training).rejects.toBeDefined();
    await job.rollouts.send(1, await batchOf(modelDir, 0), ["b"]);
    await expect(
      job.weights.receive(1, { deadlineMs: 50, signal: new AbortController().signal }),
    ).rejects.toMatchObject({ code: "PRL_DEADLINE" });
  });

  test("asked to end with a checkpoint it ends its step, writes its half, and says where it stopped", async () => {
    const job = await jobIn("asked");
    const asked = new AbortController();
    const stopped: number[] = [];
    const stop = { asked: asked.signal, stoppedAt: async (step: number) => void stopped.push(step) };
    const rare = { ...rules, recovery_interval: 100, interval: null };
    const checkpoints = { root: join(job.runDir, "checkpoints"), run: "run", attempt: 1, rules: rare };
    await job.rollouts.send(1, await batchOf(modelDir, 0), ["b"]);
    await job.rollouts.send(2, await batchOf(modelDir, 0), ["b"]);
    // The request comes while the first step is under way: its batch has been taken.
    const onTrained = async () => asked.abort(new Error("asked"));
    await runTrainer({ ...job, maxSteps: null, checkpoints, stop, onTrained });
    expect(stopped).toEqual([1]);
    expect(await newestWholeHalf(checkpoints, "trainer", { after: 0, upTo: 9 })).toBe(1);
    const lines = (await readFile(join(job.runDir, "metrics.jsonl"), "utf8")).trim().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { step: number }).step)).toEqual([1]);
  });

  test("asked before its first step it has no half to write", async () => {
    const job = await jobIn("early");
    const asked = new AbortController();
    const stopped: number[] = [];
    const stop = { asked: asked.signal, stoppedAt: async (step: number) => void stopped.push(step) };
    await runTrainer({ ...job, maxSteps: null, stop, onReady: async () => asked.abort(new Error("asked")) });
    expect(stopped).toEqual([0]);
    await expect(readFile(join(job.runDir, "checkpoints"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("ends with the transport's error when a version cannot be published", async () => {
    const job = await jobIn("full");
    const weights = {
      ...job.weights,
      publish: async () => Promise.reject(new PrlError("PRL_WEIGHTS_IO", "disk full")),
    };
    await expect(runTrainer({ ...job, weights })).rejects.toThrow("disk full");
  });
});
