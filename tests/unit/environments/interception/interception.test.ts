import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request as ask } from "node:http";

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";

import { InterceptionServer, openEndpoint } from "../../../../ts/environments/index.ts";
import { PrlError } from "../../../../ts/errors.ts";
import { mockEndpoint, chatCompletion } from "../../../support/mock-endpoint.ts";
import { type Agent, call, END, policy, runAgent, tokenizer } from "../../../support/agent-rollout.ts";

let server: InterceptionServer;
beforeAll(async () => {
  server = await InterceptionServer.start({ keepAliveMs: 20, maxBodyBytes: 1_000_000 });
});
afterAll(() => server.close());

const openai = ({ url, key }: Agent, maxRetries = 0) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries });
const anthropic = ({ url, key }: Agent, maxRetries = 0) => new Anthropic({ baseURL: url, apiKey: key, maxRetries });

const ADD = { name: "add", description: "adds", parameters: { type: "object", properties: { a: {}, b: {} } } };
const SYSTEM = "You add.";
const TWO_CALLS = `I add.${call("add", { a: 1, b: 2 })}${call("add", { a: 3, b: 4 })}${END}`;
const TOOL_SCRIPT = [TWO_CALLS, `3 and 7${END}`, `Bye.${END}`];

/** Every token has one owner: what was sampled is what trains, in one branch, and nothing was rendered anew. */
function expectExact({ trace, columns, branches }: Awaited<ReturnType<typeof runAgent>>, said: readonly string[]) {
  expect(branches).toHaveLength(1);
  const sampled = columns?.tokenIds.filter((_, at) => columns.mask[at] === 1) ?? [];
  expect(tokenizer.decode(Uint32Array.from(sampled))).toBe(said.join(""));
  expect(trace?.metrics).not.toHaveProperty("rerendered_turns");
}

describe("chat completions, by the openai package", () => {
  const tools = [{ type: "function" as const, function: ADD }];

  it.each([false, true])("tools over several turns, one branch of exact tokens (stream: %s)", async (stream) => {
    const { client, prompts } = policy(TOOL_SCRIPT);
    const result = await runAgent({ server, client }, async (way) => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: "developer", content: SYSTEM },
        {
          role: "user",
          content: [
            { type: "text", text: "1+2, " },
            { type: "text", text: "3+4?" },
          ],
        },
      ];
      const say = async () => {
        const request = { model: "any", messages, tools, temperature: 0.3, unknown_field: { ours: true } };
        if (!stream) return openai(way).chat.completions.create(request);
        return openai(way)
          .chat.completions.stream({ ...request, stream_options: { include_usage: true } })
          .finalChatCompletion();
      };
      const first = await say();
      expect(first).toMatchObject({ object: "chat.completion", model: "any" });
      expect(first.choices[0]).toMatchObject({ finish_reason: "tool_calls", message: { content: "I add." } });
      expect(first.usage?.prompt_tokens).toBe(tokenizer.encode(prompts[0] ?? "").length);
      expect(first.usage?.completion_tokens).toBe(tokenizer.encode(TWO_CALLS).length);
      const said = first.choices[0]?.message;
      if (said === undefined) throw new Error("no message");
      messages.push({ role: "assistant", content: said.content, tool_calls: said.tool_calls ?? [] });
      for (const one of said.tool_calls ?? []) {
        if (one.type !== "function") throw new Error("no function");
        const { a, b } = JSON.parse(one.function.arguments) as { a: number; b: number };
        messages.push({ role: "tool", tool_call_id: one.id, content: String(a + b) });
      }
      const second = await say();
      expect(second.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "3 and 7" } });
      messages.push({ role: "assistant", content: "3 and 7" }, { role: "user", content: "Thanks." });
      expect((await say()).choices[0]?.message.content).toBe("Bye.");
    });
    expect(result.episode).toMatchObject({ ok: true, errors: [] });
    expectExact(result, TOOL_SCRIPT);
    expect(prompts[0]).toContain(`"name": "add"`);
    expect(result.trace?.nodes.map(({ message: { role } }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "tool",
      "assistant",
      "user",
      "assistant",
    ]);
    expect(result.trace).toMatchObject({ reward: 3, metrics: { agent_retries: 0, malformed_calls: 0 } });
  });

  it("an agent's shorter limit holds, its one call at a time too; other histories are other branches", async () => {
    const { client } = policy([`a long reply${END}`, TWO_CALLS, `x${END}`]);
    const result = await runAgent({ server, client }, async (way) => {
      const create = (rest: object) =>
        openai(way).chat.completions.create({
          model: "m",
          messages: [{ role: "user", content: "hi" }],
          tools,
          ...rest,
        });
      const cut = await create({ max_completion_tokens: 3 });
      expect(cut.choices[0]).toMatchObject({ finish_reason: "length" });
      expect(cut.usage?.completion_tokens).toBe(3);
      const one = await create({ parallel_tool_calls: false });
      expect(one.choices[0]?.message.tool_calls).toHaveLength(1);
      await create({ messages: [{ role: "user", content: "something else" }], tool_choice: "none" });
    });
    expect(result.branches).toHaveLength(3);
    expect(result.branches[2]).not.toContain("add");
  });

  it("refuses unsupported parameters by name, in the dialect, and samples nothing", async () => {
    const { client, prompts } = policy([`ok${END}`]);
    const { trace } = await runAgent({ server, client }, async (way) => {
      const messages = [{ role: "user" as const, content: "hi" }];
      const image = { type: "image_url" as const, image_url: { url: "data:," } };
      const refused: [object, RegExp][] = [
        [{ n: 2 }, /n: one choice/u],
        [{ response_format: { type: "json_object" } }, /response_format/u],
        [{ response_format: { type: "grammar" } }, /response_format\.type: "grammar"/u],
        [{ tool_choice: "required" }, /tool_choice: there are no tools/u],
        [{ tools, tool_choice: { type: "function", function: { name: "sub" } } }, /there is no tool "sub"/u],
        [{ stop: [""] }, /stop/u],
        [{ logprobs: true }, /logprobs/u],
        [{ messages: [{ role: "user", content: [image] }] }, /messages\[0\]\.content\[0\]: parts of type "image_url"/u],
        [{ messages: [] }, /PRL_AGENT_REQUEST|messages/u],
        [{ messages: "x", stream: true }, /messages/u],
      ];
      for (const [rest, problem] of refused) {
        const error: unknown = await openai(way, 3)
          .chat.completions.create({ model: "m", messages, ...rest })
          .catch((one: unknown) => one);
        expect(error).toBeInstanceOf(OpenAI.BadRequestError);
        expect(String(error)).toMatch(problem);
        expect((error as InstanceType<typeof OpenAI.APIError>).code).toMatch(/^PRL_AGENT_(UNSUPPORTED|REQUEST)$/u);
      }
      await openai(way).chat.completions.create({ model: "m", messages });
    });
    expect(prompts).toHaveLength(1);
    expect(trace?.reward).toBe(1);
  });
});

describe("responses, by the openai package", () => {
  const tools = [{ type: "function" as const, strict: true, ...ADD }];

  it.each([false, true])(
    "items of a turn are one message, also by previous_response_id (stream: %s)",
    async (stream) => {
      const { client } = policy(TOOL_SCRIPT);
      const result = await runAgent({ server, client }, async (way) => {
        const say = async (request: OpenAI.Responses.ResponseCreateParamsNonStreaming) =>
          stream
            ? openai(way)
                .responses.stream({ ...request, stream: true })
                .finalResponse()
            : openai(way).responses.create(request);
        const input: OpenAI.Responses.ResponseInput = [{ role: "user", content: "1+2, 3+4?" }];
        const first = await say({ model: "m", instructions: SYSTEM, input, tools, store: false });
        expect(first).toMatchObject({ status: "completed", output_text: "I add." });
        expect(first.output.map(({ type }) => type)).toEqual(["message", "function_call", "function_call"]);
        input.push(...(first.output as OpenAI.Responses.ResponseInput));
        for (const one of first.output) {
          if (one.type !== "function_call") continue;
          const { a, b } = JSON.parse(one.arguments) as { a: number; b: number };
          input.push({ type: "function_call_output", call_id: one.call_id, output: String(a + b) });
        }
        const second = await say({ model: "m", instructions: SYSTEM, input, tools });
        expect(second.output_text).toBe("3 and 7");
        const third = await say({ model: "m", previous_response_id: second.id, input: "Thanks.", tools });
        expect(third.output_text).toBe("Bye.");
      });
      expect(result.episode.errors).toEqual([]);
      expectExact(result, TOOL_SCRIPT);
    },
  );

  it("a truncated reply is incomplete; unsupported parameters are refused by name", async () => {
    const { client } = policy([`a long reply${END}`]);
    await runAgent({ server, client }, async (way) => {
      const create = (rest: object) => openai(way).responses.create({ model: "m", input: "hi", ...rest });
      expect(await create({ max_output_tokens: 2 })).toMatchObject({
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
      });
      await expect(create({ tools: [{ type: "web_search" }] })).rejects.toThrow(/tools\[0\]\.type: "web_search"/u);
      await expect(create({ background: true })).rejects.toThrow(/background/u);
      await expect(create({ previous_response_id: "resp_none" })).rejects.toThrow(/previous_response_id/u);
      await expect(create({ input: [{ type: "item_reference", id: "x" }] })).rejects.toThrow(/item_reference/u);
    });
  });
});

describe("messages, by the anthropic package", () => {
  const tools = [
    { name: ADD.name, description: ADD.description, input_schema: ADD.parameters as Anthropic.Tool.InputSchema },
  ];

  it.each([false, true])("tools over several turns, one branch of exact tokens (stream: %s)", async (stream) => {
    const { client } = policy(TOOL_SCRIPT);
    const result = await runAgent({ server, client }, async (way) => {
      const messages: Anthropic.MessageParam[] = [{ role: "user", content: "1+2, 3+4?" }];
      const say = async () => {
        const request = {
          model: "m",
          max_tokens: 200,
          system: [{ type: "text" as const, text: SYSTEM }],
          messages,
          tools,
        };
        return stream
          ? anthropic(way).messages.stream(request).finalMessage()
          : anthropic(way).messages.create(request);
      };
      const first = await say();
      expect(first).toMatchObject({ type: "message", role: "assistant", stop_reason: "tool_use" });
      expect(first.usage.output_tokens).toBe(tokenizer.encode(TWO_CALLS).length);
      messages.push({ role: "assistant", content: first.content });
      const results = first.content.flatMap((block) => {
        if (block.type !== "tool_use") return [];
        const { a, b } = block.input as { a: number; b: number };
        return [{ type: "tool_result" as const, tool_use_id: block.id, content: String(a + b) }];
      });
      expect(results).toHaveLength(2);
      messages.push({ role: "user", content: results });
      const second = await say();
      expect(second).toMatchObject({ stop_reason: "end_turn", content: [{ type: "text", text: "3 and 7" }] });
      messages.push({ role: "assistant", content: second.content }, { role: "user", content: "Thanks." });
      expect((await say()).content).toMatchObject([{ text: "Bye." }]);
      const { input_tokens } = await anthropic(way).messages.countTokens({ model: "m", messages, tools });
      expect(input_tokens).toBeGreaterThan(first.usage.input_tokens);
    });
    expect(result.episode.errors).toEqual([]);
    expectExact(result, TOOL_SCRIPT);
  });

  it("errors are Anthropic's: unsupported parameters, a wrong key, the limit", async () => {
    const { client } = policy([`ok${END}`]);
    const { trace } = await runAgent(
      { server, client },
      async (way) => {
        const create = (rest: object, who = anthropic(way, 2)) =>
          who.messages.create({ model: "m", max_tokens: 9, messages: [{ role: "user", content: "hi" }], ...rest });
        await expect(create({ stop_sequences: [""] })).rejects.toThrow(/invalid_request_error.*stop_sequences/u);
        await expect(create({ tool_choice: { type: "any" } })).rejects.toThrow(/there are no tools/u);
        await expect(create({ tools: [{ type: "bash_20250124", name: "bash" }] })).rejects.toThrow(/bash_20250124/u);
        await expect(create({}, anthropic({ ...way, key: "wrong" }))).rejects.toThrow(Anthropic.AuthenticationError);
        await create({});
        await expect(create({})).rejects.toThrow(/PRL_AGENT_STOPPED.*max_turns/u);
        await expect(create({ stream: true })).rejects.toThrow(Anthropic.BadRequestError);
      },
      { maxTurns: 1 },
    );
    expect(trace).toMatchObject({ reward: 1, stop_condition: "max_turns" });
  });
});

describe("a request that comes twice", () => {
  const HI = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };

  it("an SDK's retry after its time-out gets the reply that was on its way", async () => {
    let release = (): void => undefined;
    const late = new Promise<void>((resolve) => (release = resolve));
    const { client, prompts } = policy([`once${END}`], () => late);
    const { trace } = await runAgent({ server, client }, async (way) => {
      const impatient = new OpenAI({ baseURL: `${way.url}/v1`, apiKey: way.key, maxRetries: 5, timeout: 150 });
      setTimeout(release, 700);
      expect((await impatient.chat.completions.create(HI)).choices[0]?.message.content).toBe("once");
    });
    expect(prompts).toHaveLength(1);
    expect(trace?.metrics["agent_retries"]).toBeGreaterThan(0);
  });

  it("without a mark: the same body after an answer that was not received", async () => {
    const { client, prompts } = policy(
      [`first${END}`, `second${END}`],
      () => new Promise((done) => setTimeout(done, 100)),
    );
    await runAgent({ server, client }, async (way) => {
      const post = async (headers: Record<string, string> = {}, signal: AbortSignal | null = null) => {
        const response = await fetch(`${way.url}/v1/chat/completions`, {
          method: "POST",
          headers: { "content-type": "application/json", authorization: `Bearer ${way.key}`, ...headers },
          body: JSON.stringify(HI),
          signal,
        });
        const answer = (await response.json()) as OpenAI.ChatCompletion;
        return answer.choices[0]?.message.content ?? JSON.stringify(answer);
      };
      await expect(post({}, AbortSignal.timeout(30))).rejects.toThrow(/aborted/u);
      await new Promise((done) => setTimeout(done, 30));
      expect(await post()).toBe("first");
      expect(prompts).toHaveLength(1);
      // Received: the same body again is another turn, as a key's first use is; the key's second use is not.
      expect(await post({ "idempotency-key": "k" })).toBe("second");
      expect(await post({ "idempotency-key": "k" })).toBe("second");
      expect(await post({ "idempotency-key": "k", "x-stainless-retry-count": "1" })).toBe("second");
    });
    expect(prompts).toHaveLength(2);
  });

  it("two at the same time are two turns", async () => {
    const { client, prompts } = policy([`a${END}`, `b${END}`], () => new Promise((done) => setTimeout(done, 20)));
    const { branches } = await runAgent({ server, client }, async (way) => {
      const both = await Promise.all([1, 2].map(() => openai(way).chat.completions.create(HI)));
      expect(new Set(both.map(({ id }) => id)).size).toBe(2);
    });
    expect(prompts).toHaveLength(2);
    expect(branches).toHaveLength(2);
  });
});

describe("failures", () => {
  const HI = { model: "m", messages: [{ role: "user" as const, content: "hi" }] };

  it("a failing engine is a 5xx, which the SDK does not try again, and the session remembers it", async () => {
    let calls = 0;
    const client = {
      generate: () => {
        calls += 1;
        return Promise.reject(new PrlError("PRL_INFERENCE_FAILED", "no luck"));
      },
    };
    await runAgent({ server, client }, async (way, session) => {
      await expect(openai(way, 3).chat.completions.create(HI)).rejects.toThrow(OpenAI.InternalServerError);
      expect(session.failure).toMatchObject({ code: "PRL_INFERENCE_FAILED" });
    });
    expect(calls).toBe(1);
  });

  it("in a stream that has begun, the error is an event of the dialect", async () => {
    const client = {
      generate: async () => {
        await new Promise((done) => setTimeout(done, 80));
        throw new PrlError("PRL_INFERENCE_TIMEOUT", "too late");
      },
    };
    await runAgent({ server, client }, async (way) => {
      const drain = async (stream: AsyncIterable<unknown>) => {
        for await (const _ of stream);
      };
      await expect(drain(await openai(way).chat.completions.create({ ...HI, stream: true }))).rejects.toThrow(
        /too late/u,
      );
      await expect(
        drain(await openai(way).responses.create({ model: "m", input: "hi", stream: true })),
      ).rejects.toThrow(/too late/u);
      await expect(drain(await anthropic(way).messages.create({ ...HI, max_tokens: 9, stream: true }))).rejects.toThrow(
        /too late/u,
      );
    });
  });

  it("bodies that are no JSON, too large or compressed; paths and methods that are not there; keys of ended rollouts", async () => {
    const { client } = policy([`ok${END}`]);
    let ended: Agent = { url: "", key: "" };
    await runAgent({ server, client }, async (way) => {
      ended = way;
      const post = (path: string, body: string, headers: Record<string, string> = {}) =>
        fetch(way.url + path, { method: "POST", headers: { "x-api-key": way.key, ...headers }, body });
      expect((await post("/v1/chat/completions", "{")).status).toBe(400);
      expect((await post("/v1/messages", "x".repeat(2_000_000))).status).toBe(413);
      expect((await post("/v1/responses", "{}", { "content-encoding": "zstd" })).status).toBe(400);
      expect((await post("/v1/completions", "{}")).status).toBe(404);
      expect((await fetch(`${way.url}/v1/chat/completions`)).status).toBe(404);
      expect((await openai(way).models.list()).data).toHaveLength(1);
      expect((await fetch(`${way.url}/v1/models`)).status).toBe(401);
      await openai(way).chat.completions.create(HI);
    });
    await expect(openai(ended).chat.completions.create(HI)).rejects.toThrow(OpenAI.AuthenticationError);
  });

  it("a limit of the environment is reported in the dialect, ends the rollout and is scored", async () => {
    const { client, prompts } = policy([`one${END}`]);
    const answers: unknown[] = [];
    const { episode, trace } = await runAgent(
      { server, client },
      async (way) => {
        await openai(way).chat.completions.create(HI);
        answers.push(
          await openai(way, 2)
            .chat.completions.create(HI)
            .catch((error: unknown) => error),
        );
        await new Promise(() => undefined);
      },
      {},
      AbortSignal.timeout(20_000),
      { turns: 1 },
    );
    expect(episode.errors).toEqual([]);
    expect(trace).toMatchObject({ stop_condition: "max_turns", reward: 1 });
    expect(prompts).toHaveLength(1);
    await vi.waitFor(() => expect(String(answers[0])).toMatch(/400.*max_turns/u));
  });

  it("a stop of the environment's own ends it under its name", async () => {
    const { client } = policy([`one${END}`, `two${END}`, `three${END}`]);
    const { trace } = await runAgent(
      { server, client },
      async (way) => {
        const create = (content: string) =>
          openai(way).chat.completions.create({ ...HI, messages: [{ role: "user", content }] });
        await create("1");
        await create("2");
        await expect(create("3")).rejects.toThrow(/said_two/u);
      },
      { stops: { said_two: ({ lastReply }) => lastReply === "two" } },
    );
    expect(trace).toMatchObject({ stop_condition: "said_two", reward: 2 });
  });

  it("requests at the same time take no turn beyond the limit while a slow stop is checked, and are stopped once", async () => {
    const { client, prompts } = policy(Array.from({ length: 9 }, () => `yes${END}`));
    const onStop = vi.fn();
    let taken = 0;
    const { trace } = await runAgent(
      { server, client },
      async (way) => {
        const create = (content: string) =>
          openai(way).chat.completions.create({ ...HI, messages: [{ role: "user", content }] });
        await create("first");
        const asked = await Promise.allSettled(["1", "2", "3", "4", "5"].map(create));
        taken = asked.filter(({ status }) => status === "fulfilled").length;
      },
      { maxTurns: 3, onStop, stops: { never: () => new Promise((resolve) => setTimeout(resolve, 50, false)) } },
    );
    expect([taken, prompts.length, onStop.mock.calls.length]).toEqual([2, 3, 1]);
    expect(trace).toMatchObject({ stop_condition: "max_turns", reward: 3 });
  });
});

it("a request whose body is still coming when its rollout ends takes no turn", async () => {
  const { client, prompts } = policy([`one${END}`, `two${END}`]);
  let late: ClientRequest | undefined;
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "late" }] });
  const { trace } = await runAgent({ server, client }, async ({ url, key }) => {
    await openai({ url, key }).chat.completions.create({ model: "m", messages: [{ role: "user", content: "hi" }] });
    const headers = { authorization: `Bearer ${key}`, "content-length": body.length };
    late = ask(`${url}/v1/chat/completions`, { method: "POST", headers });
    late.write(body.slice(0, 9));
    await new Promise((resolve) => setTimeout(resolve, 50));
  });
  const answered = once(late as ClientRequest, "response") as Promise<[IncomingMessage]>;
  late?.end(body.slice(9));
  const [answer] = await answered;
  answer.resume();
  expect([answer.statusCode, prompts.length, trace?.reward]).toEqual([401, 1, 1]);
});

it("a model behind an endpoint serves agents too, whatever its own dialect is", async () => {
  const mock = await mockEndpoint(() => chatCompletion("hello there", { reasoning_content: "hm" }));
  const endpoint = openEndpoint({ url: `${mock.url}/v1`, model: "m" });
  const { episode, trace } = await runAgent({ server, endpoint }, async (way) => {
    const first = await anthropic(way).messages.create({
      model: "m",
      max_tokens: 50,
      messages: [{ role: "user", content: "hi" }],
    });
    expect(first.content).toMatchObject([
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "hello there" },
    ]);
    // Its thinking is not handed back; the history is still the policy's own.
    await openai(way).chat.completions.create({
      model: "m",
      messages: [
        { role: "user", content: "hi" },
        { role: "assistant", content: "hello there" },
        { role: "user", content: "more" },
      ],
    });
  });
  await endpoint.close();
  await mock.close();
  expect(episode.errors).toEqual([]);
  expect(trace?.nodes.map(({ parent }) => parent)).toEqual([null, 0, 1, 2]);
});
