/** A custom loss in the trainer, against the engine's own. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  buildBatch,
  openTrainer,
  policyLoss,
  type CustomLoss,
  type Sample,
  type TrainerOptions,
} from "../../../ts/native/index.ts";
import { publishVersion } from "../../integration/inference/tiny-model.ts";

let root: string;
let modelDir: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-own-loss-"));
  ({ dir: modelDir } = await publishVersion(root, 0));
});
afterAll(() => rm(root, { recursive: true, force: true }));

/** Three bins of one sequence each. */
const samples = [5, 7, 6].map((length, i): Sample => {
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
const [first] = buildBatch(samples, [Uint32Array.of(0), Uint32Array.of(1), Uint32Array.of(2)], { seqLen: 8 });
if (first === undefined) throw new Error("no batch");
const batch = first;

async function gradients(options: TrainerOptions) {
  const trainer = await openTrainer(modelDir, { threads: 1, ...options });
  try {
    const { loss, metrics } = await trainer.forwardBackward(batch);
    const names = trainer.parameterNames();
    return { loss, metrics, gradients: await Promise.all(names.map((name) => trainer.gradient(name))) };
  } finally {
    await trainer.close();
  }
}

/** prl's default loss, written out. */
const defaultLoss: CustomLoss = ({ logprobs, inferenceLogprobs, advantages, mask, counts }) => {
  const gradLogprobs = new Float32Array(logprobs.length);
  let loss = 0;
  let masked = 0;
  mask.forEach((on, t) => {
    if (on === 0) return;
    const [logprob, sampled, advantage] = [logprobs[t] ?? 0, inferenceLogprobs[t] ?? 0, advantages[t] ?? 0];
    const log = logprob - sampled;
    const rise = Math.exp(logprob) - Math.exp(sampled);
    const dropped = advantage > 0 ? rise > 0.2 : rise < -0.2;
    if (dropped) masked += 1;
    const policy = dropped ? 0 : -advantage * Math.exp(log);
    loss += (policy + 1e-3 * log ** 2) / counts.rl;
    gradLogprobs[t] = (policy + 2e-3 * log) / counts.rl;
  });
  return { loss, gradLogprobs, metrics: { is_masked: masked / mask.reduce((sum, on) => sum + on, 0) } };
};

describe("a custom loss", () => {
  test.each(["keep", "recompute"] as const)(
    "written in TypeScript has the gradients of the engine's (%s)",
    async (activations) => {
      const expected = await gradients({ activations });
      const found = await gradients({ loss: defaultLoss, activations });
      expect(found.loss).toBeCloseTo(expected.loss, 6);
      expect(found.metrics["is_masked"]).toBe(expected.metrics["is_masked"]);
      for (const [i, gradient] of expected.gradients.entries()) {
        const largest = gradient.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
        const difference = gradient.reduce(
          (most, value, k) => Math.max(most, Math.abs(value - (found.gradients[i]?.[k] ?? 0))),
          0,
        );
        expect(difference).toBeLessThanOrEqual(1e-5 * largest);
      }
    },
  );

  test.each(["default", "grpo", "gspo"])(
    "%s through policyLoss has the same bits, means over sequences included",
    async (type) => {
      const seen: unknown[] = [];
      const own: CustomLoss = (inputs) => {
        seen.push(inputs.counts);
        return policyLoss(type, inputs);
      };
      const found = await gradients({ loss: own });
      expect(found).toEqual(await gradients({ loss: { type } }));
      expect(seen).toEqual(Array.from({ length: 3 }, () => ({ rl: 12, ce: 0, refKl: 0, sequences: 3 })));
    },
  );

  const wrong: [string, (...args: Parameters<CustomLoss>) => unknown, string, string][] = [
    [
      "too short",
      ({ logprobs }) => ({ loss: 0, gradLogprobs: logprobs.slice(1) }),
      "PRL_LOSS_INPUT",
      "4 entries for 5 tokens",
    ],
    ["an array", () => ({ loss: 0, gradLogprobs: [0] }), "PRL_LOSS_INPUT", "no Float32Array"],
    ["nothing", () => undefined, "PRL_LOSS_INPUT", "returned undefined"],
    ["a promise", async () => ({ loss: 0 }), "PRL_LOSS_INPUT", "returned a promise"],
    [
      "beside the mask",
      ({ mask }) => ({ loss: 0, gradLogprobs: Float32Array.from(mask, (on) => 1 - on) }),
      "PRL_LOSS_INPUT",
      "does not train",
    ],
    [
      "NaN",
      ({ logprobs }) => ({ loss: Number.NaN, gradLogprobs: new Float32Array(logprobs.length) }),
      "PRL_TRAIN_NON_FINITE",
      "NaN",
    ],
    [
      "infinite",
      ({ mask }) => ({ loss: 0, gradLogprobs: Float32Array.from(mask, (on) => (on === 1 ? Infinity : 0)) }),
      "PRL_TRAIN_NON_FINITE",
      "gradient is not finite",
    ],
  ];
  test.each(wrong)("that returns a value that is %s is refused by name", async (_what, loss, code, message) => {
    const failed = gradients({ loss: loss as CustomLoss });
    await expect(failed).rejects.toMatchObject({ code, message: expect.stringContaining(message) as string });
  });

  test("that throws rejects with the exception, and the trainer continues", async () => {
    const thrown = new Error("mine");
    let isBroken = true;
    const trainer = await openTrainer(modelDir, {
      threads: 1,
      loss: (inputs) => {
        if (isBroken) throw thrown;
        return policyLoss("default", inputs);
      },
    });
    await expect(trainer.forwardBackward(batch)).rejects.toBe(thrown);
    isBroken = false;
    expect((await trainer.forwardBackward(batch)).loss).toBeTypeOf("number");
    await trainer.close();
  });
});
