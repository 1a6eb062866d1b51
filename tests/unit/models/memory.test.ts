/** The memory formula against the memory of this process, for a small model. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type ModelInfo, modelInfo } from "../../../ts/models/index.ts";
import { adapterMemory, servingMemory, trainingMemory } from "../../../ts/models/memory.ts";
import { countParameters } from "../../../ts/models/sizes/parameters.ts";
import type { ModelShape } from "../../../ts/models/sizes/shape.ts";
import { loadModel, openTrainer, type TrainerOptions } from "../../../ts/native/index.ts";
import { writeModel } from "./tiny-model.ts";

/** About 10 million parameters: many times what else moves in this process. */
const SHAPE = { hidden_size: 320, intermediate_size: 1280, num_hidden_layers: 6, head_dim: 64, vocab_size: 4096 };
const ROWS = 48;

let root: string;
let dir: string;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "prl-memory-"));
  dir = await writeModel(root, SHAPE);
});
afterAll(() => rmSync(root, { recursive: true }));

function resident(): number {
  return 1024 * Number(/^VmRSS:\s+(\d+) kB$/mu.exec(readFileSync("/proc/self/status", "utf8"))?.[1]);
}

/** What `work` adds to the process while it holds its result. */
async function added(work: () => Promise<{ close(): Promise<void> }>): Promise<number> {
  const before = resident();
  const held = await work();
  const bytes = resident() - before;
  await held.close();
  return bytes;
}

async function trained(options: Pick<TrainerOptions, "lora"> = {}) {
  const trainer = await openTrainer(dir, { threads: 2, dtype: "auto", loss: { type: "ce" }, ...options });
  await trainer.forwardBackward({
    inputIds: new Uint32Array(ROWS).map((_, i) => 97 + (i % 26)),
    inferenceLogprobs: new Float32Array(ROWS),
    advantages: new Float32Array(ROWS).fill(1),
    temperatures: new Float32Array(ROWS).fill(1),
    lossMask: new Uint8Array(ROWS).fill(1, 1),
    cuSeqlens: Uint32Array.of(0, ROWS),
  });
  await trainer.step({});
  return trainer;
}

test("of bfloat16: the packed weights take half", async () => {
  const [single, half] = [await ofRows(), await modelInfo(dir, { batch: 1, seqLen: ROWS, dtype: "bfloat16" })];
  expect(half.serving?.weights).toBe((single.serving?.weights ?? 0) / 2);
  const kept = 4 * (single.parameters ?? 0);
  expect(half.training?.weights).toBe(kept + ((single.training?.weights ?? 0) - kept) / 2);
  expect(half.training?.optimizer).toBe(single.training?.optimizer);
});

test("of moments in bfloat16: half of those in float32, of all weights and of an adapter", () => {
  const shape = { ...SHAPE, num_attention_heads: 4 };
  const workload = { batch: 1, seqLen: ROWS, dtype: "float32" } as const;
  const half = { ...workload, stateDtype: "bfloat16" } as const;
  const differences = [
    [trainingMemory(shape, 1e7, workload), trainingMemory(shape, 1e7, half)],
    [adapterMemory(shape, 1e7, { ...workload, rank: 8 }), adapterMemory(shape, 1e7, { ...half, rank: 8 })],
  ] as const;
  for (const [single, halved] of differences) {
    expect(halved.optimizer).toBe(single.optimizer / 2);
    expect(single.total - halved.total).toBe(halved.optimizer);
  }
  expect(differences[0][0].optimizer).toBe(2 * 4 * 1e7);
});

test("of projections in int8: a byte each, and a scale of two bytes for 64", async () => {
  const [plain, int8] = [await ofRows(), await modelInfo(dir, { batch: 1, seqLen: ROWS, baseDtype: "int8" })];
  const embedding = SHAPE.vocab_size * SHAPE.hidden_size;
  // The head is tied: both are arrays of a server.
  const projections = (plain.parameters ?? 0) - embedding;
  expect(plain.serving?.weights).toBe(4 * (projections + 2 * embedding));
  expect(int8.serving?.weights).toBe((1 + 2 / 64) * projections + 4 * 2 * embedding);
  const saved = (4 - 1 - 2 / 64) * projections;
  expect((plain.adapter?.weights ?? 0) - (int8.adapter?.weights ?? 0)).toBe(2 * saved);
  expect(int8.training).toEqual(plain.training);
});

test("of experts: a row keeps those that it uses", () => {
  const config = { ...SHAPE, num_attention_heads: 4, num_experts: 64 };
  const shape = { ...config, num_experts_per_tok: 4, moe_intermediate_size: 960 };
  const workload = { batch: 1, seqLen: 16, dtype: "float32" } as const;
  const dense = trainingMemory({ ...SHAPE, num_attention_heads: 4 }, 1e7, workload).activations;
  const sparse = trainingMemory(shape, 1e7, workload).activations;
  const wider = 2 * 4 * 960 + 64 + 4 * 4 - 2 * SHAPE.intermediate_size;
  expect(sparse - dense).toBe(4 * 16 * wider * (SHAPE.num_hidden_layers + 1));
});

test("of an adapter: six copies of its matrices beside the packed weights", () => {
  const shape = { ...SHAPE, num_attention_heads: 4, num_key_value_heads: 2, tie_word_embeddings: true };
  const workload = { batch: 1, seqLen: 16, dtype: "bfloat16" } as const;
  const [small, large] = [1, 2].map((rank) => adapterMemory(shape, 1e7, { ...workload, rank }));
  const [hidden, q, k, width] = [SHAPE.hidden_size, 256, 128, SHAPE.intermediate_size];
  const inputs = 3 * hidden + q + 2 * hidden + width;
  const outputs = q + 2 * k + hidden + 2 * width + hidden;
  expect((large?.total ?? 0) - (small?.total ?? 0)).toBe(6 * 4 * SHAPE.num_hidden_layers * (inputs + outputs));
  expect(small?.activations).toBe(trainingMemory(shape, 1e7, workload).activations);
});

test("of a model while it is loaded: the numbers of one part beside what is packed", () => {
  const served = (change: Partial<ModelShape>) => {
    const shape = { ...SHAPE, num_attention_heads: 4, tie_word_embeddings: true, ...change };
    const { total, layer } = countParameters(shape);
    return { ...servingMemory(shape, total, { batch: 1, seqLen: 16, dtype: "bfloat16" }), layer };
  };
  const tied = served({});
  expect(tied.loading).toBe(tied.weights + 4 * tied.layer);
  const untied = served({ tie_word_embeddings: false, vocab_size: 32_768 });
  expect(untied.loading).toBe(untied.weights + 4 * 32_768 * SHAPE.hidden_size);
  // Of a large vocabulary the embedding takes more while it is packed than all that is kept.
  const wide = served({ vocab_size: 200_000, num_hidden_layers: 1 });
  expect(wide.loading).toBe((4 + 2 + 2) * 200_000 * SHAPE.hidden_size);
});

const ofRows = (): Promise<ModelInfo> => modelInfo(dir, { batch: 1, seqLen: ROWS });

describe.runIf(process.platform === "linux").each(["float32", "bfloat16"])("with weights in %s", (dtype) => {
  beforeAll(() => {
    const path = join(dir, "config.json");
    const config = JSON.parse(readFileSync(path, "utf8")) as object;
    writeFileSync(path, JSON.stringify({ ...config, dtype }));
  });

  test("of a trainer: weights, gradients and moments", async () => {
    const { training, parameters } = await ofRows();
    expect(parameters).toBeGreaterThan(9e6);
    const measured = await added(trained);
    expect(measured / (training?.total ?? 0), `${measured} bytes`).toBeGreaterThan(0.75);
    expect(measured / (training?.total ?? 0), `${measured} bytes`).toBeLessThan(1.5);
  });

  test("of a trainer of an adapter", async () => {
    const { training, adapter } = await ofRows();
    expect(adapter?.total).toBeLessThan((training?.total ?? 0) / 2);
    const measured = await added(() => trained({ lora: { rank: 16 } }));
    expect(measured / (adapter?.total ?? 0), `${measured} bytes`).toBeGreaterThan(0.6);
    expect(measured / (adapter?.total ?? 0), `${measured} bytes`).toBeLessThan(1.8);
  });

  test("of a server on the weights of a trainer: no weights, and none are left when both are closed", async () => {
    const { serving } = await ofRows();
    const weights = serving?.weights ?? 0;
    const beside = { threads: 2, maxNumSeqs: 1, maxModelLen: ROWS };
    await (await trained({ lora: { rank: 16 } })).close();
    const before = resident();
    // What the tests themselves hold may change by as much as half of the weights in one round; weights that are left behind are there in all.
    const left: number[] = [];
    for (let round = 0; round < 3; round++) {
      const trainer = await trained({ lora: { rank: 16 } });
      const server = await loadModel(dir, { ...beside, weightsOf: trainer });
      const more = await added(() => loadModel(dir, { ...beside, weightsOf: trainer }));
      expect(more, `${more} bytes`).toBeLessThan(0.5 * weights);
      await trainer.close();
      await server.close();
      left.push(resident() - before);
    }
    expect(Math.min(...left), `${left.join(", ")} bytes`).toBeLessThan(0.5 * weights);
  });

  test("of a server: weights", async () => {
    const { serving } = await ofRows();
    const measured = await added(() => loadModel(dir, { threads: 2, maxNumSeqs: 1, maxModelLen: ROWS }));
    expect(measured / (serving?.total ?? 0), `${measured} bytes`).toBeGreaterThan(0.6);
    expect(measured / (serving?.total ?? 0), `${measured} bytes`).toBeLessThan(2.5);
  });
});
