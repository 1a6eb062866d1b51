import { mkdtemp, readdir, readFile, rename, rm, truncate, writeFile, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";

import { PrlError } from "../../../ts/errors.ts";
import {
  buildBatch,
  openSafetensors,
  packSequences,
  WeightPublisher,
  readManifest,
  writeBatch,
  type Batch,
  type Sample,
} from "../../../ts/native/index.ts";
import { filesystemRollouts, filesystemWeights, rolloutsDir } from "../../../ts/transports/index.ts";
import { stagedWeights } from "./staged-weights.ts";

let runDir: string;
beforeEach(async () => {
  runDir = await mkdtemp(join(tmpdir(), "prl-transports-"));
});
afterEach(() => rm(runDir, { recursive: true, force: true }));

const never = new AbortController().signal;
const soon = { deadlineMs: 20, signal: never };

function batches(ranks = 1): Batch[] {
  const samples: Sample[] = [1, 2, 3, 4].map((id) => ({
    tokenIds: Uint32Array.of(id, 5, 6),
    mask: Uint8Array.of(0, 1, 1),
    logprobs: Float32Array.of(0, -1 / 3, -id),
    advantages: Float32Array.of(0, id, id),
    temperature: 0.7,
    envId: id % 2,
    policyVersionSpans: Uint32Array.of(0, 0xffffffff, 1, id),
  }));
  return buildBatch(samples, packSequences([3, 3, 3, 3], { seqLen: 6, ranks }), { ranks });
}

describe("batches by files", () => {
  const file = () => join(rolloutsDir(runDir, 3), "rank_0.safetensors");

  test("arrive as they were sent, each rank its own, whether sent before or while they are waited for", async () => {
    const rollouts = filesystemRollouts(runDir, "run", 1);
    const sent = batches(2);
    const waiting = rollouts.receive(3, 1, { deadlineMs: 5_000, signal: never });
    await rollouts.send(3, sent, ["a", "b"]);
    expect(await waiting).toEqual({ ...sent[1], envNames: ["a", "b"], path: expect.stringContaining("rank_1") });
    expect(await rollouts.receive(3, 0, soon)).toMatchObject({ ...sent[0], envNames: ["a", "b"] });
    expect(await readdir(rolloutsDir(runDir, 3))).toEqual(["rank_0.safetensors", "rank_1.safetensors"]);
  });

  describe("that are committed with something else", () => {
    const names = async () => (await readdir(rolloutsDir(runDir, 3))).toSorted();
    const staged = ["staged_rank_0.safetensors", "staged_rank_1.safetensors"];
    const visible = ["rank_0.safetensors", "rank_1.safetensors"];
    const dies = () => Promise.reject(new Error("it dies"));

    test("are durable and not visible until then", async () => {
      const seen: string[][] = [];
      await filesystemRollouts(runDir, "run", 1).send(
        3,
        batches(2),
        ["a", "b"],
        async () => void seen.push(await names()),
      );
      expect([...seen, await names()]).toEqual([staged, visible]);
    });

    test("are made visible by the next process if they were committed, those that had come so far included", async () => {
      const rollouts = filesystemRollouts(runDir, "run", 1);
      await expect(rollouts.send(3, batches(2), ["a", "b"], dies)).rejects.toThrow("it dies");
      const [from = "", to = ""] = [staged[0], visible[0]];
      await rename(join(rolloutsDir(runDir, 3), from), join(rolloutsDir(runDir, 3), to));
      await rollouts.recover(3);
      expect(await names()).toEqual(visible);
      await rollouts.recover(3);
      expect(await names()).toEqual(visible);
      expect(await rollouts.receive(3, 1, soon)).toMatchObject({ ...batches(2)[1] });
    });

    test("are removed by the next process if they were not", async () => {
      const rollouts = filesystemRollouts(runDir, "run", 1);
      await expect(rollouts.send(3, batches(2), ["a", "b"], dies)).rejects.toThrow("it dies");
      await rollouts.recover(2);
      expect(await names()).toEqual([]);
    });
  });

  test.each([
    ["run", { runId: "other" }],
    ["attempt", { attempt: 2 }],
    ["step", { step: 4 }],
    ["rank", { rank: 1 }],
  ])("of another %s are refused with PRL_BATCH_INVALID naming both", async (what, wrong) => {
    const key = { runId: "run", attempt: 1, step: 3, rank: 0, ...wrong };
    const folder = rolloutsDir(runDir, key.step);
    await mkdir(folder, { recursive: true });
    await mkdir(rolloutsDir(runDir, 3), { recursive: true });
    const [batch] = batches();
    if (batch === undefined) throw new Error("no batch");
    const path = join(folder, `rank_${key.rank}.safetensors`);
    await writeBatch(path, batch, { ...key, envNames: ["a", "b"] });
    if (path !== file()) await rename(path, file());
    const received = filesystemRollouts(runDir, "run", 1).receive(3, 0, soon);
    await expect(received).rejects.toMatchObject({ code: "PRL_BATCH_INVALID" });
    await expect(received).rejects.toThrow(new RegExp(`${what} ${Object.values(wrong).join("")}.*${what} `));
  });

  test("that are cut short or changed are refused by name", async () => {
    const rollouts = filesystemRollouts(runDir, "run", 1);
    await rollouts.send(3, batches(), ["a", "b"]);
    const whole = await readFile(file());
    await truncate(file(), whole.length - 3);
    await expect(rollouts.receive(3, 0, soon)).rejects.toMatchObject({ code: "PRL_BATCH_INVALID" });
    whole[whole.length - 1] = (whole.at(-1) ?? 0) ^ 1;
    await writeFile(file(), whole);
    await expect(rollouts.receive(3, 0, soon)).rejects.toMatchObject({
      code: "PRL_BATCH_INVALID",
      message: expect.stringContaining("digest") as string,
    });
  });

  test("that do not come are PRL_DEADLINE, an abort ends the wait, and nothing is received after it", async () => {
    const rollouts = filesystemRollouts(runDir, "run", 1);
    await expect(rollouts.receive(3, 0, soon)).rejects.toMatchObject({ code: "PRL_DEADLINE" });
    const stop = new AbortController();
    const waiting = rollouts.receive(3, 0, { deadlineMs: 60_000, signal: stop.signal });
    stop.abort();
    await expect(waiting).rejects.toThrow("abort");
    await rollouts.send(3, batches(), ["a", "b"]);
    await expect(rollouts.receive(3, 0, { deadlineMs: 60_000, signal: stop.signal })).rejects.toThrow("abort");
  });

  test("with numbers that do not fit their columns are refused, not wrapped", async () => {
    for (const step of [-1, 1.5, Number.NaN, 2 ** 32]) {
      await expect(filesystemRollouts(runDir, "run", 1).send(step, batches(), [])).rejects.toMatchObject({
        code: "PRL_PACKING_INPUT",
      });
    }
  });
});

describe("weights by folders", () => {
  const canary = { tokenIds: [1, 2], logprobs: [0, Math.fround(-0.1)], isa: "portable", dtype: "float32" };
  const folders = async () =>
    (await readdir(join(runDir, "weights"))).filter((name) => !name.startsWith(".")).toSorted();

  test("arrive with manifest and canary, exactly", async () => {
    const weights = filesystemWeights(runDir, { keep: 2 });
    const waiting = weights.receive(0, { deadlineMs: 5_000, signal: never });
    const published = await weights.publish(0, stagedWeights("F32"), canary);
    expect(await waiting).toMatchObject(published);
    expect(published).toMatchObject({ dir: join(runDir, "weights", "step_0"), manifest: { version: 0, canary } });
    await weights.close();
  });

  test("only the newest stay, and a version is not there before its files are", async () => {
    const weights = filesystemWeights(runDir, { keep: 2 });
    for (let version = 0; version < 5; version++) await weights.publish(version, stagedWeights("F32", version), null);
    expect(await folders()).toEqual(["step_3", "step_4"]);
    await expect(weights.receive(2, soon)).rejects.toMatchObject({ code: "PRL_DEADLINE" });
    const failed = weights.publish(
      5,
      async (dir) => {
        await stagedWeights("F32")(dir);
        throw new PrlError("PRL_WEIGHTS_IO", "disk full");
      },
      null,
    );
    await expect(failed).rejects.toThrow("disk full");
    await expect(weights.receive(5, soon)).rejects.toMatchObject({ code: "PRL_DEADLINE" });
    expect((await weights.receive(4, soon)).manifest.version).toBe(4);
    expect(await folders()).toEqual(["step_3", "step_4"]);
    await weights.close();
  });

  test("that someone reads stay until he releases them", async () => {
    const weights = filesystemWeights(runDir, { keep: 1 });
    await weights.publish(0, stagedWeights("F32"), null);
    const received = await weights.receive(0, soon);
    await weights.publish(1, stagedWeights("F32", 1), null);
    await weights.publish(2, stagedWeights("F32", 2), null);
    expect(await folders()).toEqual(["step_0", "step_2"]);
    await received.release();
    await weights.publish(3, stagedWeights("F32", 3), null);
    expect(await folders()).toEqual(["step_3"]);
    await weights.close();
  });

  test("of 16 bits travel as what changed and arrive whole", async () => {
    const [trainer, orchestrator] = [filesystemWeights(runDir, { keep: 2 }), filesystemWeights(runDir, { keep: 2 })];
    for (let version = 0; version < 4; version++) {
      const { manifest } = await trainer.publish(version, stagedWeights("BF16", version), canary, {
        full: version === 3,
      });
      expect(manifest.encoding).toBe(version === 0 || version === 3 ? "full" : "sparse");
      const received = await orchestrator.receive(version, soon);
      expect(received.manifest).toMatchObject({ version, digest: manifest.digest, encoding: "full", canary });
      const file = await openSafetensors(join(received.dir, "model.safetensors"));
      expect(new Uint16Array(file.tensor("w").data.slice().buffer).filter((element) => element === 8)).toHaveLength(
        version,
      );
      file.close();
      expect(await readFile(join(received.dir, "config.json"), "utf8")).toBe("{}");
      expect(await readManifest(received.dir, { verify: true })).toEqual(received.manifest);
      await received.release();
    }
    await Promise.all([trainer.close(), orchestrator.close()]);
  });

  test("whose base is lost are asked for in full", async () => {
    const trainer = filesystemWeights(runDir, { keep: 4 });
    for (let version = 0; version < 3; version++) await trainer.publish(version, stagedWeights("BF16", version), null);
    await rm(join(runDir, "weights", "step_1"), { recursive: true });
    const orchestrator = filesystemWeights(runDir, { keep: 4 });
    const received = await orchestrator.receive(2, { deadlineMs: 10_000, signal: never });
    expect(received).toMatchObject({
      dir: join(runDir, "weights", "step_2"),
      manifest: { version: 2, encoding: "full" },
    });
    await received.release();
    await trainer.close();
    await rm(join(runDir, "weights", "step_0"), { recursive: true });
    const late = filesystemWeights(runDir, { keep: 4 });
    expect((await late.receive(2, soon)).manifest.version).toBe(2);
  });

  test("of 16 bits have one look for requests at a time, however long it waits for the publisher", async () => {
    let serve = (): void => undefined;
    const serving = vi
      .spyOn(WeightPublisher.prototype, "serveFullRequest")
      .mockImplementation(() => new Promise((resolve) => (serve = () => resolve(false))));
    const trainer = filesystemWeights(runDir, { keep: 4 });
    try {
      for (let version = 0; version < 3; version++)
        await trainer.publish(version, stagedWeights("BF16", version), null);
      await vi.waitFor(() => expect(serving).toHaveBeenCalledTimes(1), 5_000);
      await delay(700);
      expect(serving).toHaveBeenCalledTimes(1);
      serve();
      await vi.waitFor(() => expect(serving).toHaveBeenCalledTimes(2), 5_000);
    } finally {
      serving.mockRestore();
      await trainer.close();
    }
  });

  test("that were asked for in full are tried again after a failure, which does not end the run later", async () => {
    const serving = vi.spyOn(WeightPublisher.prototype, "serveFullRequest");
    onTestFinished(() => serving.mockRestore());
    const trainer = filesystemWeights(runDir, { keep: 4 });
    for (let version = 0; version < 3; version++) await trainer.publish(version, stagedWeights("BF16", version), null);
    serving.mockRejectedValueOnce(new PrlError("PRL_WEIGHTS_IO", "disk full"));
    await rm(join(runDir, "weights", "step_1"), { recursive: true });
    const orchestrator = filesystemWeights(runDir, { keep: 4 });
    const received = await orchestrator.receive(2, { deadlineMs: 10_000, signal: never });
    expect(received.manifest).toMatchObject({ version: 2, encoding: "full" });
    await received.release();
    expect((await trainer.publish(3, stagedWeights("BF16", 3), null)).manifest.version).toBe(3);
    await trainer.close();
  });

  test("of a trainer that was lost are served in full by the one in its place, before that publishes any", async () => {
    const lost = filesystemWeights(runDir, { keep: 4 });
    for (let version = 0; version < 3; version++) await lost.publish(version, stagedWeights("BF16", version), null);
    await lost.close();
    await rm(join(runDir, "weights", "step_1"), { recursive: true });
    const trainer = filesystemWeights(runDir, { keep: 4 });
    await trainer.takeOver(2, stagedWeights("BF16", 2));
    const orchestrator = filesystemWeights(runDir, { keep: 4 });
    const received = await orchestrator.receive(2, { deadlineMs: 10_000, signal: never });
    expect(received.manifest).toMatchObject({ version: 2, encoding: "full" });
    await received.release();
    const next = await trainer.publish(3, stagedWeights("BF16", 3), null);
    expect(next.manifest).toMatchObject({ version: 3, encoding: "sparse", base: { version: 2 } });
    await trainer.close();
  });

  test("whose base is lost are given up by name when a newer one comes in full first", async () => {
    const publisher = await WeightPublisher.open(join(runDir, "weights"));
    for (let version = 0; version < 3; version++) await publisher.publish(version, stagedWeights("BF16", version));
    await rm(join(runDir, "weights", "step_1"), { recursive: true });
    const orchestrator = filesystemWeights(runDir, { keep: 4 });
    const waiting = orchestrator.receive(2, { deadlineMs: 20_000, signal: never }).catch((error: unknown) => error);
    while (!(await readdir(join(runDir, "weights"))).includes("full.request")) await delay(5);
    const { manifest } = await publisher.publish(3, stagedWeights("BF16", 3));
    expect(manifest.encoding).toBe("full");
    expect(await waiting).toMatchObject({ code: "PRL_WEIGHTS_SUPERSEDED", cause: { code: "PRL_WEIGHTS_BASE" } });
    expect((await orchestrator.receive(3, soon)).manifest).toEqual(manifest);
    await publisher.close();
  });

  test("of a folder that is written again are not there until it is whole", async () => {
    const weights = filesystemWeights(runDir, { keep: 2 });
    await weights.publish(0, stagedWeights("F32"), null);
    await weights.publish(1, stagedWeights("F32", 1), null);
    let seen: Promise<unknown[]> = Promise.resolve([]);
    await weights.publish(
      0,
      async (dir) => {
        const refused = (version: number) => weights.receive(version, soon).catch((error: unknown) => error);
        seen = Promise.all([refused(0), refused(1)]);
        await seen;
        return stagedWeights("F32")(dir);
      },
      null,
    );
    expect(await seen).toMatchObject([{ code: "PRL_DEADLINE" }, { code: "PRL_DEADLINE" }]);
    await weights.close();
  });

  test("in the folder of another version are PRL_WEIGHTS_MANIFEST", async () => {
    const weights = filesystemWeights(runDir, { keep: 2 });
    const { dir } = await weights.publish(0, stagedWeights("F32"), null);
    await mkdir(join(runDir, "weights", "step_1"));
    await writeFile(join(runDir, "weights", "step_1", "manifest.json"), await readFile(join(dir, "manifest.json")));
    await expect(weights.receive(1, soon)).rejects.toMatchObject({ code: "PRL_WEIGHTS_MANIFEST" });
    await weights.close();
  });

  test("have one publisher at a time", async () => {
    const weights = filesystemWeights(runDir, { keep: 2 });
    await weights.publish(0, stagedWeights("F32"), null);
    const second = filesystemWeights(runDir, { keep: 2 });
    await expect(second.publish(0, stagedWeights("F32"), null)).rejects.toMatchObject({ code: "PRL_WEIGHTS_IO" });
    await weights.close();
  });
});
