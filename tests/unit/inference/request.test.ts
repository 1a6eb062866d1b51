import { describe, expect, it } from "vitest";

import { parseGenerateRequest, type RequestLimits } from "../../../ts/inference/requests/request.ts";

const LIMITS: RequestLimits = { vocabSize: 100, maxModelLen: 16, servedModelNames: [] };

const parse = (body: unknown, limits = LIMITS) => parseGenerateRequest(body, limits);
const sampling = (params: Record<string, unknown>) => parse({ token_ids: [1, 2], sampling_params: params });

describe("parseGenerateRequest", () => {
  it("fills vLLM's defaults", () => {
    expect(parse({ token_ids: [1, 2], sampling_params: {} })).toEqual({
      requestId: null,
      promptTokenIds: Uint32Array.of(1, 2),
      maxTokens: 14,
      minTokens: 0,
      temperature: 1,
      topP: 1,
      topK: -1,
      seed: null,
      stopTokenIds: [],
      stop: [],
      ignoreEos: false,
      logprobs: null,
      promptLogprobs: false,
      cacheSalt: null,
      priority: 0,
      stream: false,
      includeUsage: false,
      continuousUsage: false,
    });
  });

  it("takes every field that there is", () => {
    const parsed = parse({
      model: "m",
      token_ids: [99],
      cache_salt: "7",
      priority: -3,
      stream: true,
      stream_options: { include_usage: true, continuous_usage_stats: true },
      request_id: "r",
      features: null,
      kv_transfer_params: null,
      sampling_params: {
        max_tokens: 5,
        min_tokens: 2,
        temperature: 0,
        top_p: 0.5,
        top_k: 3,
        seed: 2 ** 53 - 1,
        n: 1,
        logprobs: 1,
        stop_token_ids: [4],
        ignore_eos: true,
        skip_special_tokens: false,
        presence_penalty: 0,
        logit_bias: {},
      },
    });
    expect(parsed).toMatchObject({
      requestId: "r",
      maxTokens: 5,
      minTokens: 2,
      temperature: 0,
      topP: 0.5,
      topK: 3,
      seed: 2 ** 53 - 1,
      stopTokenIds: [4],
      ignoreEos: true,
      logprobs: 1,
      cacheSalt: "7",
      priority: -3,
      stream: true,
      includeUsage: true,
      continuousUsage: true,
    });
  });

  it("limits max_tokens to the rest of the context", () => {
    expect(sampling({ max_tokens: 1000 }).maxTokens).toBe(14);
  });

  it("takes max_tokens 0 for scoring a prompt, which may then fill the context", () => {
    const token_ids = Array.from({ length: 16 }, () => 1);
    expect(parse({ token_ids, sampling_params: { max_tokens: 0, prompt_logprobs: 0 } }).maxTokens).toBe(0);
  });

  const prompt = { token_ids: [1, 2] };
  it.each<[unknown, string]>([
    [null, "body"],
    [[], "body"],
    [{}, "token_ids"],
    [{ token_ids: "1" }, "token_ids"],
    [{ token_ids: [] }, "token_ids"],
    [{ token_ids: [1, 100] }, "token_ids[1]"],
    [{ token_ids: [-1] }, "token_ids[0]"],
    [{ token_ids: [1.5] }, "token_ids[0]"],
    [{ token_ids: ["1"] }, "token_ids[0]"],
    [{ ...prompt, sampling_params: [] }, "sampling_params"],
    [{ ...prompt, tokens: 1 }, "tokens"],
    [{ ...prompt, model: 5 }, "model"],
    [{ ...prompt, stream: "yes" }, "stream"],
    [{ ...prompt, priority: 0.5 }, "priority"],
    [{ ...prompt, cache_salt: 5 }, "cache_salt"],
    [{ ...prompt, stream: true, sampling_params: { prompt_logprobs: 1 } }, "sampling_params.prompt_logprobs"],
  ])("refuses %j and names %s", (body, field) => {
    expect(() => parse(body)).toThrow(
      expect.objectContaining({ code: "PRL_INFERENCE_REQUEST", message: expect.stringMatching(startOf(field)) }),
    );
  });

  it.each<[Record<string, unknown>]>([
    [{ token_ids: Array.from({ length: 17 }, () => 1) }],
    [{ token_ids: Array.from({ length: 16 }, () => 1) }],
  ])("refuses a prompt that leaves no room with its own code", (body) => {
    expect(() => parse(body)).toThrow(
      expect.objectContaining({ code: "PRL_INFERENCE_CONTEXT", message: expect.stringMatching(startOf("token_ids")) }),
    );
  });

  it.each<[Record<string, unknown>]>([
    [{ max_tokens: 0 }],
    [{ max_tokens: -1 }],
    [{ max_tokens: 1.5 }],
    [{ max_tokens: "5" }],
    [{ min_tokens: -1 }],
    [{ temperature: -0.1 }],
    [{ temperature: "hot" }],
    [{ top_p: 0 }],
    [{ top_p: 1.1 }],
    [{ top_k: -2 }],
    [{ seed: -1 }],
    [{ seed: 2 ** 53 }],
    [{ stop_token_ids: 5 }],
    [{ stop: "" }],
    [{ ignore_eos: 1 }],
    [{ min_p: 0.1 }],
    [{ presence_penalty: 0.5 }],
    [{ repetition_penalty: 1.1 }],
    [{ logit_bias: { 5: 1 } }],
    [{ allowed_token_ids: [1] }],
    [{ typical_p: 0.9 }],
  ])("refuses the sampling parameter %j by its name", (params) => {
    const [name = ""] = Object.keys(params);
    expect(() => sampling(params)).toThrow(
      expect.objectContaining({
        code: "PRL_INFERENCE_REQUEST",
        message: expect.stringMatching(startOf(`sampling_params.${name}`)),
      }),
    );
  });

  it.each<[Record<string, unknown>]>([
    [{ n: 2 }],
    [{ logprobs: 5 }],
    [{ prompt_logprobs: 2 }],
    [{ stop: "x", min_tokens: 1 }],
  ])("says that %j is not there yet", (params) => {
    expect(() => sampling(params)).toThrow(expect.objectContaining({ code: "PRL_INFERENCE_UNSUPPORTED" }));
  });

  it("refuses another model than the one served, but only if it has a name", () => {
    const limits = { ...LIMITS, servedModelNames: ["a/b"] };
    expect(parse({ ...prompt, model: "a/b" }, limits).promptTokenIds).toEqual(Uint32Array.of(1, 2));
    expect(() => parse({ ...prompt, model: "other" }, limits)).toThrow(
      expect.objectContaining({ status: 404, message: expect.stringContaining('"a/b"') }),
    );
    expect(parse({ ...prompt, model: "other" }).promptTokenIds).toEqual(Uint32Array.of(1, 2));
  });
});

function startOf(field: string): RegExp {
  return new RegExp(`^${field.replaceAll(/[.[\]]/g, String.raw`\$&`)}: `);
}
