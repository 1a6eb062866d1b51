import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";

import {
  defineEnvironment,
  type Endpoint,
  type EndpointOptions,
  openEndpoint,
  type Prompt,
  reward,
  type Rollout,
  singleTurn,
  tool,
  toolUse,
} from "../../../../ts/environments/index.ts";
import { PrlError } from "../../../../ts/errors.ts";
import { askedWait } from "../../../../ts/environments/endpoint/rate-gate.ts";
import {
  chatCompletion,
  type MockAnswer,
  mockEndpoint,
  type MockEndpoint,
  status,
} from "../../../support/mock-endpoint.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

type Answers = readonly MockAnswer[];

/** An endpoint that gives these answers in order, the last one for ever, and a client of it. */
async function connect(
  answers: Answers,
  options: Partial<EndpointOptions> = {},
): Promise<{ mock: MockEndpoint; endpoint: Endpoint }> {
  const mock = await mockEndpoint((_, index) => answers[Math.min(index, answers.length - 1)] ?? {});
  const endpoint = openEndpoint({ url: `${mock.url}/v1`, model: "m", maxRetries: 3, backoffMs: 1, ...options });
  open.push(endpoint, mock);
  return { mock, endpoint };
}

const sampling = { temperature: 0.5, maxCompletionTokens: 16, topP: 1, topK: -1 };
const HI = [{ role: "user" as const, content: "hi" }];
const ask = (endpoint: Endpoint, prompt: Prompt = HI, signal = new AbortController().signal) =>
  endpoint.reply({ prompt, sampling, seed: 5, signal });

async function failure(work: Promise<unknown>): Promise<PrlError> {
  const error: unknown = await work.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(PrlError);
  return error as PrlError;
}

describe("requests and answers", () => {
  it("chats, with key, sampling and seed", async () => {
    const { mock, endpoint } = await connect([chatCompletion("hello", { reasoning_content: "hm" })], { apiKey: "k" });
    expect(await ask(endpoint)).toEqual({
      message: { role: "assistant", content: "hello", reasoning_content: "hm" },
      toolCalls: [],
      finishReason: "stop",
      usage: { promptTokens: 7, completionTokens: 3 },
    });
    const [request] = mock.requests;
    expect(request).toMatchObject({ path: "/v1/chat/completions", headers: { authorization: "Bearer k" } });
    expect(request?.body).toEqual({
      model: "m",
      messages: HI,
      temperature: 0.5,
      seed: 5,
      max_completion_tokens: 16,
    });
  });

  it("sends a text as it is, or as one message where only chat is spoken", async () => {
    const answer = { choices: [{ text: "cba", finish_reason: "length" }] };
    const { mock, endpoint } = await connect([answer]);
    expect(await ask(endpoint, "abc: ")).toMatchObject({
      message: { content: "cba" },
      finishReason: "length",
      usage: null,
    });
    expect(mock.requests[0]).toMatchObject({ path: "/v1/completions", body: { prompt: "abc: ", max_tokens: 16 } });
    const chat = await connect([chatCompletion("cba")], { api: "chat" });
    await ask(chat.endpoint, "abc: ");
    expect(chat.mock.requests[0]?.body["messages"]).toEqual([{ role: "user", content: "abc: " }]);
  });

  it("adds and takes out fields of the body", async () => {
    const { mock, endpoint } = await connect([chatCompletion("x")], {
      extraBody: { seed: null, reasoning_effort: "low" },
    });
    await ask(endpoint);
    expect(mock.requests[0]?.body).toMatchObject({ reasoning_effort: "low" });
    expect(mock.requests[0]?.body).not.toHaveProperty("seed");
  });

  it("reads tool calls and says which ones cannot be read", async () => {
    const call = (id: string, name: string, args: string) => ({
      id,
      type: "function",
      function: { name, arguments: args },
    });
    const calls = [call("a", "add", '{"x":1}'), call("b", "add", "{"), call("c", "", "{}"), call("d", "now", "")];
    const { endpoint } = await connect([chatCompletion("", { content: null, tool_calls: calls })]);
    const { message, toolCalls } = await ask(endpoint);
    expect(toolCalls.map(({ status: verdict }) => verdict)).toEqual(["ok", "invalid_json", "missing_name", "ok"]);
    expect(message.tool_calls?.map(({ id }) => id)).toEqual(["a", "d"]);
    expect(message.content).toBe("");
  });

  it("speaks Anthropic's messages: system apart, tool results as the user's, turns merged", async () => {
    const answer = {
      type: "message",
      content: [
        { type: "thinking", thinking: "hm" },
        { type: "text", text: "ok" },
        { type: "tool_use", id: "t2", name: "add", input: { x: 2 } },
      ],
      stop_reason: "tool_use",
      usage: { input_tokens: 5, output_tokens: 2, cache_read_input_tokens: 10 },
    };
    const { mock, endpoint } = await connect([answer], { api: "anthropic", apiKey: "k" });
    const reply = await ask(endpoint, [
      { role: "system", content: "be brief" },
      { role: "user", content: "1 and 1?" },
      {
        role: "assistant",
        content: "",
        tool_calls: [{ id: "t1", type: "function", function: { name: "add", arguments: '{"x":1}' } }],
      },
      { role: "tool", tool_call_id: "t1", content: "2" },
      { role: "user", content: "go on" },
    ]);
    expect(reply).toEqual({
      message: {
        role: "assistant",
        content: "ok",
        reasoning_content: "hm",
        tool_calls: [{ id: "t2", type: "function", function: { name: "add", arguments: '{"x":2}' } }],
      },
      toolCalls: [{ status: "ok", name: "add", arguments: { x: 2 }, raw: '{"x":2}' }],
      finishReason: "stop",
      usage: { promptTokens: 15, completionTokens: 2 },
    });
    const [request] = mock.requests;
    expect(request).toMatchObject({
      path: "/v1/messages",
      headers: { "x-api-key": "k", "anthropic-version": "2023-06-01" },
    });
    expect(request?.body).toEqual({
      model: "m",
      max_tokens: 16,
      temperature: 0.5,
      system: "be brief",
      messages: [
        { role: "user", content: [{ type: "text", text: "1 and 1?" }] },
        { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "add", input: { x: 1 } }] },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "t1", content: "2" },
            { type: "text", text: "go on" },
          ],
        },
      ],
    });
  });
});

describe("an endpoint that misbehaves", () => {
  const half: MockAnswer = (response, socket) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "500" });
    response.write('{"choices": [{"mess');
    setImmediate(() => socket.destroy());
  };
  const hangUp: MockAnswer = (_, socket) => void socket.destroy();
  const never: MockAnswer = () => undefined;

  it("is asked again until it answers", async () => {
    const bad = [status(429, { error: { message: "slow down" } }), status(503, "<html>"), half, hangUp];
    const { mock, endpoint } = await connect([...bad, chatCompletion("at last")], { maxRetries: 4 });
    expect((await ask(endpoint)).message.content).toBe("at last");
    expect(mock.requests).toHaveLength(5);
    expect(new Set(mock.requests.map(({ body }) => JSON.stringify(body))).size).toBe(1);
  });

  it.each<[string, MockAnswer, string, number]>([
    ["too many requests", status(429, { error: { message: "slow down" } }), "PRL_INFERENCE_RATE_LIMIT", 4],
    [
      "no money left",
      status(429, { error: { message: "no", code: "insufficient_quota" } }),
      "PRL_INFERENCE_RATE_LIMIT",
      1,
    ],
    ["a wait of an hour", status(429, {}, { "retry-after": "3600" }), "PRL_INFERENCE_RATE_LIMIT", 1],
    ["a server error", status(500, "<html>oops</html>"), "PRL_INFERENCE_FAILED", 4],
    ["overloaded", status(529, { error: { type: "overloaded_error", message: "later" } }), "PRL_INFERENCE_FAILED", 4],
    ["half an answer", half, "PRL_INFERENCE_ANSWER", 4],
    ["a hang-up", hangUp, "PRL_INFERENCE_UNREACHABLE", 4],
    ["no JSON", status(200, "<html>"), "PRL_INFERENCE_ANSWER", 4],
    ["other JSON", status(200, { choices: [] }), "PRL_INFERENCE_ANSWER", 4],
    ["null", status(200, "null"), "PRL_INFERENCE_ANSWER", 4],
    ["a wrong key", status(401, { error: { message: "bad key" } }), "PRL_INFERENCE_AUTH", 1],
    ["an unknown model", status(404, { error: { message: "no such model" } }), "PRL_INFERENCE_REQUEST", 1],
    ["silence", never, "PRL_INFERENCE_TIMEOUT", 4],
  ])("%s ends with its own code", async (_, answer, code, requests) => {
    const { mock, endpoint } = await connect([answer], { timeoutMs: answer === never ? 30 : 5_000 });
    expect((await failure(ask(endpoint))).code).toBe(code);
    expect(mock.requests).toHaveLength(requests);
  });

  it("an address without a listener is unreachable", async () => {
    const endpoint = openEndpoint({ url: "http://127.0.0.1:9", model: "m", maxRetries: 1, backoffMs: 1 });
    open.push(endpoint);
    expect((await failure(ask(endpoint))).code).toBe("PRL_INFERENCE_UNREACHABLE");
  });

  it("refuses formats that the endpoints of others have in no common form", () => {
    const endpoint = openEndpoint({ url: "http://127.0.0.1:9", model: "m" });
    open.push(endpoint);
    const { signal } = new AbortController();
    const regex = { prompt: HI, sampling, seed: 5, signal, textFormat: { regex: "a" } };
    expect(() => endpoint.reply(regex)).toThrow(/PRL_ENVIRONMENT_UNSUPPORTED|textFormat: not behind an endpoint/u);
  });

  it("holds every call back for as long as one answer asks to wait", async () => {
    const times: number[] = [];
    const mock = await mockEndpoint((_, index) => {
      times.push(performance.now());
      return index === 0 ? status(429, {}, { "retry-after-ms": "200" }) : chatCompletion("ok");
    });
    const endpoint = openEndpoint({ url: mock.url, model: "m", backoffMs: 1 });
    open.push(endpoint, mock);
    const first = ask(endpoint);
    while (times.length === 0) await new Promise((done) => setTimeout(done, 1));
    await new Promise((done) => setTimeout(done, 30));
    await Promise.all([first, ask(endpoint), ask(endpoint)]);
    expect(times).toHaveLength(4);
    for (const time of times.slice(1)) expect(time - (times[0] ?? 0)).toBeGreaterThanOrEqual(195);
  });

  it("an abort ends a wait at once, with its reason", async () => {
    const { endpoint } = await connect([status(429, {}, { "retry-after": "200" })]);
    const abort = new AbortController();
    const work = ask(endpoint, HI, abort.signal);
    const reason = new PrlError("PRL_EPISODE_CANCELLED", "enough");
    setTimeout(() => abort.abort(reason), 50);
    expect(await failure(work)).toBe(reason);
  });
});

describe("waits that headers ask for", () => {
  const now = Date.parse("2026-11-21T00:00:00Z");
  it.each<[Record<string, string>, number | null]>([
    [{ "retry-after": "2" }, 2_000],
    [{ "retry-after": "Sat, 21 Nov 2026 00:00:03 GMT" }, 3_000],
    [{ "retry-after": "soon" }, null],
    [{ "retry-after-ms": "12.5", "retry-after": "9" }, 12.5],
    [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "1m2.5s" }, 62_500],
    [{ "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms" }, 20],
    [{ "x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": "20ms" }, null],
    [
      { "anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "2026-11-21T00:00:01Z" },
      1_000,
    ],
    [{}, null],
  ])("%j: %s ms", (headers, ms) => {
    expect(askedWait(headers, now)).toBe(ms);
  });
});

describe("rollouts of an endpoint", () => {
  interface Row {
    prompt: Prompt;
  }
  async function run(rollout: Rollout<Row>, endpoint: Endpoint, prompt: Prompt = HI) {
    const environment = defineEnvironment({
      name: "test",
      version: "1.0.0",
      config: z.strictObject({}),
      tasks: (): Row[] => [],
      rollout,
      rewards: { said: reward(1, ({ trace }) => trace.lastReply.length) },
    }).configure();
    return environment.run({
      episodeId: "e",
      groupId: "g",
      source: "s",
      task: { key: "0", hash: "", data: { prompt } },
      endpoint,
      sampling,
      seed: 1,
      run: { type: "eval", step: 0 },
      signal: new AbortController().signal,
    });
  }

  it("have messages, usage and rewards, and no tokens", async () => {
    const { endpoint } = await connect([chatCompletion("four")]);
    const { episode, columns } = await run(singleTurn(), endpoint);
    expect(episode).toMatchObject({ ok: true, errors: [] });
    expect(episode.traces[0]).toMatchObject({
      reward: 4,
      nodes: [{ sampled: false }, { sampled: true, parent: 0, message: { content: "four" } }],
      usage: { prompt_tokens: 7, completion_tokens: 3 },
      stop_condition: "agent_completed",
      policy: null,
    });
    expect(columns[0]?.tokenIds).toHaveLength(0);
  });

  it("call tools, over several turns of one branch", async () => {
    const calls = [{ id: "c1", type: "function", function: { name: "add", arguments: '{"a":2,"b":3}' } }];
    const { mock, endpoint } = await connect([chatCompletion("", { tool_calls: calls }), chatCompletion("five")]);
    const add = tool({
      description: "adds",
      parameters: z.object({ a: z.number(), b: z.number() }),
      execute: ({ a, b }) => a + b,
    });
    const { episode } = await run(toolUse({ tools: { add } }), endpoint);
    expect(episode.errors).toEqual([]);
    expect(episode.traces[0]).toMatchObject({ reward: 4, metrics: { add_calls: 1, tool_errors: 0 } });
    expect(episode.traces[0]?.nodes.map(({ parent }) => parent)).toEqual([null, 0, 1, 2]);
    expect(mock.requests[1]?.body["messages"]).toEqual([
      ...HI,
      { role: "assistant", content: "", tool_calls: calls },
      { role: "tool", content: "5", tool_call_id: "c1" },
    ]);
    expect(mock.requests[0]?.body["seed"]).not.toBe(mock.requests[1]?.body["seed"]);
  });

  it("carry the endpoint's failure as a provider's error", async () => {
    const { endpoint } = await connect([status(401, {})]);
    const { episode } = await run(singleTurn(), endpoint);
    expect(episode).toMatchObject({
      ok: false,
      errors: [{ class: "provider", code: "PRL_INFERENCE_AUTH" }],
      traces: [],
    });
  });

  it("cannot work on token ids, and say so", async () => {
    const { endpoint } = await connect([chatCompletion("x")]);
    const { episode } = await run(async ({ tokenizer }) => void tokenizer.encode("x"), endpoint);
    expect(episode.errors).toMatchObject([{ class: "environment", code: "PRL_ENVIRONMENT_UNSUPPORTED" }]);
  });
});
