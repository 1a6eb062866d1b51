/** A model on the frozen weights of a trainer: the numbers of one that loaded them, its life, and what is refused. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { loadModel, openTrainer, type LoadModelOptions, type Model, type Trainer } from "../../../ts/native/index.ts";
import { publishVersion } from "../../integration/inference/tiny-model.ts";

let root: string;
let dir: string;
let other: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "prl-weights-of-"));
  ({ dir } = await publishVersion(root, 0));
  ({ dir: other } = await publishVersion(root, 1));
});
afterAll(() => rm(root, { recursive: true }));

const opened: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

const TOKENS = Uint32Array.from({ length: 24 }, (_, t) => (t * 7) % 250);

async function trainerOf(options: Parameters<typeof openTrainer>[1] = { lora: { rank: 4 } }): Promise<Trainer> {
  const trainer = await openTrainer(dir, { threads: 1, loss: { type: "ce" }, ...options });
  opened.push(trainer);
  return trainer;
}

async function modelOf(options: LoadModelOptions): Promise<Model> {
  const model = await loadModel(dir, { threads: 1, maxNumSeqs: 2, ...options });
  opened.push(model);
  return model;
}

async function step(trainer: Trainer): Promise<void> {
  const zeros = new Float32Array(TOKENS.length);
  await trainer.forwardBackward({
    inputIds: TOKENS,
    inferenceLogprobs: zeros,
    advantages: zeros,
    temperatures: zeros.map(() => 1),
    lossMask: Uint8Array.from(TOKENS, (_, t) => (t === 0 ? 0 : 1)),
    cuSeqlens: Uint32Array.of(0, TOKENS.length),
  });
  await trainer.step({ lr: 0.05 });
}

async function sampled(model: Model): Promise<{ tokenIds: number[]; logprobs: number[] }> {
  const found = { tokenIds: [] as number[], logprobs: [] as number[] };
  const request = { id: "a", promptTokenIds: TOKENS, maxTokens: 8, ignoreEos: true, seed: 3 };
  for await (const { tokenIds, logprobs, error } of model.generate([request])) {
    if (error !== undefined) throw error;
    found.tokenIds.push(...tokenIds);
    found.logprobs.push(...logprobs);
  }
  return found;
}

const scored = async (model: Pick<Model, "logprobs">) => [
  ...(await model.logprobs(TOKENS, Uint32Array.of(0, TOKENS.length))),
];

describe.each([{ dtype: "float32" }, { dtype: "bfloat16" }, { dtype: "bfloat16", baseDtype: "int8" }] as const)(
  "a model on the weights of a trainer, %o",
  (format) => {
    test("samples and scores as a loaded one does, also with each new adapter, and goes on when the trainer is closed", async () => {
      const trainer = await trainerOf({ ...format, lora: { rank: 4 } });
      const shared = await modelOf({ weightsOf: trainer });
      const loaded = await modelOf(format);
      expect(shared).toMatchObject({ dtype: format.dtype, isa: trainer.isa });
      const before = await sampled(loaded);
      expect(before.tokenIds).toHaveLength(8);
      expect(await sampled(shared)).toEqual(before);

      await step(trainer);
      const adapter = await mkdtemp(join(root, "adapter-"));
      await trainer.save(adapter);
      expect(await sampled(shared)).toEqual(before);
      for (const model of [shared, loaded]) await model.swapWeights(adapter, { version: 1 });
      const after = await scored(trainer);
      expect(after).not.toEqual(await scored(await modelOf(format)));
      expect(await scored(shared)).toEqual(after);
      expect(await sampled(shared)).toEqual(await sampled(loaded));

      await trainer.close();
      expect(await scored(shared)).toEqual(after);
      // All weights of another version are loaded, and the frozen ones are left alone.
      await shared.swapWeights(other, { version: 2 });
      expect(await scored(shared)).not.toEqual(after);
    });
  },
);

test("an adapter of the options is the model's", async () => {
  const trainer = await trainerOf();
  await step(trainer);
  const adapter = join(root, "given");
  await trainer.save(adapter);
  expect(await scored(await modelOf({ weightsOf: trainer, adapter }))).toEqual(await scored(trainer));
});

describe("is refused with", () => {
  const refused = (options: LoadModelOptions, message: string, code = "PRL_ENGINE_INPUT") =>
    expect(modelOf(options)).rejects.toMatchObject({ code, message: expect.stringContaining(message) as string });

  test("a trainer of all weights", async () => {
    await refused({ weightsOf: await trainerOf({}) }, "changes all weights");
  });

  test("a trainer of another folder", async () => {
    const trainer = await openTrainer(other, { threads: 1, lora: { rank: 4 } });
    opened.push(trainer);
    await refused({ weightsOf: trainer }, other);
  });

  test("a trainer that is closed", async () => {
    const trainer = await trainerOf();
    await trainer.close();
    await refused({ weightsOf: trainer }, "closed", "PRL_ENGINE_CLOSED");
  });

  test("an object that openTrainer did not return", async () => {
    await refused({ weightsOf: { ...(await trainerOf()) } }, "openTrainer");
  });

  test.each([{ dtype: "auto" }, { baseDtype: "int8" }, { isa: "portable" }] as const)("%o", async (format) => {
    const [key = ""] = Object.keys(format);
    await refused({ weightsOf: await trainerOf(), ...format }, key);
  });
});
