/**
 * How an agent's wishes shape a reply (stop strings, forced calls, begun replies, formats), and streams that are sent as they are
 * sampled.
 */
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { messagesBody } from "../../../../ts/environments/endpoint/anthropic.ts";
import { chatBody } from "../../../../ts/environments/endpoint/openai.ts";
import {
  InterceptionServer,
  type PolicyClient,
  type PolicyRequest,
  type ReplyClient,
  type ReplyRequest,
} from "../../../../ts/environments/index.ts";
import { type Agent, call, END, policy, runAgent as runAny, tokenizer } from "../../../support/agent-rollout.ts";

let server: InterceptionServer;
beforeAll(async () => {
  server = await InterceptionServer.start({ keepAliveMs: 10_000 });
});
afterAll(() => server.close());

/** What the agent throws fails the test. */
const runAgent: typeof runAny = async (...args) => {
  const result = await runAny(...args);
  expect(result.episode.errors).toEqual([]);
  return result;
};

const openai = ({ url, key }: Agent) => new OpenAI({ baseURL: `${url}/v1`, apiKey: key, maxRetries: 0 });
const anthropic = ({ url, key }: Agent) => new Anthropic({ baseURL: url, apiKey: key, maxRetries: 0 });
const HI = { role: "user" as const, content: "hi" };
const PARAMETERS = { type: "object" as const, properties: { a: {}, b: {} } };
const ADD = { type: "function" as const, function: { name: "add", parameters: PARAMETERS } };

/** Samples a text in two halves; the second once `half` has been heard by the agent. */
function inHalves(first: string, second: string) {
  let goOn = (): void => undefined;
  const heard = new Promise<void>((resolve) => (goOn = resolve));
  const client: PolicyClient = {
    async generate({ onTokens }) {
      const halves = [first, second].map((text) => tokenizer.encode(text));
      onTokens?.([...(halves[0] ?? [])]);
      await heard;
      for (const id of halves[1] ?? []) onTokens?.([id]);
      const tokenIds = Uint32Array.from(halves.flatMap((ids) => [...ids]));
      return { tokenIds, logprobs: new Float32Array(tokenIds.length), policyVersions: [[0, 1]], finishReason: "stop" };
    },
  };
  return { client, goOn };
}

describe("streams are sent as they are sampled, calls at their end", () => {
  const [FIRST, SECOND] = ["I think so. <", `tool is what I need.${call("add", { a: 1 })}${END}`];
  const CERTAIN = "I think so.";
  const WHOLE = "I think so. <tool is what I need.";

  it("chat completions", async () => {
    const { client, goOn } = inHalves(FIRST, SECOND);
    const { trace } = await runAgent({ server, client }, async (way) => {
      const stream = openai(way).chat.completions.stream({ model: "m", messages: [HI], tools: [ADD] });
      const deltas: string[] = [];
      stream.on("content", (delta) => {
        deltas.push(delta);
        goOn();
      });
      const final = await stream.finalChatCompletion();
      expect(deltas[0]).toBe(CERTAIN);
      expect(final.choices[0]?.message).toMatchObject({ content: WHOLE, tool_calls: [{ function: { name: "add" } }] });
      expect(final.choices[0]?.finish_reason).toBe("tool_calls");
    });
    expect(trace?.nodes.at(-1)?.message.content).toBe(WHOLE);
  });

  it("responses", async () => {
    const { client, goOn } = inHalves(FIRST, SECOND);
    await runAgent({ server, client }, async (way) => {
      const tools = [{ type: "function" as const, name: "add", parameters: PARAMETERS, strict: false }];
      const stream = openai(way).responses.stream({ model: "m", input: "hi", tools });
      const deltas: string[] = [];
      const numbers: number[] = [];
      for await (const event of stream) {
        numbers.push(event.sequence_number);
        if (event.type !== "response.output_text.delta") continue;
        deltas.push(event.delta);
        goOn();
      }
      const final = await stream.finalResponse();
      expect(deltas[0]).toBe(CERTAIN);
      expect(deltas.join("")).toBe(WHOLE);
      expect(final.output_text).toBe(WHOLE);
      expect(final.output.map(({ type }) => type)).toEqual(["message", "function_call"]);
      expect(numbers).toEqual(numbers.map((_, index) => index));
    });
  });

  it("messages", async () => {
    const { client, goOn } = inHalves(FIRST, SECOND);
    await runAgent({ server, client }, async (way) => {
      const tools = [{ name: "add", input_schema: PARAMETERS }];
      const stream = anthropic(way).messages.stream({ model: "m", max_tokens: 99, messages: [HI], tools });
      const deltas: string[] = [];
      stream.on("text", (delta) => {
        deltas.push(delta);
        goOn();
      });
      const final = await stream.finalMessage();
      expect(deltas[0]).toBe(CERTAIN);
      expect(final.content).toMatchObject([
        { type: "text", text: WHOLE },
        { type: "tool_use", name: "add", input: { a: 1 } },
      ]);
      expect(final.usage.input_tokens).toBeGreaterThan(0);
    });
  });

  it("messages have the digits of large numbers, which come back into one branch", async () => {
    const id = "1234567890123456789";
    const written = `<tool_call>\n{"name": "add", "arguments": {"a": ${id}}}\n</tool_call>${END}`;
    const { client } = policy([written, `Done.${END}`]);
    const { trace, branches } = await runAgent({ server, client }, async ({ url, key }) => {
      const say = async (more: string): Promise<string> => {
        const schema = `{"type": "object", "properties": {"a": {"type": "integer", "maximum": ${id}}}}`;
        const body = `{"model": "m", "max_tokens": 99, "tools": [{"name": "add", "input_schema": ${schema}}],
          "messages": [{"role": "user", "content": "hi"}${more}]}`;
        const headers = { "content-type": "application/json", "x-api-key": key };
        return (await fetch(`${url}/v1/messages`, { method: "POST", headers, body })).text();
      };
      const first = await say("");
      expect(first).toContain(`"input":{"a":${id}}`);
      const [, callId = ""] = /"id":"(call_\w+|toolu_\w+|[^"]+)","name":"add"/u.exec(first) ?? [];
      const use = `{"type": "tool_use", "id": "${callId}", "name": "add", "input": {"a": ${id}}}`;
      const result = `{"type": "tool_result", "tool_use_id": "${callId}", "content": "2"}`;
      const turns = `, {"role": "assistant", "content": [${use}]}, {"role": "user", "content": [${result}]}`;
      expect(await say(turns)).toContain("Done.");
    });
    expect(branches).toHaveLength(1);
    expect(trace?.metrics).not.toHaveProperty("rerendered_turns");
  });

  it("a reply that fails half-way is an error of the stream, and no turn of the trace", async () => {
    const failing: PolicyClient = {
      async generate(request) {
        if (request.onTokens === undefined) return policy([`whole${END}`]).client.generate(request);
        request.onTokens([...tokenizer.encode("Half an ")]);
        throw new Error("the engine is gone");
      },
    };
    const { trace } = await runAgent({ server, client: failing }, async (way) => {
      const create = (stream: boolean) =>
        openai(way).chat.completions.create({ model: "m", messages: [HI], stream }) as Promise<AsyncIterable<unknown>>;
      const drain = async () => {
        for await (const _ of await create(true));
      };
      await expect(drain()).rejects.toThrow(/the engine is gone/u);
      await create(false);
    });
    expect(trace?.nodes.filter(({ sampled }) => sampled).map(({ message }) => message.content)).toEqual(["whole"]);
  });
});

/** Ends its text at the first stop string, as engines do: with the token that completes it. */
function stopping(text: string) {
  const requests: PolicyRequest[] = [];
  const client: PolicyClient = {
    async generate(request) {
      requests.push(request);
      const { stop = [] } = request;
      const all = tokenizer.encode(text);
      let end = all.length;
      let reason: string | null = null;
      for (let length = 1; length <= all.length && reason === null; length++) {
        const soFar = tokenizer.decode(all.subarray(0, length));
        reason = stop.find((one) => soFar.includes(one)) ?? null;
        if (reason !== null) end = length;
      }
      const tokenIds = all.slice(0, end);
      request.onTokens?.([...tokenIds]);
      const logprobs = new Float32Array(end);
      return { tokenIds, logprobs, policyVersions: [[0, 1]], finishReason: "stop", stopReason: reason };
    },
  };
  return { client, requests };
}

describe("stop strings", () => {
  it("end the reply and are not sent; their tokens were sampled and train", async () => {
    const { client, requests } = stopping(`one, two; three${END}`);
    const { columns, trace } = await runAgent({ server, client }, async (way) => {
      const chat = (stop: string | string[]) =>
        openai(way).chat.completions.create({ model: "m", messages: [HI], stop });
      expect((await chat(["; ", "never"])).choices[0]).toMatchObject({
        finish_reason: "stop",
        message: { content: "one, two" },
      });
      const streamed = await openai(way)
        .chat.completions.stream({ model: "m", messages: [{ role: "user", content: "ho" }], stop: "; " })
        .finalChatCompletion();
      expect(streamed.choices[0]?.message.content).toBe("one, two");
      const message = await anthropic(way).messages.create({
        model: "m",
        max_tokens: 99,
        messages: [{ role: "user", content: "he" }],
        stop_sequences: [","],
      });
      expect(message).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: ",", content: [{ text: "one" }] });
    });
    expect(requests.map(({ stop }) => stop)).toEqual([["; ", "never"], ["; "], [","]]);
    expect(trace?.nodes.at(-1)?.message.content).toBe("one");
    expect(trace?.asked).toBe("varied");
    const sampled = columns?.tokenIds.filter((_, at) => columns.mask[at] === 1) ?? [];
    expect(tokenizer.decode(Uint32Array.from(sampled))).toBe("one, two; one, two; one,");
  });
});

describe("a forced call", () => {
  const REST = ` {"a": 1}}\n</tool_call>${END}`;

  it.each([
    ["required, of one tool", "required" as const],
    ["by its name", { type: "function" as const, function: { name: "add" } }],
  ])("%s: its beginning is prompt, the rest is sampled, and the next turn goes on from both", async (_name, choice) => {
    const { client, prompts } = policy([REST, `Done.${END}`]);
    const result = await runAgent({ server, client }, async (way) => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [HI];
      const create = (more: object) =>
        openai(way).chat.completions.create({ model: "m", messages, tools: [ADD], ...more });
      const first = await create({ tool_choice: choice });
      expect(first.choices[0]).toMatchObject({
        finish_reason: "tool_calls",
        message: { tool_calls: [{ function: { name: "add", arguments: '{"a":1}' } }] },
      });
      const said = first.choices[0]?.message;
      if (said === undefined) throw new Error("no message");
      const id = said.tool_calls?.[0]?.id ?? "";
      messages.push(said, { role: "tool", tool_call_id: id, content: "1" });
      expect((await create({})).choices[0]?.message.content).toBe("Done.");
    });
    expect(prompts[0]).toMatch(/<tool_call>\n\{"name": "add", "arguments":$/u);
    expect(result.branches).toHaveLength(1);
    const { columns } = result;
    const sampled = columns?.tokenIds.filter((_, at) => columns.mask[at] === 1) ?? [];
    expect(tokenizer.decode(Uint32Array.from(sampled))).toBe(`${REST}Done.${END}`);
  });

  it("of any of several tools, in the other dialects too", async () => {
    const sub = { ...ADD, function: { ...ADD.function, name: "sub" } };
    const { client, prompts } = policy(Array.from({ length: 3 }, () => `sub", "arguments":${REST}`));
    await runAgent({ server, client }, async (way) => {
      const chat = await openai(way).chat.completions.create({
        model: "m",
        messages: [HI],
        tools: [ADD, sub],
        tool_choice: "required",
      });
      expect(chat.choices[0]?.message.tool_calls).toMatchObject([{ function: { name: "sub" } }]);
      const tools = ["add", "sub"].map((name) => ({
        type: "function" as const,
        name,
        parameters: PARAMETERS,
        strict: false,
      }));
      const response = await openai(way).responses.create({ model: "m", input: "hi", tools, tool_choice: "required" });
      expect(response.output).toMatchObject([{ type: "function_call", name: "sub" }]);
      const message = await anthropic(way).messages.create({
        model: "m",
        max_tokens: 99,
        messages: [HI],
        tools: tools.map(({ name }) => ({ name, input_schema: PARAMETERS })),
        tool_choice: { type: "any" },
      });
      expect(message).toMatchObject({ stop_reason: "tool_use", content: [{ type: "tool_use", name: "sub" }] });
    });
    expect(prompts.every((prompt) => prompt.endsWith('<tool_call>\n{"name": "'))).toBe(true);
  });
});

describe("a reply that the agent has begun", () => {
  it.each([false, true])("is continued, and sent from there on (stream: %s)", async (stream) => {
    const { client, prompts } = policy([` is 3.${END}`, `Bye.${END}`]);
    const { branches } = await runAgent({ server, client }, async (way) => {
      const say = async (messages: Anthropic.MessageParam[]) => {
        const request = { model: "m", max_tokens: 99, messages };
        return stream
          ? anthropic(way).messages.stream(request).finalMessage()
          : anthropic(way).messages.create(request);
      };
      const begun = { role: "assistant" as const, content: "The sum" };
      expect((await say([HI, begun])).content).toMatchObject([{ text: " is 3." }]);
      await say([HI, { role: "assistant", content: "The sum is 3." }, { role: "user", content: "Thanks." }]);
    });
    expect(prompts[0]?.endsWith("The sum")).toBe(true);
    expect(branches).toHaveLength(1);
  });
});

describe("formats", () => {
  const schema = { type: "object", properties: { a: { type: "integer" } }, required: ["a"] };
  const response_format = { type: "json_schema" as const, json_schema: { name: "x", schema } };

  it("are refused, unless they are only to be checked: misses are counted and sent unchanged", async () => {
    const texts = ['{"a": 1}', '{"a": "no"}', "nothing", "neither"].map((text) => text + END);
    const { client, prompts } = policy(texts);
    const { trace } = await runAgent(
      { server, client },
      async (way) => {
        const create = (format: OpenAI.ChatCompletionCreateParams["response_format"]) =>
          openai(way).chat.completions.create({ model: "m", messages: [HI], response_format: format as never });
        const broken = { type: "json_schema" as const, json_schema: { name: "x", schema: { type: "integerr" } } };
        await expect(create(broken)).rejects.toThrow(/response_format.*integerr/u);
        expect(prompts).toHaveLength(0);
        expect((await create(response_format)).choices[0]?.message.content).toBe('{"a": 1}');
        expect((await create(response_format)).choices[0]?.message.content).toBe('{"a": "no"}');
        const said = await openai(way).responses.create({
          model: "m",
          input: "hi",
          text: { format: { type: "json_object" } },
        });
        expect(said.output_text).toBe("nothing");
        const message = await anthropic(way).messages.create({
          model: "m",
          max_tokens: 99,
          messages: [HI],
          output_config: { format: { type: "json_schema", schema } },
        });
        expect(message.content).toMatchObject([{ type: "text", text: "neither" }]);
      },
      { formats: "checked" },
    );
    expect(trace?.metrics["format_misses"]).toBe(3);
  });

  it("reach the engine where they are enforced and no tool is offered", async () => {
    const formats: (PolicyRequest["format"] | null)[] = [];
    const { client } = policy(Array.from({ length: 2 }, () => `{"a": 1}${END}`));
    const listening: PolicyClient = {
      generate: (request) => {
        formats.push(request.format ?? null);
        return client.generate(request);
      },
    };
    const tools = [{ type: "function" as const, function: { name: "f", parameters: {} } }];
    await runAgent(
      { server, client: listening },
      async (way) => {
        for (const more of [{}, { tools }])
          await openai(way).chat.completions.create({ model: "m", messages: [HI], response_format, ...more });
      },
      { formats: "enforced" },
    );
    expect(formats).toEqual([{ jsonSchema: response_format.json_schema.schema }, null]);
  });

  const structuralTag = { type: "structural_tag", format: { type: "any_text" } };
  const TEXT_FORMATS: [object, PolicyRequest["format"]][] = [
    [{ structured_outputs: { regex: "[ab]" } }, { regex: "[ab]" }],
    [{ structured_outputs: { choice: ["a", "b"], json_object: false } }, { choice: ["a", "b"] }],
    [{ structured_outputs: { structural_tag: JSON.stringify(structuralTag) } }, { structuralTag }],
    [{ guided_grammar: 'root ::= "a"' }, { grammar: 'root ::= "a"' }],
    [{ response_format: structuralTag }, { structuralTag }],
    [{ structured_outputs: { json: '{"const": 1}' } }, { jsonSchema: { const: 1 } }],
    [{ guided_json: { const: 1 } }, { jsonSchema: { const: 1 } }],
  ];

  it("of vLLM reach the engine too where they are enforced; a reply that is cut is a miss", async () => {
    const formats: (PolicyRequest["format"] | null)[] = [];
    const { client } = policy(TEXT_FORMATS.map(() => `1${END}`));
    const cut = policy(["111"]).client;
    const listening: PolicyClient = {
      generate: (request) => {
        formats.push(request.format ?? null);
        return (formats.length > TEXT_FORMATS.length ? cut : client).generate(request);
      },
    };
    const { trace } = await runAgent(
      { server, client: listening },
      async (way) => {
        const create = (field: object) =>
          openai(way).chat.completions.create({ model: "m", messages: [HI], ...field, stop: [String(formats.length)] });
        for (const [field] of TEXT_FORMATS) await create(field);
        await create({ guided_regex: "1+", max_tokens: 1 });
      },
      { formats: "enforced" },
    );
    expect(formats).toEqual([...TEXT_FORMATS.map(([, format]) => format), { regex: "1+" }]);
    expect(trace?.metrics["format_misses"]).toBe(1);
  });

  it.each([
    [undefined, { guided_regex: "a" }, /guided_regex: not by default/u],
    ["checked", { structured_outputs: { choice: ["a"] } }, /structured_outputs\.choice: only with formats/u],
    [
      "enforced",
      { guided_regex: "a", tools: [{ type: "function", function: { name: "f" } }] },
      /not together with tools/u,
    ],
    ["enforced", { guided_regex: "a", guided_choice: ["a"] }, /guided_choice: not together with guided_regex/u],
    ["enforced", { guided_choice: "a" }, /guided_choice/u],
    ["enforced", { structured_outputs: { regex: "a", json: {} } }, /structured_outputs: must have exactly one/u],
    [
      "enforced",
      { structured_outputs: { regex: "a", whitespace_pattern: " " } },
      /whitespace_pattern: not for agents/u,
    ],
    ["enforced", { structured_outputs: { json: "{" } }, /structured_outputs\.json: is no JSON/u],
  ] as const)("%s: %j is refused by name, and nothing is sampled", async (formats, field, problem) => {
    const { client, prompts } = policy([`a${END}`]);
    await runAgent(
      { server, client },
      async (way) => {
        const asked = openai(way).chat.completions.create({ model: "m", messages: [HI], ...(field as object) });
        await expect(asked).rejects.toThrow(problem);
        expect(prompts).toHaveLength(0);
        // A rollout has at least one turn.
        await openai(way).chat.completions.create({ model: "m", messages: [HI] });
      },
      formats === undefined ? {} : { formats },
    );
  });
});

describe("a policy behind an endpoint", () => {
  it("is sent stop strings and forced calls in its own dialect, and its stream is passed on", async () => {
    const requests: ReplyRequest[] = [];
    let goOn = (): void => undefined;
    const heard = new Promise<void>((resolve) => (goOn = resolve));
    const endpoint: ReplyClient = {
      async reply(request) {
        requests.push(request);
        request.onText?.("Half of");
        await heard;
        return {
          message: { role: "assistant", content: "Half of it." },
          toolCalls: [],
          finishReason: "stop",
          usage: null,
        };
      },
    };
    await runAgent({ server, endpoint }, async (way) => {
      const stream = openai(way).chat.completions.stream({ model: "m", messages: [HI], stop: ["x"] });
      const deltas: string[] = [];
      stream.on("content", (delta) => {
        deltas.push(delta);
        goOn();
      });
      expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe("Half of it.");
      expect(deltas).toEqual(["Half of", " it."]);
      await openai(way).chat.completions.create({
        model: "m",
        messages: [HI],
        tools: [ADD],
        tool_choice: { type: "function", function: { name: "add" } },
      });
      const begun = [HI, { role: "assistant" as const, content: "The sum" }];
      await expect(anthropic(way).messages.create({ model: "m", max_tokens: 9, messages: begun })).rejects.toThrow(
        /PRL_ENVIRONMENT_UNSUPPORTED/u,
      );
    });
    const [first, second] = requests;
    if (first === undefined || second === undefined) throw new Error("a request is missing");
    expect(chatBody("m", first)).toMatchObject({ stop: ["x"] });
    expect(messagesBody("m", first)).toMatchObject({ stop_sequences: ["x"] });
    expect(chatBody("m", second)).toMatchObject({ tool_choice: { type: "function", function: { name: "add" } } });
    expect(messagesBody("m", second)).toMatchObject({ tool_choice: { type: "tool", name: "add" } });
    expect(chatBody("m", { ...second, toolChoice: "required" })).toMatchObject({ tool_choice: "required" });
  });
});
