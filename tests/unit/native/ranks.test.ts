/** A batch packed for several ranks: the gradients of the ranks add up to those of one, under every way of dividing. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { buildBatch, openTrainer, packSequences, type Batch, type Sample } from "../../../ts/native/index.ts";
import { publishVersion } from "../../integration/inference/tiny-model.ts";

let root: string;
let modelDir: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-ranks-"));
  ({ dir: modelDir } = await publishVersion(root, 0));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Lengths that no two ranks can share evenly. */
const LENGTHS = [12, 5, 7, 4, 9];
const samples = LENGTHS.map((length, i): Sample => {
  const sampled = (value: (t: number) => number) =>
    Float32Array.from({ length }, (_, t) => (t < 2 ? 0 : value(t + 10 * i)));
  return {
    tokenIds: Uint32Array.from({ length }, (_, t) => 97 + ((t * 7 + i) % 26)),
    mask: Uint8Array.from({ length }, (_, t) => (t < 2 ? 0 : 1)),
    logprobs: sampled((t) => -5.5 + 0.1 * Math.sin(t)),
    advantages: sampled((t) => Math.cos(t)),
    temperature: 1,
    envId: 0,
    policyVersionSpans: Uint32Array.of(0, 0xffffffff, 2, 0),
  };
});

function packed(ranks: number): Batch[] {
  return buildBatch(samples, packSequences(LENGTHS, { seqLen: 16, ranks }), { seqLen: 16, ranks });
}

async function gradients(batch: Batch, loss: { type: string }) {
  const trainer = await openTrainer(modelDir, { threads: 1, loss });
  try {
    const { loss: value } = await trainer.forwardBackward(batch);
    const all = await Promise.all(trainer.parameterNames().map((name) => trainer.gradient(name)));
    return { value, all: all.flatMap((gradient) => [...gradient]) };
  } finally {
    await trainer.close();
  }
}

test.each([
  { type: "default" },
  { type: "grpo" },
  { type: "gspo" },
  { type: "dapo" },
  { type: "dr_grpo", max_completion_length: 16 },
  { type: "ppo", aggregation: "sequence-mean-token-mean/nonempty" },
])("$type: three ranks are one", async (loss) => {
  const [whole] = packed(1);
  const parts = packed(3);
  if (whole === undefined) throw new Error("no batch");
  expect(parts.map(({ rlSequences }) => rlSequences)).toEqual([5, 5, 5]);
  const expected = await gradients(whole, loss);
  const found = await Promise.all(parts.map((part) => gradients(part, loss)));
  expect(found.reduce((sum, { value }) => sum + value, 0)).toBeCloseTo(expected.value, 5);
  const largest = expected.all.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  expect(largest).toBeGreaterThan(0);
  const differences = expected.all.map((value, i) =>
    Math.abs(value - found.reduce((sum, { all }) => sum + (all[i] ?? 0), 0)),
  );
  expect(differences.reduce((most, value) => Math.max(most, value), 0)).toBeLessThan(1e-5 * largest);
});
