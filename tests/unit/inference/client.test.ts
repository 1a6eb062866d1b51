import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, describe, expect, it } from "vitest";

import { PrlError } from "../../../ts/errors.ts";
import { InferenceAdmin } from "../../../ts/inference-client/embedded.ts";
import { toWire } from "../../../ts/inference/errors.ts";
import { InferenceClient } from "../../../ts/inference-client/inference-client.ts";

const ANSWER = {
  request_id: "r",
  choices: [
    {
      index: 0,
      token_ids: [7, 8],
      logprobs: { content: [{ logprob: -0.5 }, { logprob: -1.25 }] },
      finish_reason: "stop",
      stop_reason: 8,
      policy_versions: [
        [0, 3],
        [1, 4],
      ],
    },
  ],
  usage: { prompt_tokens: 2, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 1 } },
};

let open: { server: Server; client: InferenceClient }[] = [];

afterEach(async () => {
  for (const { server, client } of open) {
    await client.close();
    server.closeAllConnections();
    server.close();
  }
  open = [];
});

/** A client of a server that gives each request, counted from 1, to `handle`. */
async function connect(
  handle: (count: number, response: ServerResponse, body: string, request: IncomingMessage) => void,
) {
  let count = 0;
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += String(chunk)));
    request.on("end", () => handle(++count, response, body, request));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = new InferenceClient({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, model: "m" });
  open.push({ server, client });
  return { client, server, requests: () => count };
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

describe("InferenceClient", () => {
  it.each([
    [{ error: { code: "PRL_INFERENCE_CONTEXT", message: "too many" } }, "PRL_INFERENCE_CONTEXT"],
    [{ error: { message: "This model's maximum context length is 512 tokens." } }, "PRL_INFERENCE_CONTEXT"],
    [{ error: { message: "token_ids: must be a list" } }, "PRL_INFERENCE_REQUEST"],
  ])("distinguishes a prompt that is too long from another mistake: %j", async (body, code) => {
    const { client } = await connect((_, response) => answer(response, 400, body));
    const sampling = { temperature: 1, maxTokens: 4, stopTokenIds: [] };
    await expect(client.generate({ tokenIds: Uint32Array.of(1), sampling })).rejects.toMatchObject({ code });
  });

  it.each([
    ["PRL_WEIGHTS_SUPERSEDED", "there is a newer one"],
    ["PRL_WEIGHTS_MANIFEST", "a shard has other bytes than its manifest says"],
    ["PRL_WEIGHTS_DIGEST", "a shard has another digest"],
    ["PRL_WEIGHTS_IO", "a shard cannot be mapped: Cannot allocate memory"],
  ] as const)("reports weights that cannot be taken by their own code, as a server does: %s", async (code, why) => {
    const { status, body } = toWire(new PrlError(code, why));
    const { server } = await connect((_, response) => answer(response, status, body));
    const admin = new InferenceAdmin({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    const weights = { version: 1, digest: "0".repeat(16), source: { grpc: ["127.0.0.1:1"] } };
    await expect(admin.prefetchWeights(weights)).rejects.toMatchObject({ code });
    await admin.close();
  });

  describe("as tokens are sampled", () => {
    const chunk = (ids: number[], version: number, more: object = {}) => ({
      request_id: "r",
      choices: [
        {
          index: 0,
          token_ids: ids,
          logprobs: { content: ids.map((id) => ({ logprob: -id })) },
          finish_reason: null,
          policy_versions: [[0, version]],
          ...more,
        },
      ],
    });
    const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 3 } };
    const stream = (response: ServerResponse, events: readonly unknown[], isWhole = true) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
      if (isWhole) response.end("data: [DONE]\n\n");
      else setTimeout(() => response.destroy(), 20);
    };
    const generate = (client: InferenceClient, heard: number[]) =>
      client.generate({ tokenIds: [1], onTokens: (ids) => void heard.push(...ids) });

    it("passes them on, and then the whole completion", async () => {
      let sent: unknown;
      const { client } = await connect((_, response, body) => {
        sent = JSON.parse(body);
        const last = chunk([9], 4, { finish_reason: "stop", stop_reason: "; " });
        stream(response, [chunk([7], 3), chunk([8], 4), last, usage]);
      });
      const heard: number[] = [];
      expect(await generate(client, heard)).toEqual({
        tokenIds: Uint32Array.of(7, 8, 9),
        logprobs: Float32Array.of(-7, -8, -9),
        policyVersions: [
          [0, 3],
          [1, 4],
        ],
        finishReason: "stop",
        stopReason: "; ",
        usage: { promptTokens: 1, completionTokens: 3, cachedTokens: 0 },
      });
      expect(heard).toEqual([7, 8, 9]);
      expect(sent).toMatchObject({ stream: true, stream_options: { include_usage: true } });
    });

    it("asks again only as long as nothing was heard", async () => {
      const { client, requests } = await connect((count, response) => {
        if (count === 1) response.destroy();
        else stream(response, [chunk([7], 3)], false);
      });
      const heard: number[] = [];
      await expect(generate(client, heard)).rejects.toMatchObject({ code: "PRL_INFERENCE_UNREACHABLE" });
      expect([requests(), heard]).toEqual([2, [7]]);
    });

    it("an error in the stream, and one that ends without an end, are errors", async () => {
      const error = { error: { code: "PRL_ENGINE_CLOSED", message: "no luck" } };
      const { client } = await connect((count, response) =>
        stream(response, [chunk([7], 3), count === 1 ? error : usage]),
      );
      await expect(generate(client, [])).rejects.toMatchObject({
        code: "PRL_INFERENCE_FAILED",
        message: expect.stringContaining("no luck") as string,
      });
      await expect(generate(client, [])).rejects.toMatchObject({ code: "PRL_INFERENCE_UNREACHABLE" });
    });
  });

  it("sends vLLM's request and reads its answer into typed arrays", async () => {
    let sent: unknown;
    const { client } = await connect((_count, response, body) => {
      sent = JSON.parse(body);
      answer(response, 200, ANSWER);
    });
    const completion = await client.generate({
      tokenIds: Uint32Array.of(1, 2),
      sampling: { maxTokens: 5, temperature: 0.5, seed: 9, stopTokenIds: [8] },
      cacheSalt: "3",
      priority: 2,
      requestId: "r",
    });
    expect(sent).toEqual({
      model: "m",
      token_ids: [1, 2],
      sampling_params: { max_tokens: 5, temperature: 0.5, seed: 9, stop_token_ids: [8], logprobs: 0 },
      cache_salt: "3",
      priority: 2,
      request_id: "r",
    });
    expect(completion).toEqual({
      tokenIds: Uint32Array.of(7, 8),
      logprobs: Float32Array.of(-0.5, -1.25),
      policyVersions: [
        [0, 3],
        [1, 4],
      ],
      finishReason: "stop",
      stopReason: 8,
      usage: { promptTokens: 2, completionTokens: 2, cachedTokens: 1 },
    });
  });

  it("sends a request again when the connection breaks", async () => {
    const { client, requests } = await connect((count, response) => {
      if (count <= 2) response.destroy();
      else answer(response, 200, ANSWER);
    });
    expect((await client.generate({ tokenIds: [1] })).tokenIds).toHaveLength(2);
    expect(requests()).toBe(3);
  });

  it("gives up after a bounded number of broken connections", async () => {
    const { client, requests } = await connect((_count, response) => response.destroy());
    await expect(client.generate({ tokenIds: [1] })).rejects.toMatchObject({ code: "PRL_INFERENCE_UNREACHABLE" });
    expect(requests()).toBe(4);
  });

  it.each([
    [400, "PRL_INFERENCE_REQUEST"],
    [401, "PRL_INFERENCE_AUTH"],
    [404, "PRL_INFERENCE_REQUEST"],
    [429, "PRL_INFERENCE_RATE_LIMIT"],
    [500, "PRL_INFERENCE_FAILED"],
    [501, "PRL_INFERENCE_UNSUPPORTED"],
    [503, "PRL_INFERENCE_FAILED"],
    [504, "PRL_INFERENCE_TIMEOUT"],
  ])("does not repeat a request that was answered with %d: %s", async (status, code) => {
    const { client, requests } = await connect((_count, response) =>
      answer(response, status, { error: { code: "PRL_ENGINE_INPUT", message: "the reason" } }),
    );
    await expect(client.generate({ tokenIds: [1] })).rejects.toMatchObject({
      code,
      status,
      serverCode: "PRL_ENGINE_INPUT",
      message: expect.stringContaining("the reason"),
    });
    expect(requests()).toBe(1);
  });

  it("names the server when nothing listens there", async () => {
    const { client, server } = await connect(() => undefined);
    server.close();
    await once(server, "close");
    await expect(client.generate({ tokenIds: [1] })).rejects.toMatchObject({
      code: "PRL_INFERENCE_UNREACHABLE",
      message: expect.stringContaining(client.url),
    });
  });

  it("closes the connection at its deadline, so that the server can stop working", async () => {
    let closed: Promise<unknown> | undefined;
    const { client } = await connect((_count, response) => {
      closed = once(response, "close");
    });
    await expect(client.generate({ tokenIds: [1], deadlineMs: 100 })).rejects.toMatchObject({
      code: "PRL_INFERENCE_TIMEOUT",
    });
    await closed;
  });

  it("rejects with the caller's own reason when it aborts", async () => {
    const controller = new AbortController();
    const reason = new Error("stale");
    const { client } = await connect(() => controller.abort(reason));
    await expect(client.generate({ tokenIds: [1], signal: controller.signal })).rejects.toBe(reason);
    await expect(client.generate({ tokenIds: [1], signal: controller.signal })).rejects.toBe(reason);
  });

  const choice = ANSWER.choices[0];
  it.each<[string, unknown]>([
    ["no choices", { choices: [] }],
    ["fewer log-probabilities than tokens", { choices: [{ ...choice, logprobs: { content: [{ logprob: -1 }] } }] }],
    ["no log-probabilities", { choices: [{ ...choice, logprobs: null }] }],
    ["no policy versions", { choices: [{ ...choice, policy_versions: undefined }] }],
    ["an unknown finish reason", { choices: [{ ...choice, finish_reason: "tired" }] }],
  ])("refuses an answer with %s", async (_what, body) => {
    const { client } = await connect((_count, response) => answer(response, 200, body));
    await expect(client.generate({ tokenIds: [1] })).rejects.toMatchObject({ code: "PRL_INFERENCE_FAILED" });
  });

  it.each([
    ["beyond the vocabulary", 8],
    ["far beyond it", 4_000_000_000],
    ["below 0", -1],
    ["that is no integer", 1.5],
  ])("refuses a token id %s", async (_what, id) => {
    const given = { ...ANSWER, choices: [{ ...choice, token_ids: choice?.token_ids.map(() => 7) }] };
    const wrong = {
      ...ANSWER,
      choices: [{ ...choice, token_ids: choice?.token_ids.map((_, i) => (i === 1 ? id : 7)) }],
    };
    const { server } = await connect((count, response) => answer(response, 200, count === 1 ? given : wrong));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const client = new InferenceClient({ url, vocabSize: 8 });
    await expect(client.generate({ tokenIds: [1] })).resolves.toMatchObject({ finishReason: "stop" });
    await expect(client.generate({ tokenIds: [1] })).rejects.toMatchObject({
      code: "PRL_INFERENCE_FAILED",
      message: expect.stringContaining(`${id}, which is no token of the model`),
    });
    await client.close();
  });

  it("reads the log-probabilities of a prompt and refuses those of other tokens", async () => {
    const scored = { choices: [{ policy_versions: [[0, 6]] }], prompt_logprobs: [null, { "5": { logprob: -0.75 } }] };
    const { client } = await connect((_count, response) => answer(response, 200, scored));
    expect(await client.promptLogprobs([4, 5])).toEqual({ logprobs: Float32Array.of(0, -0.75), policyVersion: 6 });
    await expect(client.promptLogprobs([4, 6])).rejects.toMatchObject({ code: "PRL_INFERENCE_FAILED" });
  });
});
