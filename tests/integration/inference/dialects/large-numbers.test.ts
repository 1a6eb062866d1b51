/** Whole numbers beyond 2^53 on the way through the server: in calls of tools, in their inputs of earlier turns, in schemas. */
import { beforeEach, describe, expect, it } from "vitest";

import { ScriptedModel } from "../../../support/models/scripted-model.ts";
import { useServing } from "../serving.ts";

const script = new ScriptedModel();
const serving = useServing((model) => script.over(model));
beforeEach(() => {
  script.next.length = 0;
});

const ID = "1234567890123456789";
/** Beyond 2^53, and a double. */
const DOUBLE = "1234567890123456768";
/** JavaScript writes it with an exponent. */
const LONG_ID = "1000000000000000000000001";
const CALL = `<tool_call>\n{"name": "add", "arguments": {"a": ${ID}, "b": [1e2, 0.5]}}\n</tool_call>`;
const HELLO = '{"role": "user", "content": "hello"}';
const SCHEMA = `{"type": "object", "properties": {"a": {"type": "integer", "minimum": ${ID}}}}`;
const TOOLS = `[{"name": "add", "input_schema": ${SCHEMA}}]`;

/** The status and the text of an answer, whose digits a reader of JSON would lose. */
async function post(path: string, body: string): Promise<{ status: number; text: string }> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(serving().url + path, { method: "POST", headers, body });
  return { status: response.status, text: await response.text() };
}

const message = (rest: string) => post("/v1/messages", `{"model": "tiny", "max_tokens": 50, ${rest}}`);

describe("a message", () => {
  it("has the digits that the model wrote in a call, whole and streamed", async () => {
    script.next.push(CALL, CALL);
    const request = `"messages": [${HELLO}], "tools": ${TOOLS}`;
    const whole = await message(request);
    expect(whole.text).toContain(`"input":{"a":${ID},"b":[100,0.5]}`);
    expect(JSON.parse(whole.text)).toMatchObject({ stop_reason: "tool_use" });
    const streamed = await message(`${request}, "stream": true`);
    expect(streamed.text).toContain(JSON.stringify(`{"a":${ID},"b":[100,0.5]}`));
  });

  it("takes the digits of an input and of a schema into the prompt", async () => {
    const use = `{"type": "tool_use", "id": "c", "name": "add", "input": {"a": ${LONG_ID}}}`;
    const result = '{"type": "tool_result", "tool_use_id": "c", "content": "2"}';
    const turns = [HELLO, `{"role": "assistant", "content": [${use}]}`, `{"role": "user", "content": [${result}]}`];
    const tools = TOOLS.replaceAll(ID, LONG_ID);
    const counted = await post("/v1/messages/count_tokens", `{"messages": [${turns.join()}], "tools": ${tools}}`);
    const call = `{"id": "c", "type": "function", "function": {"name": "add", "arguments": "{\\"a\\": ${LONG_ID}}"}}`;
    const chat = [
      HELLO,
      `{"role": "assistant", "content": "", "tool_calls": [${call}]}`,
      '{"role": "tool", "content": "2", "tool_call_id": "c"}',
    ];
    const shown = `[{"type": "function", "function": {"name": "add", "parameters": ${SCHEMA.replaceAll(ID, LONG_ID)}}}]`;
    const { text } = await post("/tokenize", `{"messages": [${chat.join()}], "tools": ${shown}}`);
    const { tokens } = JSON.parse(text) as { tokens: number[] };
    expect(JSON.parse(counted.text)).toEqual({ input_tokens: tokens.length });
    const { body } = await serving().post("/detokenize", { tokens });
    expect(body["prompt"]).toContain(`"arguments": {"a": ${LONG_ID}}`);
    expect(body["prompt"]).toContain(`"minimum": ${LONG_ID}`);
  });

  it("has the digits of a schema in what it samples by it", async () => {
    const asked = `{"max_tokens": 400, "messages": [${HELLO}], "temperature": 0`;
    const format = (one: string) => `"output_config": {"format": {"type": "json_schema", "schema": {"const": ${one}}}}`;
    const formed = await post("/v1/messages", `${asked}, ${format(DOUBLE)}}`);
    expect(formed.text).toContain(`"text":"${DOUBLE}"`);
    const properties = `{"id": {"const": ${DOUBLE}}}`;
    const schema = `{"type": "object", "properties": ${properties}, "required": ["id"], "additionalProperties": false}`;
    const tools = `[{"name": "add", "input_schema": ${schema}}]`;
    const forced = (schemas: string) =>
      post("/v1/messages", `${asked}, "tools": ${schemas}, "tool_choice": {"type": "any"}}`);
    expect(await forced(tools)).toMatchObject({ status: 200 });
    for (const { status, text } of [
      await post("/v1/messages", `${asked}, ${format(ID)}}`),
      await forced(tools.replaceAll(DOUBLE, ID)),
    ]) {
      expect(status).toBe(400);
      expect(text).toContain(`[PRL_GRAMMAR_INVALID] JSON Schema: const: ${ID} is beyond 2^53`);
    }
  });

  it("with a bound in a schema that the grammar cannot have is refused with the reason", async () => {
    const forced = `"messages": [${HELLO}], "tools": ${TOOLS}, "tool_choice": {"type": "tool", "name": "add"}`;
    const { status, text } = await message(forced);
    expect(status).toBe(400);
    expect(text).toContain("PRL_GRAMMAR_INVALID");
  });

  it.each(["1e300", "9007199254740993", ID, "1e999"])(
    "with max_tokens %s is refused with Anthropic's error",
    async (value) => {
      const { status, text } = await post("/v1/messages", `{"messages": [${HELLO}], "max_tokens": ${value}}`);
      expect(status).toBe(400);
      expect(JSON.parse(text)).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
      expect(text).toMatch(value === "1e999" ? /a number is beyond/u : /max_tokens/u);
    },
  );

  it("with the largest number of tokens has the rest of the context", async () => {
    const { status } = await post("/v1/messages", `{"messages": [${HELLO}], "max_tokens": 9007199254740991}`);
    expect(status).toBe(200);
  });
});

it("a response repeats the digits of its tools, whole, streamed and read again", async () => {
  const tools = `[{"type": "function", "name": "add", "parameters": ${SCHEMA}}]`;
  const request = `{"input": "hello", "max_output_tokens": 4, "tools": ${tools}`;
  const whole = await post("/v1/responses", `${request}}`);
  expect(whole.text).toContain(`"minimum":${ID}`);
  const { id } = JSON.parse(whole.text) as { id: string };
  const again = await fetch(`${serving().url}/v1/responses/${id}`);
  expect(await again.text()).toContain(`"minimum":${ID}`);
  const streamed = await post("/v1/responses", `${request}, "stream": true}`);
  expect(streamed.text).toContain(`"minimum":${ID}`);
});
