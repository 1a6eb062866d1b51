import { mkdtemp, readdir, readFile, rename, rm, truncate, writeFile, mkdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { PrlError } from "../../../ts/errors.ts";
import { buildBatch, digest, packSequences, writeBatch, type Batch, type Sample } from "../../../ts/native/index.ts";
import { filesystemRollouts, filesystemWeights, rolloutsDir } from "../../../ts/transports/index.ts";

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
    expect(await waiting).toEqual(sent[1]);
    expect(await rollouts.receive(3, 0, soon)).toEqual(sent[0]);
    expect(await readdir(rolloutsDir(runDir, 3))).toEqual(["rank_0.safetensors", "rank_1.safetensors"]);
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
    await expect(rollouts.receive(3, 0, soon)).rejects.toMatchObject({ code: "PRL_WEIGHTS_FORMAT" });
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

  async function save(dir: string) {
    await mkdir(dir, { recursive: true });
    const bytes = Buffer.from(`weights of ${dir}`);
    await writeFile(join(dir, "model.safetensors"), bytes);
    return {
      digest: digest(bytes),
      shards: [{ file: "model.safetensors", bytes: bytes.length, digest: digest(bytes) }],
    };
  }

  test("arrive with manifest and canary, exactly", async () => {
    const weights = filesystemWeights(runDir, { keep: 2 });
    const waiting = weights.receive(0, { deadlineMs: 5_000, signal: never });
    const published = await weights.publish(0, save, canary);
    expect(await waiting).toEqual(published);
    expect(published).toMatchObject({ dir: join(runDir, "weights", "step_0"), manifest: { version: 0, canary } });
  });

  test("only the newest stay, and a version is not there before its files are", async () => {
    const weights = filesystemWeights(runDir, { keep: 2 });
    for (let version = 0; version < 5; version++) await weights.publish(version, save, null);
    expect((await readdir(join(runDir, "weights"))).toSorted()).toEqual(["step_3", "step_4"]);
    await expect(weights.receive(2, soon)).rejects.toMatchObject({ code: "PRL_DEADLINE" });
    const failed = weights.publish(
      5,
      async (dir) => {
        await save(dir);
        throw new PrlError("PRL_WEIGHTS_IO", "disk full");
      },
      null,
    );
    await expect(failed).rejects.toThrow("disk full");
    await expect(weights.receive(5, soon)).rejects.toMatchObject({ code: "PRL_DEADLINE" });
    expect((await weights.receive(4, soon)).manifest.version).toBe(4);
    expect((await readdir(join(runDir, "weights"))).toSorted()).toEqual(["step_3", "step_4", "step_5"]);
  });

  test("of a folder that is written again are not there until it is whole", async () => {
    const weights = filesystemWeights(runDir, { keep: 2 });
    await weights.publish(0, save, null);
    let seen: Promise<unknown> = Promise.resolve();
    await weights.publish(
      0,
      async (dir) => {
        seen = weights.receive(0, soon).catch((error: unknown) => error);
        await seen;
        return save(dir);
      },
      null,
    );
    expect(await seen).toMatchObject({ code: "PRL_DEADLINE" });
  });

  test("in the folder of another version are PRL_WEIGHTS_MANIFEST", async () => {
    const weights = filesystemWeights(runDir, { keep: 2 });
    const { dir } = await weights.publish(0, save, null);
    await mkdir(join(runDir, "weights", "step_1"));
    await writeFile(join(runDir, "weights", "step_1", "manifest.json"), await readFile(join(dir, "manifest.json")));
    await expect(weights.receive(1, soon)).rejects.toMatchObject({ code: "PRL_WEIGHTS_MANIFEST" });
  });
});
