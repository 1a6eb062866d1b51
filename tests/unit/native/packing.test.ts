/** Packing by its TypeScript face: what the Rust tests cannot see. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { encodeTraceColumns } from "../../../ts/environments/internal.ts";
import type { TraceColumns } from "../../../ts/environments/index.ts";
import {
  buildBatch,
  buildBatchAsync,
  flopModel,
  packSequences,
  readBatch,
  RolloutSamples,
  SampleSet,
  writeBatch,
  type BatchKey,
  type PackedBatch,
} from "../../../ts/native/index.ts";

const NONE = 0xffffffff;
const key: BatchKey = { runId: "r", attempt: 1, step: 1, rank: 0, envNames: ["a", "b"] };
const inputError = (message: string) =>
  expect.objectContaining({
    code: "PRL_PACKING_INPUT",
    message: expect.stringContaining(message) as string,
  }) as Error;

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-packing-"));
});
afterAll(() => rm(dir, { recursive: true, force: true }));

/** A prompt token and `sampled` tokens. */
function trace(first: number, sampled: number): TraceColumns {
  const tokens = sampled + 1;
  return {
    tokenIds: Uint32Array.from({ length: tokens }, (_, t) => first + t),
    mask: new Uint8Array(tokens).fill(1, 1),
    logprobs: new Float32Array(tokens).fill(-0.5, 1),
    versionSpans: Uint32Array.of(0, NONE, 1, 3),
    branchOffsets: Uint32Array.of(0, tokens),
  };
}

const rollout = (...traces: TraceColumns[]) => RolloutSamples.parse(encodeTraceColumns(traces), traces.length);

async function packed(): Promise<PackedBatch> {
  const set = new SampleSet();
  set.add(rollout(trace(10, 2), trace(20, 1)), { advantage: 1.5, temperature: 0.5, envId: 1 });
  set.add(rollout(trace(30, 3)), { advantage: -0.5, temperature: 0.5, envId: 0 });
  expect(set.size).toBe(3);
  const [batch] = await set.pack({ padToMultipleOf: 5, padTokenId: 9 });
  expect(set.size).toBe(0);
  if (batch === undefined) throw new Error("no batch");
  return batch;
}

describe("plans", () => {
  test("balance ranks by the operations of a model", () => {
    const config = {
      model_type: "qwen3",
      hidden_size: 8,
      num_hidden_layers: 2,
      num_attention_heads: 2,
      head_dim: 4,
      intermediate_size: 16,
      vocab_size: 32,
    };
    const model = flopModel(config);
    expect(model).toEqual({ linear: 2 * (2 * (2 * 8 * 4 * 4 + 3 * 8 * 16) + 8 * 32), quadratic: 2 * 2 * 2 * 4 });
    expect(flopModel(JSON.stringify(config))).toEqual(model);
    const lengths = [8, 4, 4, 2, 2, 2, 2];
    const plan = packSequences(lengths, { seqLen: 8, ranks: 3, cost: { linear: 0, quadratic: 1 } });
    expect(plan.map((bin) => [...bin])).toEqual([[0], [1, 2], [3, 4, 5, 6]]);
    expect(() => flopModel({ ...config, model_type: "mamba2" })).toThrow(
      expect.objectContaining({ code: "PRL_PACKING_UNSUPPORTED" }) as Error,
    );
    expect(() => flopModel("{")).toThrow(expect.objectContaining({ code: "PRL_PACKING_CONFIG" }) as Error);
  });

  test("keep classes apart", () => {
    const plan = packSequences([2, 2, 2, 2], { seqLen: 8, classes: [1, 0, 1, 0] });
    expect(plan.map((bin) => [...bin])).toEqual([
      [1, 3],
      [0, 2],
    ]);
    expect(() => packSequences([2, 2], { seqLen: 8, classes: [1] })).toThrow(inputError("1 classes for 2 samples"));
    expect(() => packSequences([2], { seqLen: 8, classes: [-1] })).toThrow(inputError("classes[0] is -1"));
  });
});

describe("rollouts in native memory", () => {
  test("give back the samples that came in", () => {
    const traces = [trace(10, 2), trace(20, 1)];
    const samples = rollout(...traces);
    expect([samples.tokens, samples.samples]).toEqual([5, 2]);
    expect(samples.columns()).toEqual(traces);
  });

  test("are packed as samples of JavaScript are", async () => {
    const sample = ({ versionSpans, ...columns }: TraceColumns, advantage: number, envId: number) => ({
      tokenIds: columns.tokenIds,
      mask: columns.mask,
      logprobs: columns.logprobs,
      advantages: Float32Array.from(columns.mask, (mask) => (mask === 1 ? advantage : 0)),
      temperature: 0.5,
      envId,
      policyVersionSpans: versionSpans,
    });
    const samples = [sample(trace(10, 2), 1.5, 1), sample(trace(20, 1), 1.5, 1), sample(trace(30, 3), -0.5, 0)];
    const [expected] = buildBatch(samples, [Uint32Array.of(0, 1, 2)], { padToMultipleOf: 5, padTokenId: 9 });
    const batch = await packed();
    expect(batch.columns()).toEqual(expected);
    const plan = [Uint32Array.of(0, 1, 2)];
    expect(await buildBatchAsync(samples, plan, { padToMultipleOf: 5, padTokenId: 9 })).toEqual([expected]);
    await expect(buildBatchAsync(samples, [Uint32Array.of(7)])).rejects.toMatchObject({ code: "PRL_PACKING_INPUT" });
    expect(batch.tokens).toBe(10);
    expect(batch.counts).toEqual({ rl: 6, ce: 0, refKl: 0 });
  });

  test("no samples give no batch; numbers out of range are refused", async () => {
    expect(await new SampleSet().pack({})).toEqual([]);
    const set = new SampleSet();
    const values = { advantage: 1, temperature: 1, envId: 0 };
    const samples = rollout(trace(1, 1));
    expect(() => set.add(samples, { ...values, advantage: Number.NaN })).toThrow(inputError("advantage is NaN"));
    expect(() => set.add(samples, { ...values, temperature: Infinity })).toThrow(inputError("temperature is Infinity"));
    expect(() => set.add(samples, { ...values, envId: 65536 })).toThrow(inputError("envId is 65536"));
    const streams = { ceWeights: new Float32Array(4) };
    expect(() => set.add(samples, values, undefined, streams)).toThrow(inputError("streams are those of one trace"));
  });
});

describe("batch files", () => {
  test("are written from native memory and read in place, without reading the file again", async () => {
    const path = join(dir, "batch.safetensors");
    const batch = await packed();
    const columns = batch.columns();
    const digest = await writeBatch(path, batch, key);
    expect(await writeBatch(join(dir, "same.safetensors"), columns, key)).toBe(digest);
    const bytes = await readFile(path);
    expect(await readFile(join(dir, "same.safetensors"))).toEqual(bytes);
    const read = await readBatch(path);
    expect(read).toEqual({ batch: columns, key });
    read.batch.inputIds.fill(7);
    read.batch.lossMask.fill(0);
    expect(await readFile(path)).toEqual(bytes);
    await rm(path);
    expect([...read.batch.advantages]).toEqual([...columns.advantages]);
    expect(read.batch.inputIds[0]).toBe(7);
  });

  test("a closed batch has nothing to give", async () => {
    const batch = await packed();
    const written = writeBatch(join(dir, "closing.safetensors"), batch, key);
    batch.close();
    await written;
    expect(() => batch.columns()).toThrow(inputError("the batch is closed"));
    await expect(writeBatch(join(dir, "closed.safetensors"), batch, key)).rejects.toThrow(inputError("is closed"));
  });
});
