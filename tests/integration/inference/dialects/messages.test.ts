/** `/v1/messages` with Anthropic's package. */
import Anthropic from "@anthropic-ai/sdk";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";

import { createInferenceServer } from "../../../../ts/inference/index.ts";
import { ScriptedModel } from "../../../support/models/scripted-model.ts";
import { useServing } from "../serving.ts";

const script = new ScriptedModel();
const serving = useServing((model) => script.over(model));
let anthropic: Anthropic;

beforeAll(() => {
  anthropic = new Anthropic({ baseURL: serving().url, apiKey: "none", maxRetries: 0 });
});
beforeEach(() => {
  script.next.length = 0;
});

const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>';
const ADD = { name: "add", description: "Adds", input_schema: { type: "object" as const, properties: {} } };
const HELLO = [{ role: "user" as const, content: "hello" }];

describe("a message", () => {
  it("is what a chat with the same messages says", async () => {
    const sampling = { model: "tiny", seed: 7, temperature: 0.7, max_tokens: 24 };
    const message = await anthropic.messages.create({ ...sampling, system: "Be short.", messages: HELLO });
    const { body } = await serving().post("/v1/chat/completions", {
      ...sampling,
      messages: [{ role: "system", content: "Be short." }, ...HELLO],
    });
    const chat = body as { choices: [{ message: { content: string } }]; usage: Record<string, number> };
    expect(message.content).toMatchObject([{ type: "text", text: chat.choices[0].message.content }]);
    const { input_tokens: fresh, cache_read_input_tokens: cached, output_tokens: written } = message.usage;
    expect([fresh + (cached ?? 0), written]).toEqual([chat.usage["prompt_tokens"], chat.usage["completion_tokens"]]);
  });

  it.each([1, 3, 1000])("streams to the same message, %i tokens at a time", async (step) => {
    script.step = step;
    for (const text of ["Grüße 😀, you", CALL, `First${CALL}`, ""]) {
      const request = { model: "tiny", messages: HELLO, tools: [ADD], max_tokens: 200 };
      script.next.push(text, text);
      const whole = await anthropic.messages.create(request);
      const stream = anthropic.messages.stream(request);
      const deltas: string[] = [];
      stream.on("text", (delta) => deltas.push(delta));
      const streamed = await stream.finalMessage();
      const bare = (content: readonly object[]) => content.map((block) => ({ ...block, id: null }));
      expect(bare(streamed.content)).toEqual(bare(whole.content));
      expect(streamed.stop_reason).toBe(whole.stop_reason);
      expect(streamed.usage).toMatchObject(whole.usage);
      expect(deltas.join("")).toBe(whole.content.map((block) => (block.type === "text" ? block.text : "")).join(""));
    }
  });

  it("calls tools and takes their results", async () => {
    script.next.push(CALL);
    const request = { model: "tiny", messages: HELLO, tools: [ADD], max_tokens: 50 };
    const { content, stop_reason: stop } = await anthropic.messages.create(request);
    expect(stop).toBe("tool_use");
    const [use] = content;
    expect(use).toMatchObject({ type: "tool_use", name: "add", input: { a: 1 } });
    const id = use?.type === "tool_use" ? use.id : "";
    const result = { type: "tool_result" as const, tool_use_id: id, content: "2" };
    const messages = [...HELLO, { role: "assistant" as const, content }, { role: "user" as const, content: [result] }];
    const { input_tokens: count } = await anthropic.messages.countTokens({ model: "tiny", messages, tools: [ADD] });
    const next = await anthropic.messages.create({ ...request, messages, max_tokens: 4 });
    expect(next.usage.input_tokens + (next.usage.cache_read_input_tokens ?? 0)).toBe(count);
    expect(count).toBeGreaterThan(
      (await anthropic.messages.countTokens({ model: "tiny", messages: HELLO })).input_tokens,
    );
  });

  it("ends at a stop sequence, and continues a reply that is begun", async () => {
    script.next.push("one two three", "B", "B");
    const request = { model: "tiny", messages: HELLO, max_tokens: 50 };
    const stopped = await anthropic.messages.create({ ...request, stop_sequences: ["two"] });
    expect(stopped).toMatchObject({ content: [{ text: "one" }], stop_reason: "stop_sequence", stop_sequence: "two" });
    const begun = { ...request, messages: [...HELLO, { role: "assistant" as const, content: "The answer is" }] };
    const whole = await anthropic.messages.create(begun);
    expect(whole.content).toMatchObject([{ text: "B" }]);
    const streamed = await anthropic.messages.stream(begun).finalMessage();
    expect(streamed.content).toMatchObject([{ text: "B" }]);
    const { input_tokens: bare } = await anthropic.messages.countTokens({ model: "tiny", messages: HELLO });
    const { input_tokens: more } = await anthropic.messages.countTokens({ model: "tiny", messages: begun.messages });
    expect(more - bare).toBe("The answer is".length);
    script.next.push("B", "B");
    const indented = { ...request, messages: [...HELLO, { role: "assistant" as const, content: "\n  The answer is" }] };
    expect((await anthropic.messages.create(indented)).content).toMatchObject([{ text: "B" }]);
    expect((await anthropic.messages.stream(indented).finalMessage()).content).toMatchObject([{ text: "B" }]);
  });

  it("has the thinking in its own block, whole and streamed, and is refused where thinking cannot be switched off", async () => {
    const { dir } = serving().folder(0);
    const chats = { reasoningParser: "deepseek_r1" } as const;
    const server = await createInferenceServer(script.over(serving().model), { modelDir: dir, chats });
    try {
      const other = new Anthropic({ baseURL: await server.listen("127.0.0.1", 0), apiKey: "none", maxRetries: 0 });
      const request = { model: "tiny", messages: HELLO, max_tokens: 50 };
      script.next.push("so</think>Done.", "so</think>Done.");
      const whole = await other.messages.create(request);
      expect(whole.content).toMatchObject([
        { type: "thinking", thinking: "so" },
        { type: "text", text: "Done." },
      ]);
      const streamed = await other.messages.stream(request).finalMessage();
      expect(streamed.content).toMatchObject([
        { type: "thinking", thinking: "so" },
        { type: "text", text: "Done." },
      ]);
      const never = other.messages.create({ ...request, thinking: { type: "disabled" } });
      await expect(never).rejects.toThrow(/thinking: .*enable_thinking/u);
    } finally {
      await server.close();
    }
    const message = await anthropic.messages.create({
      model: "tiny",
      messages: HELLO,
      max_tokens: 4,
      thinking: { type: "disabled" },
    });
    expect(message.usage.output_tokens).toBeGreaterThan(0);
  });

  it("is refused with Anthropic's error, before a stream begins too", async () => {
    const request = { model: "tiny", messages: HELLO, max_tokens: 4 };
    const failed = anthropic.messages.create({ ...request, container: "c" });
    await expect(failed).rejects.toMatchObject({ status: 501, error: { type: "error", error: { type: "api_error" } } });
    await expect(failed).rejects.toThrow(/container/u);
    const thinking = { type: "enabled" as const, budget_tokens: 1024 };
    await expect(anthropic.messages.create({ ...request, stream: true, thinking })).rejects.toThrow(/budget_tokens/u);
    await expect(anthropic.messages.create({ ...request, model: "other" })).rejects.toMatchObject({
      status: 404,
      error: { error: { type: "not_found_error" } },
    });
    await expect(anthropic.messages.create({ ...request, max_tokens: 0 })).rejects.toThrow(/max_tokens/u);
    const tool = { type: "bash_20250124" as const, name: "bash" as const };
    await expect(anthropic.messages.create({ ...request, tools: [tool] })).rejects.toThrow(/bash_20250124/u);
    const { body } = await serving().post("/v1/messages", { ...request, tools: [ADD], tool_choice: { type: "tool" } });
    expect(body).toMatchObject({ error: { message: expect.stringContaining("tool_choice.name") } });
  });
});
