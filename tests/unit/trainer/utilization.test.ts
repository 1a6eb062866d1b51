/** Speeds of a step on GPUs; the operations are counted from the shape once more here. */
import { expect, test } from "vitest";

import { DEVICES, reportedDevice } from "../../../ts/models/index.ts";
import { acceleratorsOf, stepSpeeds } from "../../../ts/trainer/utilization.ts";

const CONFIG = {
  model_type: "llama",
  hidden_size: 8,
  intermediate_size: 16,
  num_hidden_layers: 2,
  num_attention_heads: 2,
  num_key_value_heads: 1,
  head_dim: 4,
  vocab_size: 32,
  tie_word_embeddings: true,
};
/** Sequences of 3 and 5 tokens, of which 2 and 3 train. */
const BATCH = {
  inputIds: new Uint32Array(8),
  cuSeqlens: Uint32Array.from([0, 3, 8]),
  lossMask: Uint8Array.from([0, 1, 1, 0, 0, 1, 1, 0]),
  ceWeights: Float32Array.from([0, 0, 0, 0, 0, 0, 0, 0.5]),
};
/** q and o 8 x 8, k and v 8 x 4, three of 8 x 16, two norms of 8. */
const LAYER = 64 + 64 + 32 + 32 + 3 * 128 + 16;

test("all weights: 6 for each parameter of the layers, 6 layers q for each pair of tokens, 6 E for each token that trains", async () => {
  const gpus = await acceleratorsOf({ name: "NVIDIA H100 80GB HBM3", count: 2 }, CONFIG, null);
  const operations = 8 * 6 * 2 * LAYER + 6 * 2 * 8 * (9 + 25) + 6 * 32 * 8 * 5;
  const speeds = stepSpeeds(gpus, [BATCH], 0.5);
  expect(speeds["perf/throughput_per_gpu"]).toBe(8);
  expect(speeds["perf/mfu"]).toBeCloseTo(operations / 0.5 / (2 * 989e12), 25);
});

test("an adapter: frozen matrices need 4, its own numbers 6", async () => {
  const adapter = { rank: 2, targets: ["q_proj"] };
  const gpus = await acceleratorsOf({ name: "NVIDIA H200", count: 1 }, CONFIG, adapter);
  const operations = 8 * (4 * 2 * LAYER + 6 * 2 * 2 * (8 + 8)) + 6 * 2 * 8 * (9 + 25) + 4 * 32 * 8 * 5;
  expect(stepSpeeds(gpus, [BATCH], 1)["perf/mfu"]).toBeCloseTo(operations / 989e12, 25);
});

test("two ranks' batches count together", async () => {
  const gpus = await acceleratorsOf({ name: "NVIDIA L40S", count: 2 }, CONFIG, null);
  const [one, two] = [stepSpeeds(gpus, [BATCH], 1), stepSpeeds(gpus, [BATCH, BATCH], 2)];
  expect(two).toEqual(one);
});

test("an unknown GPU, and a model of unknown sizes, have no share; a processor has nothing", async () => {
  const unknown = await acceleratorsOf({ name: "NVIDIA H100 PCIe", count: 1 }, CONFIG, null);
  expect(Object.keys(stepSpeeds(unknown, [BATCH], 1))).toEqual(["perf/throughput_per_gpu"]);
  const strange = await acceleratorsOf({ name: "NVIDIA H200", count: 1 }, { model_type: "other" }, null);
  expect(Object.keys(stepSpeeds(strange, [BATCH], 1))).toEqual(["perf/throughput_per_gpu"]);
  expect(stepSpeeds(null, [BATCH], 1)).toEqual({});
});

test("every device is found by its own name", () => {
  for (const device of DEVICES) expect(reportedDevice(device.reported)).toBe(device);
});
