import * as fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";

import { type EndpointOptions, openEndpoint } from "../../../../ts/environments/index.ts";
import { readMessage } from "../../../../ts/environments/endpoint/anthropic.ts";
import { EventStreamParser } from "../../../../ts/inference-client/server-events.ts";
import { readChat } from "../../../../ts/environments/endpoint/openai.ts";
import { anthropicJoiner, openaiJoiner } from "../../../../ts/environments/endpoint/stream-joiners.ts";
import { chatCompletions } from "../../../../ts/dialects/chat-completions.ts";
import type { AgentReply, AgentRequest, Dialect, StreamEvent } from "../../../../ts/dialects/dialect.ts";
import { messages } from "../../../../ts/dialects/messages.ts";
import { PrlError } from "../../../../ts/errors.ts";
import { chatCompletion, type MockAnswer, mockEndpoint, status } from "../../../support/mock-endpoint.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

const wire = (events: readonly StreamEvent[]): string =>
  events
    .map(({ event, data }) => {
      const text = typeof data === "string" ? data : JSON.stringify(data);
      return `${event === undefined ? "" : `event: ${event}\n`}data: ${text}\n\n`;
    })
    .join("");

const request: AgentRequest = {
  messages: [],
  tools: [],
  model: "m",
  stream: true,
  maxTokens: null,
  oneCall: false,
  streamUsage: true,
  follows: null,
  stop: [],
  toolChoice: null,
  begun: "",
  format: null,
};
const calls = [
  { id: "a", type: "function", function: { name: "add", arguments: '{"x":1}' } },
  { id: "b", type: "function", function: { name: "now", arguments: "{}" } },
] as const;
const reply: AgentReply = {
  id: "0",
  created: 1,
  model: "m",
  message: { role: "assistant", content: "héllo 🙂\n\ndata: x", reasoning_content: "hm", tool_calls: calls },
  finishReason: "tool_calls",
  stopSequence: null,
  usage: { promptTokens: 5, completionTokens: 7 },
};

describe("events", () => {
  it("are the same however the bytes are cut, with either line end, comments left out", () => {
    const text = wire(messages.stream(reply, request).end(reply));
    const whole = new EventStreamParser().push(Buffer.from(text));
    expect(whole.map(({ event }) => event).filter((name) => name === "content_block_stop")).toHaveLength(4);
    fc.assert(
      fc.property(fc.array(fc.nat(400)), fc.boolean(), (cuts, crlf) => {
        const bytes = Buffer.from(crlf ? `: alive\n\n${text}`.replaceAll("\n", "\r\n") : text);
        const parser = new EventStreamParser();
        const events = [];
        let at = 0;
        for (const cut of cuts) {
          events.push(...parser.push(bytes.subarray(at, at + cut)));
          at += cut;
        }
        events.push(...parser.push(bytes.subarray(at)));
        expect(events).toEqual(whole);
      }),
    );
  });

  it("end with an error when one of them grows without end", () => {
    const parser = new EventStreamParser(1000);
    expect(parser.push(Buffer.from(`data: ${"x".repeat(900)}\n\n`))).toHaveLength(1);
    expect(() => {
      for (let i = 0; i < 2000; i++) parser.push(Buffer.from("data: x"));
    }).toThrow(expect.objectContaining({ code: "PRL_INFERENCE_FAILED" }));
  });

  it("may end their lines with a carriage return alone, and begin with a byte order mark", () => {
    const bytes = Buffer.from("\u{feff}event: a\rdata: 1\r\rdata\r\rretry: 3\rdata: 2\r\r\n");
    expect(new EventStreamParser().push(bytes)).toEqual([
      { event: "a", data: "1" },
      { event: "message", data: "" },
      { event: "message", data: "2" },
    ]);
  });

  it.each<[string, Dialect, typeof openaiJoiner, typeof readChat]>([
    ["chat completions", chatCompletions, openaiJoiner, readChat],
    ["messages", messages, anthropicJoiner, readMessage],
  ])("of %s join to the reply that comes without streaming", (_, dialect, joiner, read) => {
    const joined = joiner();
    const heard = new EventStreamParser()
      .push(Buffer.from(wire(dialect.stream(reply, request).end(reply))))
      .map((one) => joined.push(one));
    expect(heard.join("")).toBe(reply.message.content);
    expect(read(joined.whole())).toEqual(read(JSON.stringify(dialect.answer(reply))));
  });
});

async function connect(answers: readonly MockAnswer[], options: Partial<EndpointOptions> = {}) {
  const mock = await mockEndpoint((_, index) => answers[Math.min(index, answers.length - 1)] ?? {});
  const endpoint = openEndpoint({
    url: `${mock.url}/v1`,
    model: "m",
    maxRetries: 2,
    backoffMs: 1,
    stream: true,
    ...options,
  });
  open.push(endpoint, mock);
  const sampling = { temperature: 1, maxCompletionTokens: 16, topP: 1, topK: -1 };
  const ask = (onText?: (text: string) => void) =>
    endpoint.reply({
      prompt: [{ role: "user", content: "hi" }],
      sampling,
      seed: 1,
      signal: new AbortController().signal,
      ...(onText === undefined ? {} : { onText }),
    });
  return { mock, ask };
}

const streamed =
  (text: string, ending: "end" | "cut" | "hang" = "end"): MockAnswer =>
  (response, socket) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(text);
    if (ending === "end") response.end();
    if (ending === "cut") setTimeout(() => socket.destroy(), 10);
  };
const good = wire(chatCompletions.stream(reply, request).end(reply));
const half = good.slice(0, good.indexOf("tool_calls"));

describe("an endpoint that streams", () => {
  it("is asked to, heard as it speaks, and read to the end", async () => {
    const { mock, ask } = await connect([streamed(good)]);
    const heard: string[] = [];
    const { message, usage, toolCalls } = await ask((text) => heard.push(text));
    expect(message).toEqual(reply.message);
    expect([heard.join(""), usage, toolCalls.length]).toEqual([message.content, reply.usage, 2]);
    expect(mock.requests[0]?.body).toMatchObject({ stream: true, stream_options: { include_usage: true } });
  });

  it("may answer as a whole all the same", async () => {
    const { ask } = await connect([chatCompletion("whole")]);
    expect((await ask()).message.content).toBe("whole");
  });

  it("breaks off, goes silent, reports an error or makes no sense: it is asked again", async () => {
    const error = 'data: {"error": {"message": "engine died"}}\n\n';
    const bad = [
      streamed(half, "cut"),
      streamed(half),
      streamed(half, "hang"),
      streamed(error),
      streamed("data: {nope\n\n"),
    ];
    const { mock, ask } = await connect([...bad, status(429, {}), streamed(good)], {
      maxRetries: 6,
      idleTimeoutMs: 60,
    });
    expect((await ask()).message).toEqual(reply.message);
    expect(mock.requests).toHaveLength(7);
  });

  it.each<[string, MockAnswer, string]>([
    ["half a stream", streamed(half), "PRL_INFERENCE_ANSWER"],
    ["a stream that is cut", streamed(half, "cut"), "PRL_INFERENCE_ANSWER"],
    ["silence", streamed(half, "hang"), "PRL_INFERENCE_TIMEOUT"],
    ["an error in the stream", streamed('data: {"error": {"message": "x"}}\n\n'), "PRL_INFERENCE_FAILED"],
    ["nonsense", streamed("data: []]\n\n"), "PRL_INFERENCE_ANSWER"],
    ["nothing at all", streamed(""), "PRL_INFERENCE_ANSWER"],
    ["a status", status(500, {}), "PRL_INFERENCE_FAILED"],
  ])("%s ends with its own code, within the budget", async (_, answer, code) => {
    // Only silence waits it out: a slow machine must not turn another end into one.
    const { mock, ask } = await connect([answer], { idleTimeoutMs: code === "PRL_INFERENCE_TIMEOUT" ? 60 : 10_000 });
    const error: unknown = await ask().catch((one: unknown) => one);
    expect(error).toBeInstanceOf(PrlError);
    expect((error as PrlError).code).toBe(code);
    expect(mock.requests).toHaveLength(3);
  });

  it("text that a listener has received is not sent again", async () => {
    const begun = wire(chatCompletions.stream(reply, request).end(reply).slice(0, 3));
    const { mock, ask } = await connect([streamed(begun, "cut"), streamed(good)]);
    const heard: string[] = [];
    await expect(ask((text) => heard.push(text))).rejects.toMatchObject({ code: "PRL_INFERENCE_ANSWER" });
    expect([heard, mock.requests.length]).toEqual([[reply.message.content], 1]);
  });
});
