/** The memory formula against the memory of this process, for a small model. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type ModelInfo, modelInfo } from "../../../ts/models/index.ts";
import { trainingMemory } from "../../../ts/models/memory.ts";
import { loadModel, openTrainer } from "../../../ts/native/index.ts";
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

async function trained() {
  const trainer = await openTrainer(dir, { threads: 2, dtype: "auto", loss: { type: "ce" } });
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

test("of experts: a row keeps those that it uses", () => {
  const config = { ...SHAPE, num_attention_heads: 4, num_experts: 64 };
  const shape = { ...config, num_experts_per_tok: 4, moe_intermediate_size: 960 };
  const workload = { batch: 1, seqLen: 16, dtype: "float32" } as const;
  const dense = trainingMemory({ ...SHAPE, num_attention_heads: 4 }, 1e7, workload).activations;
  const sparse = trainingMemory(shape, 1e7, workload).activations;
  const wider = 2 * 4 * 960 + 64 + 4 * 4 - 2 * SHAPE.intermediate_size;
  expect(sparse - dense).toBe(4 * 16 * wider * (SHAPE.num_hidden_layers + 1));
});

const ofRows = (): Promise<ModelInfo> => modelInfo(dir, { batch: 1, seqLen: ROWS });

describe.each(["float32", "bfloat16"])("with weights in %s", (dtype) => {
  beforeAll(() => {
    const path = join(dir, "config.json");
    const config = JSON.parse(readFileSync(path, "utf8")) as object;
    writeFileSync(path, JSON.stringify({ ...config, dtype }));
  });

  test("of a trainer: weights, gradients and moments", { timeout: 120_000 }, async () => {
    const { training, parameters } = await ofRows();
    expect(parameters).toBeGreaterThan(9e6);
    const measured = await added(trained);
    expect(measured / (training?.total ?? 0), `${measured} bytes`).toBeGreaterThan(0.75);
    expect(measured / (training?.total ?? 0), `${measured} bytes`).toBeLessThan(1.5);
  });

  test("of a server: weights", { timeout: 120_000 }, async () => {
    const { serving } = await ofRows();
    const measured = await added(() => loadModel(dir, { threads: 2, maxNumSeqs: 1, maxModelLen: ROWS }));
    expect(measured / (serving?.total ?? 0), `${measured} bytes`).toBeGreaterThan(0.6);
    expect(measured / (serving?.total ?? 0), `${measured} bytes`).toBeLessThan(2.5);
  });
});
