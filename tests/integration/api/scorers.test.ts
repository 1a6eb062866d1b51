import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { embeddingScorer, rewardModelScorer } from "prl-lm/environments/verify";

import { loadOnnxRuntime } from "../../../ts/verify/scorers/onnx-runtime.ts";
import { embeddingModel, rewardModel, strangeModel } from "../../support/models/onnx-file.ts";
import { REVERSE_TEXT_MODEL } from "../../unit/environments/builtin/reverse-text-model.ts";

/** The tokenizer has one id per byte: `a` is 97. */
const VOCABULARY = 260;
const table = (row: (id: number) => number[]): number[][] => Array.from({ length: VOCABULARY }, (_, id) => row(id));
const isOneOf = (letters: string) => (id: number) => letters.includes(String.fromCharCode(id));

let dir: string;
const at = (name: string): string => join(dir, name);
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-onnx-"));
  const [x, y] = [isOneOf("ab"), isOneOf("bc")];
  await writeFile(
    at("embedding.onnx"),
    embeddingModel(table((id) => [Number(x(id)), Number(y(id)), id === 256 ? 100 : 0])),
  );
  await writeFile(at("reward.onnx"), rewardModel(table((id) => [x(id) ? 1 : -0.5])));
  await writeFile(at("two.onnx"), rewardModel(table((id) => [x(id) ? 1 : 0, 2])));
  await writeFile(at("strange.onnx"), strangeModel());
  await writeFile(at("broken.onnx"), "no model");
});
afterAll(() => rm(dir, { recursive: true, force: true }));

describe("embeddingScorer", () => {
  test("takes the mean over the tokens, padding left out, and the cosine", async () => {
    const scorer = await embeddingScorer({ model: at("embedding.onnx"), tokenizer: REVERSE_TEXT_MODEL, batchSize: 3 });
    try {
      // a -> (1, 0), b -> (1, 1), c -> (0, 1).
      expect(await scorer.similarity("a", "aaaa")).toBeCloseTo(1, 6);
      expect(await scorer.similarity("a", "c")).toBeCloseTo(0, 6);
      expect(await scorer.similarity("a", "bbb")).toBeCloseTo(Math.SQRT1_2, 6);
      expect(await scorer.similarity("ac", "b")).toBeCloseTo(1, 6);
      expect(await scorer.similarity("z", "a")).toBe(0);
      const vectors = await scorer.embed(["a", "cccccccc", "ab", "b", ""]);
      expect(vectors).toHaveLength(5);
      expect([...(vectors[2] ?? [])].map((value) => value.toFixed(4))).toEqual(["0.8944", "0.4472", "0.0000"]);
    } finally {
      await scorer.close();
    }
    await expect(scorer.similarity("a", "b")).rejects.toThrow(expect.objectContaining({ code: "PRL_VERIFY_FAILED" }));
  });

  test("pools by the first or last token, and truncates long texts", async () => {
    const options = { model: at("embedding.onnx"), tokenizer: REVERSE_TEXT_MODEL };
    const [first, last, short] = await Promise.all([
      embeddingScorer({ ...options, pooling: "first" }),
      embeddingScorer({ ...options, pooling: "last" }),
      embeddingScorer({ ...options, maxTokens: 1 }),
    ]);
    try {
      expect(await first.similarity("ac", "a")).toBeCloseTo(1, 6);
      expect(await last.similarity("ac", "c")).toBeCloseTo(1, 6);
      expect(await short.similarity("accc", "a")).toBeCloseTo(1, 6);
    } finally {
      await Promise.all([first.close(), last.close(), short.close()]);
    }
  });
});

describe("rewardModelScorer", () => {
  test("gives the model's number for texts and conversations", async () => {
    const scorer = await rewardModelScorer({ model: at("reward.onnx"), tokenizer: REVERSE_TEXT_MODEL });
    try {
      expect(await scorer.score("aab")).toBe(3);
      expect(await scorer.scoreAll(["a", "abz", "zz"])).toEqual([1, 1.5, -1]);
      const conversation = [{ role: "user", content: "a" }] as const;
      expect(await scorer.score(conversation)).toBe(await scorer.score("user: a"));
    } finally {
      await scorer.close();
    }
  });

  test("has labels and activations", async () => {
    const options = { model: at("two.onnx"), tokenizer: REVERSE_TEXT_MODEL };
    const plain = await rewardModelScorer(options);
    const softmax = await rewardModelScorer({ ...options, label: 1, activation: "softmax" });
    const sigmoid = await rewardModelScorer({ ...options, label: 0, activation: "sigmoid" });
    try {
      await expect(plain.score("a")).rejects.toThrow(/2 outputs; choose a label/u);
      expect(await softmax.score("a")).toBeCloseTo(1 / (1 + Math.exp(-1)), 6);
      expect(await sigmoid.score("aa")).toBeCloseTo(1 / (1 + Math.exp(-2)), 6);
    } finally {
      await Promise.all([plain.close(), softmax.close(), sigmoid.close()]);
    }
  });
});

describe("a scorer is refused", () => {
  test.each([
    ["none.onnx", "PRL_IO", "none.onnx"],
    ["broken.onnx", "PRL_VERIFY_OPTIONS", "cannot be used"],
    ["strange.onnx", "PRL_VERIFY_OPTIONS", "the inputs pixels"],
  ])("%s: %s", async (file, code, message) => {
    const opened = embeddingScorer({ model: at(file), tokenizer: REVERSE_TEXT_MODEL });
    await expect(opened).rejects.toThrow(expect.objectContaining({ code, message: expect.stringContaining(message) }));
  });

  test("for invalid options, and when the package is missing", async () => {
    const options = { model: at("reward.onnx"), tokenizer: REVERSE_TEXT_MODEL };
    await expect(rewardModelScorer({ ...options, batchSize: 0 })).rejects.toThrow(/batchSize/u);
    await expect(rewardModelScorer({ ...options, deadlineMs: 0 })).rejects.toThrow(/deadlineMs/u);
    expect(await loadOnnxRuntime("prl-no-such-package")).toBeNull();
    expect(await loadOnnxRuntime()).not.toBeNull();
  });
});
