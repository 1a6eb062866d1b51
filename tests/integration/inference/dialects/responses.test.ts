/** `/v1/responses` with the openai package. */
import OpenAI from "openai";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";

import { ScriptedModel } from "../../../support/models/scripted-model.ts";
import { useServing } from "../serving.ts";

const script = new ScriptedModel();
const serving = useServing((model) => script.over(model));
let openai: OpenAI;

beforeAll(() => {
  openai = new OpenAI({ baseURL: `${serving().url}/v1`, apiKey: "none", maxRetries: 0 });
});
beforeEach(() => {
  script.next.length = 0;
});

const CALL = '<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>';
const ADD = {
  type: "function" as const,
  name: "add",
  description: "Adds",
  parameters: { type: "object", properties: { a: { type: "number" } } },
  strict: false,
};

describe("a response", () => {
  it("is what a chat with the same messages says", async () => {
    const sampling = { model: "tiny", seed: 7, temperature: 0.7 };
    const response = await openai.responses.create({
      ...sampling,
      instructions: "Be short.",
      input: "hello",
      max_output_tokens: 24,
    } as OpenAI.Responses.ResponseCreateParamsNonStreaming);
    const chat = await openai.chat.completions.create({
      ...sampling,
      messages: [
        { role: "system", content: "Be short." },
        { role: "user", content: "hello" },
      ],
      max_tokens: 24,
    });
    expect(response.output_text).toBe(chat.choices[0]?.message.content);
    expect(response).toMatchObject({
      object: "response",
      status: chat.choices[0]?.finish_reason === "length" ? "incomplete" : "completed",
      model: "tiny",
      instructions: "Be short.",
      max_output_tokens: 24,
      temperature: 0.7,
      usage: { input_tokens: chat.usage?.prompt_tokens, output_tokens: chat.usage?.completion_tokens },
    });
  });

  it.each([1, 3, 1000])("streams to the same response, %i tokens at a time", async (step) => {
    script.step = step;
    for (const text of ["Grüße 😀, you", CALL, `First${CALL}`, ""]) {
      const request = { model: "tiny", input: "hello", tools: [ADD] };
      script.next.push(text, text);
      const whole = await openai.responses.create(request);
      const stream = openai.responses.stream(request);
      const deltas: string[] = [];
      const numbers: number[] = [];
      for await (const event of stream) {
        numbers.push(event.sequence_number);
        if (event.type === "response.output_text.delta") deltas.push(event.delta);
      }
      const streamed = await stream.finalResponse();
      const bare = (output: readonly { id?: string | null }[]) =>
        output.map(({ id: _id, ...item }) => ({ ...item, call_id: null, parsed: null, parsed_arguments: null }));
      const parts = (one: unknown) => JSON.stringify(one).replaceAll(/,"parsed":[^,}\]]*/gu, "");
      expect(parts(bare(streamed.output))).toBe(parts(bare(whole.output)));
      expect(deltas.join("")).toBe(whole.output_text);
      expect(numbers).toEqual(numbers.map((_, index) => index));
      expect(streamed.usage).toEqual(whole.usage);
    }
  });

  it("calls functions, and goes on with their outputs from the response before", async () => {
    script.next.push(CALL);
    const first = await openai.responses.create({ model: "tiny", input: "1 + 1", tools: [ADD] });
    const [call] = first.output;
    expect(call).toMatchObject({ type: "function_call", name: "add", arguments: '{"a":1}' });
    const output = { type: "function_call_output" as const, call_id: "x", output: "2" };
    const callId = call?.type === "function_call" ? call.call_id : "";
    const second = await openai.responses.create({
      model: "tiny",
      input: [{ ...output, call_id: callId }],
      tools: [ADD],
      previous_response_id: first.id,
      max_output_tokens: 4,
    });
    const { body } = await serving().post("/tokenize", {
      messages: [
        { role: "user", content: "1 + 1" },
        {
          role: "assistant",
          content: "",
          tool_calls: [{ id: callId, type: "function", function: { name: "add", arguments: '{"a":1}' } }],
        },
        { role: "tool", content: "2", tool_call_id: callId },
      ],
      tools: [
        { type: "function", function: { name: "add", description: "Adds", parameters: ADD.parameters, strict: false } },
      ],
    });
    expect(second.usage?.input_tokens).toBe(body["count"]);
    expect(second.previous_response_id).toBe(first.id);
  });

  it("has the digits of large numbers in calls, and takes them back into the prompt", async () => {
    const id = "1234567890123456789";
    script.next.push(CALL.replace('"a": 1', `"a": ${id}`));
    const { output } = await openai.responses.create({ model: "tiny", input: "1 + 1", tools: [ADD] });
    expect(output).toMatchObject([{ name: "add", arguments: `{"a":${id}}` }]);
    const called = { id: "c", type: "function", function: { name: "add", arguments: `{"a":${id}}` } };
    const messages = [{ role: "assistant", content: "", tool_calls: [called] }];
    const { body } = await serving().post("/tokenize", { messages });
    const { body: text } = await serving().post("/detokenize", { tokens: body["tokens"] });
    expect(text["prompt"]).toContain(`"arguments": {"a": ${id}}`);
  });

  it("is kept until it is deleted, unless it is not to be stored", async () => {
    const request = { model: "tiny", input: "hello", max_output_tokens: 4 };
    const stored = await openai.responses.create(request);
    expect((await openai.responses.retrieve(stored.id)).output).toEqual(stored.output);
    await openai.responses.delete(stored.id);
    await expect(openai.responses.retrieve(stored.id)).rejects.toMatchObject({ status: 404 });
    const other = await openai.responses.create({ ...request, store: false });
    await expect(openai.responses.retrieve(other.id)).rejects.toMatchObject({ status: 404 });
    const following = openai.responses.create({ ...request, previous_response_id: other.id });
    await expect(following).rejects.toMatchObject({ status: 404 });
    const streamed = await openai.responses.stream(request).finalResponse();
    expect((await openai.responses.retrieve(streamed.id)).output_text).toBe(streamed.output_text);
  });

  it("is refused with OpenAI's error, before a stream begins too", async () => {
    const failed = openai.responses.create({ model: "tiny", input: "a", background: true });
    await expect(failed).rejects.toMatchObject({ status: 501, code: "PRL_INFERENCE_UNSUPPORTED" });
    await expect(failed).rejects.toThrow(/background/u);
    const image = { role: "user" as const, content: [{ type: "input_image" as const, detail: "auto" as const }] };
    await expect(openai.responses.create({ model: "tiny", input: [image], stream: true })).rejects.toThrow(
      /input_image/u,
    );
    await expect(openai.responses.create({ model: "other", input: "a" })).rejects.toMatchObject({ status: 404 });
    await expect(openai.responses.create({ model: "tiny", input: "a".repeat(600) })).rejects.toMatchObject({
      status: 400,
      code: "PRL_INFERENCE_CONTEXT",
    });
  });
});
