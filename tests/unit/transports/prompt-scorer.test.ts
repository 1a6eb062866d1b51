import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";

import { PromptScorer, type PromptScorerOptions } from "../../../ts/inference-client/index.ts";

interface Request {
  url: string;
  authorization: string | undefined;
  body: Record<string, unknown>;
}

const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A server that answers with what `answer` makes of each request, and a scorer of it. */
async function serving(answer: (request: Request) => [number, unknown], options: Partial<PromptScorerOptions> = {}) {
  const requests: Request[] = [];
  const server: Server = createServer((request, response) => {
    let text = "";
    request.on("data", (chunk) => (text += String(chunk)));
    request.on("end", () => {
      const body = JSON.parse(text) as Record<string, unknown>;
      const seen = { url: request.url ?? "", authorization: request.headers.authorization, body };
      requests.push(seen);
      const [status, result] = answer(seen);
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(result));
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const scorer = new PromptScorer({ url, deadlineMs: 5000, connections: 2, ...options });
  ends.push(async () => {
    await scorer.close();
    await new Promise((closed) => server.close(closed));
  });
  return { scorer, requests };
}

const ids = Uint32Array.of(5, 7, 9);
const entries = [null, { 7: { logprob: -0.5 }, 8: { logprob: -1 } }, { 9: { logprob: -2 } }];

test("generate: asks for nothing but scores, in vLLM's words", async () => {
  const { scorer, requests } = await serving(() => [200, { prompt_logprobs: entries }]);
  expect(await scorer.score(ids)).toEqual(Float32Array.of(0, -0.5, -2));
  expect(requests).toEqual([
    {
      url: "/inference/v1/generate",
      authorization: undefined,
      body: { token_ids: [5, 7, 9], sampling_params: { max_tokens: 0, temperature: 1, prompt_logprobs: 0 } },
    },
  ]);
});

test("completions: OpenAI's way, with a key and a model", async () => {
  const { scorer, requests } = await serving(() => [200, { choices: [{ prompt_logprobs: entries }] }], {
    api: "completions",
    apiKey: "secret",
    model: "m",
  });
  expect(await scorer.score(ids)).toEqual(Float32Array.of(0, -0.5, -2));
  expect(requests[0]).toEqual({
    url: "/v1/completions",
    authorization: "Bearer secret",
    body: { model: "m", prompt: [5, 7, 9], max_tokens: 0, temperature: 1, prompt_logprobs: 0 },
  });
});

test("a server that wants to sample a token gets its way, from then on at once", async () => {
  const { scorer, requests } = await serving(({ body }) => {
    const { max_tokens: most } = body["sampling_params"] as { max_tokens: number };
    return most === 0
      ? [400, { error: { message: "max_tokens must be at least 1" } }]
      : [200, { prompt_logprobs: entries }];
  });
  await scorer.score(ids);
  await scorer.score(ids);
  expect(requests.map(({ body }) => (body["sampling_params"] as { max_tokens: number }).max_tokens)).toEqual([0, 1, 1]);
});

test.each([
  ["too few entries", [null], "do not fit the prompt"],
  ["none", undefined, "do not fit the prompt"],
  ["another token's", [null, { 8: { logprob: -1 } }, null], "own token 7"],
  ["what is no number", [null, { 7: { logprob: "x" } }, null], "own token 7"],
])("%s is an answer that makes no sense", async (_what, prompt_logprobs, message) => {
  const { scorer } = await serving(() => [200, { prompt_logprobs }]);
  const expected = { code: "PRL_INFERENCE_FAILED", message: expect.stringContaining(message) as string };
  await expect(scorer.score(ids)).rejects.toMatchObject(expected);
});

test("a refusal has its name, and is not asked for ever", async () => {
  const { scorer, requests } = await serving(() => [400, { error: { message: "no such model" } }]);
  await expect(scorer.score(ids)).rejects.toMatchObject({ code: "PRL_INFERENCE_REQUEST" });
  expect(requests).toHaveLength(2);
});

test("tokenize: the ids of a text, nothing added", async () => {
  const { scorer, requests } = await serving(() => [200, { count: 2, max_model_len: 9, tokens: [5, 7] }], {
    model: "m",
  });
  expect(await scorer.tokenize("ab")).toEqual(Uint32Array.of(5, 7));
  expect(requests[0]).toMatchObject({
    url: "/tokenize",
    body: { model: "m", prompt: "ab", add_special_tokens: false },
  });
  const absent = await serving(() => [404, { detail: "Not Found" }]);
  await expect(absent.scorer.tokenize("ab")).rejects.toMatchObject({ code: "PRL_INFERENCE_UNSUPPORTED" });
  const odd = await serving(() => [200, { tokens: ["a"] }]);
  await expect(odd.scorer.tokenize("ab")).rejects.toMatchObject({ code: "PRL_INFERENCE_FAILED" });
});
