/** The memory formula of the torch trainer against PyTorch's allocator (tests/fixtures/make/torch_memory.py). */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import type { ModelShape } from "../../../ts/models/index.ts";
import { torchMemory, type TorchWorkload } from "../../../ts/plan/torch-memory.ts";
import { QWEN3 } from "./qwen3.ts";

interface Measured {
  shape: ModelShape;
  tokens: number;
  /** Rank of the adapter; 0: none. */
  lora: number;
  ranks: number;
  /** Ranks that share matrices; unset: 1. */
  tensor?: number;
  /** Ranks that share experts; unset: 1. */
  expert?: number;
  dtype: "float32" | "bfloat16";
  recompute: boolean;
  held: number;
  peak: number;
}

const file = join(import.meta.dirname, "../../fixtures/torch-memory/measured.json");
const { cases } = JSON.parse(readFileSync(file, "utf8")) as { cases: Measured[] };

interface OnGpu {
  name: string;
  shape: ModelShape;
  tokens: number;
  lora: number;
  recompute: boolean;
  /** `torch.cuda.max_memory_allocated()` over some steps. */
  peak: number;
}

const gpuFile = join(import.meta.dirname, "../../fixtures/torch-memory/measured-gpu.json");
const { cases: onGpu } = JSON.parse(readFileSync(gpuFile, "utf8")) as { cases: OnGpu[] };

const base: TorchWorkload = {
  ranks: 1,
  replicas: 1,
  tensor: 1,
  expert: 1,
  context: 1,
  tokens: 4096,
  dtype: "bfloat16",
  recompute: false,
  optimizer: "adamw",
  stateDtype: "float32",
  adapter: null,
  hasReference: false,
  onGpu: true,
};
const memory = (change: Partial<TorchWorkload> = {}, shape: ModelShape = QWEN3["Qwen/Qwen3-4B"]) =>
  torchMemory(shape, { ...base, ...change });

describe("the torch trainer's memory", () => {
  test.each(
    cases.map((one) => [
      `${one.shape.model_type} ${one.shape.hidden_size}, vocabulary ${one.shape.vocab_size}, ${one.lora > 0 ? "adapter" : "all weights"}, ${one.ranks} ranks${one.tensor === 2 ? " with half matrices" : ""}${one.expert === 2 ? " with half of the experts" : ""}, ${one.dtype}, ${one.recompute ? "recomputed" : "kept"}`,
      one,
    ]),
  )("is within 12 percent of the allocator's, 16 where ranks share experts: %s", (_name, one) => {
    const { shape, tokens, lora, ranks, tensor = 1, expert = 1, dtype, recompute } = one;
    const adapter = lora > 0 ? { rank: lora } : null;
    const formula = memory({ tokens, ranks, tensor, expert, dtype, recompute, adapter, onGpu: false }, shape);
    const ratio = formula.total / (one.held + one.peak);
    expect(ratio).toBeGreaterThan(0.88);
    // How many rows a rank's experts get differs from run to run.
    expect(ratio).toBeLessThan(expert > 1 ? 1.16 : 1.12);
  });

  test.each(onGpu.map((one) => [one.name, one]))(
    "is within 10 percent of what torch allocated on a GPU: %s",
    (_name, one) => {
      const adapter = one.lora > 0 ? { rank: one.lora } : null;
      const { total, reserve } = memory({ tokens: one.tokens, recompute: one.recompute, adapter }, one.shape);
      expect((total - reserve) / one.peak).toBeGreaterThan(0.9);
      expect((total - reserve) / one.peak).toBeLessThan(1.1);
    },
  );

  test("is the sum of its kinds", () => {
    const { total, loading: _loading, loading_host: _host, work_of: _of, ...kinds } = memory({ ranks: 4 });
    expect(Object.values(kinds).reduce((sum, bytes) => sum + bytes, 0)).toBeCloseTo(total, 0);
  });

  test("of masters, gradients and moments is 16 bytes for each parameter, cut over the ranks", () => {
    for (const ranks of [1, 2, 8]) {
      const { masters, gradients, optimizer } = memory({ ranks });
      expect(masters + gradients + optimizer).toBe((16 * 4_022_468_096) / ranks);
    }
  });

  test("becomes smaller with recomputing, an adapter and more ranks, and larger with tokens and a reference", () => {
    const { total } = memory();
    expect(memory({ recompute: true }).total).toBeLessThan(total);
    expect(memory({ adapter: { rank: 16 } }).total).toBeLessThan(total);
    expect(memory({ ranks: 4 }).total).toBeLessThan(total);
    expect(memory({ ranks: 8, replicas: 2 }).total).toBe(memory({ ranks: 4 }).total);
    expect(memory({ optimizer: "sgd" }).total).toBeLessThan(total);
    expect(memory({ stateDtype: "bfloat16" }).optimizer).toBe(memory().optimizer / 2);
    expect(memory({ tokens: 8192 }).total).toBeGreaterThan(total);
    expect(memory({ hasReference: true }).total).toBeGreaterThan(total);
  });

  test("of logits is that of a GPU's larger chunks, whatever the format", () => {
    const [vocabulary, embedding] = [151_936, 151_936 * 2560];
    const chunks = 4 * 4 * Math.floor(2 ** 28 / vocabulary) * vocabulary;
    for (const dtype of ["float32", "bfloat16"] as const) {
      const { work, work_of: of } = memory({ dtype, recompute: true });
      expect([dtype, of, work]).toEqual([dtype, "logits", chunks + 4 * embedding]);
    }
  });

  test("of ranks that share a bin has the mask of the whole bin where attention needs one", () => {
    const masked = { dtype: "float32", ranks: 2, replicas: 2 } as const;
    const [whole, shared] = [memory(masked), memory({ ...masked, context: 2, tokens: 2048 })];
    const kept = memory({ ...masked, tokens: 2048 });
    const { num_hidden_layers: layers } = QWEN3["Qwen/Qwen3-4B"];
    expect(shared.activations - kept.activations).toBe(layers * 4 * (4096 ** 2 - 2048 ** 2));
    expect(shared.activations).toBeLessThan(whole.activations);
  });

  test("of ranks that share matrices has their part of layers and activations, and whole ends of the model", () => {
    const [cut, shared] = [memory({ ranks: 4 }), memory({ ranks: 4, tensor: 4 })];
    for (const kind of ["masters", "gradients", "optimizer"] as const) expect(shared[kind]).toBe(cut[kind]);
    expect(shared.gathered).toBeLessThan(cut.gathered);
    expect(shared.activations).toBeLessThan(0.6 * cut.activations);
    const embedding = 151_936 * 2560;
    expect(shared.gathered).toBeGreaterThan(2 * embedding);
    expect(shared.loading).toBe(cut.loading);
  });

  test("on loading is the whole model, however many ranks there are, but for the experts that they share", () => {
    const shape = QWEN3["Qwen/Qwen3-30B-A3B"];
    const [model, experts] = [30_532_122_624, 48 * 128 * 3 * 2048 * 768];
    expect(memory({ ranks: 8 }, shape).loading).toBe(4 * model + 2 ** 30);
    expect(memory({ ranks: 8 }, shape).loading_host).toBe(8 * 4 * model);
    expect(memory({ ranks: 8, expert: 8 }, shape).loading).toBe(4 * (model - (7 / 8) * experts) + 2 ** 30);
    expect(memory({ ranks: 8, expert: 8 }, shape).loading_host).toBe(8 * 4 * model);
  });

  test("on loading is a reference in f32 beside the part of the policy that a rank keeps", () => {
    const model = 4_022_468_096;
    const adapter = { rank: 16 };
    const { loading, masters } = memory({ ranks: 8, adapter });
    expect(loading).toBe(2 * model + 2 ** 30);
    const beside = memory({ ranks: 8, adapter, hasReference: true });
    expect(beside.loading).toBe(4 * model + masters + 2 ** 30);
    expect(beside.loading_host).toBe(8 * 4 * model);
    expect(memory({ ranks: 8, hasReference: true }).loading).toBe(4 * model + (4 * model) / 8 + 2 ** 30);
  });

  test("of ranks that share experts has their part of a gathered layer, and the same of what is kept of it", () => {
    const shape = QWEN3["Qwen/Qwen3-30B-A3B"];
    const [cut, shared] = [memory({ ranks: 8 }, shape), memory({ ranks: 8, expert: 8 }, shape)];
    for (const kind of ["masters", "gradients", "optimizer", "activations"] as const) {
      expect(shared[kind]).toBe(cut[kind]);
    }
    // Two layers and the gradients of one in bfloat16, and these gradients in f32.
    const layer = 128 * 3 * 2048 * 768;
    expect(cut.gathered - shared.gathered).toBe((3 * 2 + 4) * (7 / 8) * layer);
  });

  test("of ranks that share the matrices of a mixture has their part of each expert, and whole rows of the experts", () => {
    const shape = QWEN3["Qwen/Qwen3-30B-A3B"];
    const [cut, shared] = [memory({ ranks: 8 }, shape), memory({ ranks: 8, tensor: 4 }, shape)];
    for (const kind of ["masters", "gradients", "optimizer"] as const) expect(shared[kind]).toBe(cut[kind]);
    const experts = 128 * 3 * 2048 * 768;
    expect(cut.gathered - shared.gathered).toBeGreaterThan((3 * 2 + 4) * (3 / 4) * experts);
    // Three rows as wide as the hidden states for each of the 8 experts of a token, in bfloat16 and in all layers.
    const rows = 48 * 4096 * 2 * 8 * 3 * 2048;
    expect(shared.activations).toBeGreaterThan(rows);
    expect(shared.activations - rows).toBeLessThan(0.6 * (cut.activations - rows));
  });
});
