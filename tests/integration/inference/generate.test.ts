import { request as httpRequest } from "node:http";

import { beforeAll, describe, expect, it } from "vitest";

import { LONG, PROMPT, useServing, type Serving } from "./serving.ts";
import { MAX_MODEL_LEN, VOCAB_SIZE } from "./tiny-model.ts";

const serving = useServing();
let model: Serving["model"];
let url: Serving["url"];
let client: Serving["client"];
let admin: Serving["admin"];

beforeAll(() => {
  ({ model, url, client, admin } = serving());
});

const generate = (body: Record<string, unknown>) => serving().post("/inference/v1/generate", body);
const error = (code: string, message: unknown = expect.any(String)) => ({
  error: { code, message, type: expect.stringMatching(/Error$/), param: null },
});

interface Chunk {
  request_id: string;
  choices: {
    token_ids: number[];
    logprobs: { content: { logprob: number }[] };
    finish_reason: string | null;
    policy_versions: [number, number][];
  }[];
}

describe("POST /inference/v1/generate", () => {
  it("answers in vLLM's shape with a policy version per choice", async () => {
    const { status, body } = await generate({
      model: "tiny",
      token_ids: PROMPT,
      sampling_params: { max_tokens: 6, temperature: 1, seed: 5, logprobs: 1, ignore_eos: true },
      request_id: "mine",
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      request_id: "mine",
      choices: [
        {
          index: 0,
          token_ids: expect.any(Array),
          logprobs: { content: expect.any(Array) },
          finish_reason: "length",
          stop_reason: null,
          routed_experts: null,
          policy_versions: [[0, 0]],
        },
      ],
      prompt_logprobs: null,
      kv_transfer_params: null,
      usage: {
        prompt_tokens: 5,
        completion_tokens: 6,
        total_tokens: 11,
        prompt_tokens_details: { cached_tokens: expect.any(Number) },
      },
    });
    const [choice] = body["choices"] as [
      { token_ids: number[]; logprobs: { content: { token_id: number; logprob: number }[] } },
    ];
    expect(choice.token_ids).toHaveLength(6);
    expect(choice.logprobs.content.map(({ token_id: id }) => id)).toEqual(choice.token_ids);
    for (const { logprob } of choice.logprobs.content) expect(logprob).toBeLessThanOrEqual(0);
  });

  it("samples the same tokens for the same seed, whatever runs beside it", async () => {
    const sampling = { maxTokens: 40, seed: 77, ignoreEos: true };
    const alone = await client.generate({ tokenIds: PROMPT, sampling });
    const crowd = await Promise.all(
      Array.from({ length: 24 }, (_, index) =>
        client.generate({ tokenIds: PROMPT, sampling: index === 11 ? sampling : { ...sampling, seed: index } }),
      ),
    );
    expect(crowd[11]?.tokenIds).toEqual(alone.tokenIds);
    expect(crowd[11]?.logprobs).toEqual(alone.logprobs);
    expect(new Set(crowd.map(({ tokenIds }) => tokenIds.join())).size).toBe(24);
  });

  it.each([1, 0.7, 0])("reports log-probabilities bit-equal to scoring at temperature %d", async (temperature) => {
    const { tokenIds, logprobs } = await client.generate({
      tokenIds: PROMPT,
      sampling: { maxTokens: 50, seed: 3, temperature, ignoreEos: true },
    });
    const ids = Uint32Array.from([...PROMPT, ...tokenIds]);
    const scored = await model.logprobs(ids, Uint32Array.of(0, ids.length), {
      temperature: temperature === 0 ? 1 : temperature,
    });
    expect(new Uint32Array(logprobs.buffer)).toEqual(new Uint32Array(scored.slice(PROMPT.length).buffer));
  });

  it("takes the rest of the context when max_tokens is missing", async () => {
    const { finishReason, tokenIds } = await client.generate({
      tokenIds: PROMPT,
      sampling: { seed: 1, ignoreEos: true },
    });
    expect(finishReason).toBe("length");
    expect(tokenIds).toHaveLength(LONG);
  });

  it("stops at a stop token, which is the last token", async () => {
    const free = await client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 30, seed: 9, ignoreEos: true } });
    const stop = free.tokenIds[7] ?? 0;
    const end = free.tokenIds.indexOf(stop) + 1;
    const stopped = await client.generate({
      tokenIds: PROMPT,
      sampling: { maxTokens: 30, seed: 9, ignoreEos: true, stopTokenIds: [stop] },
    });
    expect(stopped).toMatchObject({ finishReason: "stop", stopReason: stop, tokenIds: free.tokenIds.slice(0, end) });
  });

  it("ends with the token that completes a stop string", async () => {
    const free = await client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 200, seed: 12, ignoreEos: true } });
    const at = free.tokenIds.findIndex((id, index) => index > 2 && id > 32 && id < 127);
    const character = String.fromCharCode(free.tokenIds[at] ?? 0);
    const first = free.tokenIds.findIndex((id) => id === character.charCodeAt(0));
    const stopped = await client.generate({
      tokenIds: PROMPT,
      sampling: { maxTokens: 200, seed: 12, ignoreEos: true, stop: ["never this", character] },
    });
    expect(stopped).toMatchObject({ finishReason: "stop", stopReason: character });
    expect(stopped.tokenIds).toEqual(free.tokenIds.slice(0, first + 1));
    expect(stopped.logprobs).toEqual(free.logprobs.slice(0, first + 1));
  });

  it("streams the same completion as server-sent events", async () => {
    const params = { seed: 21, ignore_eos: true, logprobs: 0 };
    const whole = await client.generate({ tokenIds: PROMPT, sampling: { seed: 21, ignoreEos: true } });
    const response = await fetch(`${url}/inference/v1/generate`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-session-id": "sticky" },
      body: JSON.stringify({
        token_ids: PROMPT,
        sampling_params: params,
        stream: true,
        stream_options: { include_usage: true },
        request_id: "s",
      }),
    });
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    const events = (await response.text()).trimEnd().split("\n\n");
    expect(events.every((event) => event.startsWith("data: "))).toBe(true);
    expect(events.at(-1)).toBe("data: [DONE]");
    const chunks = events.slice(0, -1).map((event) => JSON.parse(event.slice("data: ".length)) as Chunk);
    expect(chunks.at(-1)).toMatchObject({
      request_id: "s",
      choices: [],
      usage: { completion_tokens: LONG, total_tokens: MAX_MODEL_LEN },
    });
    const choices = chunks.flatMap((chunk) => chunk.choices);
    expect(choices.length).toBeGreaterThan(1);
    expect(choices.flatMap((choice) => choice.token_ids)).toEqual([...whole.tokenIds]);
    expect(choices.flatMap((choice) => choice.logprobs.content.map(({ logprob }) => logprob))).toEqual([
      ...whole.logprobs,
    ]);
    expect(choices.map((choice) => choice.finish_reason).filter((reason) => reason !== null)).toEqual(["length"]);
    for (const choice of choices.filter(({ token_ids }) => token_ids.length > 0))
      expect(choice.policy_versions).toEqual([[0, 0]]);
  });

  it("scores a prompt exactly as the engine does", async () => {
    const ids = Uint32Array.from({ length: 40 }, (_, index) => (index * 7) % 250);
    const scored = await model.logprobs(ids, Uint32Array.of(0, ids.length));
    const { logprobs, policyVersion } = await client.promptLogprobs(ids);
    expect(new Uint32Array(logprobs.buffer)).toEqual(new Uint32Array(scored.buffer));
    expect(policyVersion).toBe(0);
    const { body } = await generate({
      token_ids: [...ids],
      sampling_params: { max_tokens: 1, prompt_logprobs: 1, temperature: 0.3 },
    });
    const entries = body["prompt_logprobs"] as (Record<string, { logprob: number }> | null)[];
    expect(entries[0]).toBeNull();
    expect(entries.slice(1).map((entry, index) => entry?.[String(ids[index + 1])]?.logprob)).toEqual(
      Array.from(scored.slice(1)),
    );
  });

  it("aborts a request whose client goes away", async () => {
    await admin.pause("keep");
    const before = model.stats();
    const body = JSON.stringify({ token_ids: PROMPT, sampling_params: { seed: 1, ignore_eos: true } });
    const sent = httpRequest(`${url}/inference/v1/generate`, {
      method: "POST",
      headers: { "content-type": "application/json", "content-length": body.length },
    });
    const gone = new Promise((done) => sent.on("error", done));
    sent.end(body);
    await serving().untilStats((stats) => stats.running + stats.waiting > before.running + before.waiting);
    sent.destroy();
    await gone;
    await admin.resume();
    await serving().untilStats((stats) => stats.running + stats.waiting === 0);
    expect(model.stats().generationTokens - before.generationTokens).toBeLessThan(LONG);
  });

  it("ends with the caller's reason when the caller aborts, and the server lives on", async () => {
    await admin.pause("keep");
    const controller = new AbortController();
    const reason = new Error("no longer needed");
    const pending = client.generate({ tokenIds: PROMPT, sampling: { ignoreEos: true }, signal: controller.signal });
    await serving().untilStats((stats) => stats.running + stats.waiting > 0);
    controller.abort(reason);
    await expect(pending).rejects.toBe(reason);
    await admin.resume();
    await serving().untilStats((stats) => stats.running + stats.waiting === 0);
  });

  it("gives up at the client's deadline with a named error", async () => {
    await admin.pause("keep");
    await expect(client.generate({ tokenIds: PROMPT, deadlineMs: 50 })).rejects.toMatchObject({
      code: "PRL_INFERENCE_TIMEOUT",
    });
  });

  it.each<[Record<string, unknown> | string, string]>([
    ["{", "body"],
    [{ sampling_params: {} }, "token_ids"],
    [{ token_ids: [VOCAB_SIZE], sampling_params: {} }, "token_ids[0]"],
    [{ token_ids: [1], sampling_params: { min_p: 5 } }, "sampling_params.min_p"],
    [{ token_ids: [1], sampling_params: { tempreature: 1 } }, "sampling_params.tempreature"],
    [{ token_ids: [1], sampling_params: { max_tokens: "many" } }, "sampling_params.max_tokens"],
  ])("answers 400 to %j and names %s", async (body, field) => {
    const { status, body: answer } = await serving().post("/inference/v1/generate", body);
    expect(status).toBe(400);
    expect(answer).toEqual(error("PRL_INFERENCE_REQUEST", expect.stringContaining(field)));
  });

  it("answers 404 for another model and 413 for a body without measure", async () => {
    expect(await generate({ model: "other", token_ids: [1], sampling_params: {} })).toMatchObject({ status: 404 });
    const { status, body } = await generate({
      token_ids: Array.from({ length: 600_000 }, () => 1),
      sampling_params: {},
    });
    expect(status).toBe(413);
    expect(body).toEqual(error("PRL_INFERENCE_REQUEST"));
  });
});

describe("the client gets tokens as they are sampled", () => {
  it("hears and gets the completion of a request that is not streamed", async () => {
    const request = { tokenIds: PROMPT, sampling: { maxTokens: 12, temperature: 1, seed: 9, ignoreEos: true } };
    const whole = await client.generate(request);
    const heard: number[] = [];
    const streamed = await client.generate({
      ...request,
      onTokens: (ids) => void heard.push(...ids),
    });
    expect({ ...streamed, usage: null }).toEqual({ ...whole, usage: null });
    expect(streamed.usage.completionTokens).toBe(12);
    expect(heard).toEqual([...whole.tokenIds]);
  });
});
