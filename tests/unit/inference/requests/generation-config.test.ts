/** The sampling defaults of generation_config.json: where they come from, and which requests they hold for. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { samplingDefaults } from "../../../../ts/inference/generation-config.ts";
import { chatSchema, completionSchema, toGenerate } from "../../../../ts/inference/openai/request.ts";
import { parseGenerateRequest, type RequestLimits } from "../../../../ts/inference/requests/request.ts";

const FILE = { temperature: 0.6, top_p: 0.95, top_k: 20, do_sample: true, eos_token_id: [3, 4], max_new_tokens: 6 };

let modelDir: string;
let other: string;
let none: string;

beforeAll(async () => {
  [modelDir, other, none] = (await Promise.all(
    ["model", "other", "none"].map((name) => mkdtemp(join(tmpdir(), `prl-generation-${name}-`))),
  )) as [string, string, string];
  await writeFile(join(modelDir, "generation_config.json"), JSON.stringify(FILE));
  await writeFile(join(other, "generation_config.json"), JSON.stringify({ temperature: 0.3, min_p: null }));
});

afterAll(async () => {
  for (const dir of [modelDir, other, none]) await rm(dir, { recursive: true, force: true });
});

const MODEL = { temperature: 0.6, top_p: 0.95, top_k: 20, max_new_tokens: 6 };

describe("sampling defaults", () => {
  const of = (source: string, overrides = {}, dir = modelDir) => samplingDefaults({ modelDir: dir, source, overrides });

  it("are those of the model, of another folder, or none, with what goes before them", async () => {
    expect(await of("auto")).toEqual(MODEL);
    expect(await of("vllm")).toEqual({});
    expect(await of(other)).toEqual({ temperature: 0.3, min_p: null });
    expect(await of("auto", { top_k: -1, repetition_penalty: 1.1 })).toEqual({
      ...MODEL,
      top_k: -1,
      repetition_penalty: 1.1,
    });
    expect(await of("vllm", { min_p: 0.1 })).toEqual({ min_p: 0.1 });
    expect(await of("auto", {}, none)).toEqual({});
  });

  it("are refused by name where they are absurd, unknown, or not there", async () => {
    await expect(of(none)).rejects.toMatchObject({ code: "PRL_CONFIG_FILE", message: expect.stringContaining(none) });
    const invalid = (part: string) => ({ code: "PRL_CONFIG_INVALID", message: expect.stringContaining(part) });
    await expect(of("auto", { temperature: -1 })).rejects.toMatchObject(invalid("temperature"));
    await expect(of("auto", { top_p: 0 })).rejects.toMatchObject(invalid("top_p"));
    await expect(of("auto", { num_beams: 4 })).rejects.toMatchObject(invalid("num_beams"));
    await writeFile(join(none, "generation_config.json"), '{"top_k": "many"}');
    await expect(of("auto", {}, none)).rejects.toMatchObject({
      code: "PRL_CONFIG_FILE",
      message: expect.stringMatching(/generation_config\.json.*top_k/su),
    });
    await writeFile(join(none, "generation_config.json"), "{");
    await expect(of("auto", {}, none)).rejects.toMatchObject({ code: "PRL_CONFIG_FILE" });
  });
});

describe("requests", () => {
  const limits: RequestLimits = {
    vocabSize: 100,
    maxModelLen: 64,
    servedModelNames: [],
    returnsRoutedExperts: false,
    adapters: new Set(),
    samplingDefaults: { ...MODEL, min_p: 0.1, repetition_penalty: 1.2 },
  };
  const USED = { temperature: 0.6, topP: 0.95, topK: 20, minP: 0.1, repetitionPenalty: 1.2 };
  const chat = (more: object) =>
    toGenerate(chatSchema.parse({ messages: [{ role: "user" }], ...more }), Uint32Array.of(1), [], limits)[0];
  const text = (more: object) =>
    toGenerate(completionSchema.parse({ prompt: "a", ...more }), Uint32Array.of(1), [], limits)[0];

  it("of the text endpoints get the defaults for what they leave out", () => {
    expect(chat({})).toMatchObject({ ...USED, maxTokens: 6 });
    expect(text({ temperature: null })).toMatchObject({ ...USED, maxTokens: 6 });
    const own = { temperature: 0, top_p: 0.5, top_k: -1, min_p: 0, repetition_penalty: 1 };
    const values = { temperature: 0, topP: 0.5, topK: -1, minP: 0, repetitionPenalty: 1 };
    expect(chat({ ...own, max_tokens: 3 })).toMatchObject({ ...values, maxTokens: 3 });
    expect(text({ ...own, max_tokens: 9 })).toMatchObject({ ...values, maxTokens: 6 });
  });

  it("of the generate endpoint, which training uses, get none", () => {
    const plain = { temperature: 1, topP: 1, topK: -1, minP: 0, repetitionPenalty: 1, maxTokens: 63 };
    expect(parseGenerateRequest({ token_ids: [1], sampling_params: {} }, limits)).toMatchObject(plain);
  });
});
