/** Numbers of requests that JavaScript does not hold: whole ones keep their digits, fields that take numbers refuse them by name. */
import { describe, expect, test } from "vitest";

import { PrlError } from "../../../../ts/errors.ts";
import { readMessages } from "../../../../ts/inference/dialects/messages.ts";
import { readResponses } from "../../../../ts/inference/dialects/responses.ts";
import { toGenerate } from "../../../../ts/inference/openai/request.ts";
import { MAX_DEPTH, readJson } from "../../../../ts/inference/requests/read-json.ts";
import { parseGenerateRequest } from "../../../../ts/inference/requests/request.ts";

const ID = "1234567890123456789";
const LIMITS = {
  vocabSize: 100,
  maxModelLen: 16,
  servedModelNames: [],
  returnsRoutedExperts: false,
  adapters: new Set<string>(),
};

function refusal(read: () => unknown): PrlError {
  try {
    read();
  } catch (error) {
    if (error instanceof PrlError) return error;
    throw error;
  }
  throw new Error("it is accepted");
}

describe("the body of a request", () => {
  test("keeps the digits of whole numbers beyond 2^53, and rounds no other number otherwise than JavaScript", () => {
    expect(readJson(`{"a": [${ID}, -${ID}], "b": 9007199254740993, "c": 9007199254740991, "d": 1e300}`)).toEqual({
      a: [BigInt(ID), -BigInt(ID)],
      b: 9007199254740993n,
      c: Number.MAX_SAFE_INTEGER,
      d: 1e300,
    });
  });

  test.each(["1e309", "-1e309", "9".repeat(310), `{"a": [${"9".repeat(310)}]}`])("with %s is refused", (text) => {
    const { code, message } = refusal(() => readJson(text));
    expect(code).toBe("PRL_INFERENCE_REQUEST");
    expect(message).toMatch(/^body: a number is beyond 1\.797\S*e\+308.*; send it as a text$/u);
  });

  test("that is nested deeply is refused before its large numbers are read", () => {
    const deep = 200_000;
    const text = `${"[".repeat(deep)}${ID}${"]".repeat(deep)}`;
    expect(refusal(() => readJson(text)).message).toContain(`nested deeper than ${MAX_DEPTH} levels`);
  });
});

describe("a message", () => {
  const message = (rest: string) =>
    readMessages(
      readJson(`{"model": "m", "max_tokens": 4, "messages": [{"role": "user", "content": "a"}], ${rest}}`),
      "m",
    );

  test("has the digits of tool inputs, schemas of tools and formats", () => {
    const use = `{"type": "tool_use", "id": "c", "name": "f", "input": {"id": ${ID}, "of": [0.5, -${ID}]}}`;
    const schema = `{"type": "object", "properties": {"id": {"type": "integer", "maximum": ${ID}}}}`;
    const { asked, body } = readMessages(
      readJson(
        `{"max_tokens": 9007199254740991, "messages": [{"role": "assistant", "content": [${use}]}, {"role": "user", "content": "a"}],
          "tools": [{"name": "f", "input_schema": ${schema}}], "metadata": {"user_id": ${ID}},
          "output_config": {"format": {"type": "json_schema", "schema": ${schema}}}}`,
      ),
      "m",
    );
    const read = { type: "object", properties: { id: { type: "integer", maximum: BigInt(ID) } } };
    expect(asked.maxTokens).toBe(Number.MAX_SAFE_INTEGER);
    expect(asked.messages[0]?.tool_calls?.[0]?.function.arguments).toBe(`{"id":${ID},"of":[0.5,-${ID}]}`);
    expect(body.tools).toMatchObject([{ function: { name: "f", parameters: read } }]);
    expect(body.response_format).toMatchObject({ json_schema: { schema: read } });
  });

  test.each([
    ["max_tokens", "1e300"],
    ["max_tokens", "9007199254740992"],
    ["max_tokens", "9007199254740993"],
    ["max_tokens", ID],
    ["temperature", "1e300"],
    ["temperature", ID],
    ["top_k", ID],
    ["min_tokens", ID],
    ["priority", ID],
    ["seed", ID],
    ["stop_token_ids", `[${ID}]`],
    ["allowed_token_ids", `[${ID}]`],
    ["logit_bias", `{"1": ${ID}}`],
    ["thinking", `{"type": "enabled", "budget_tokens": ${ID}}`],
    ["model", ID],
    ["stop_sequences", `[${ID}]`],
    ["system", ID],
  ])("with %s %s is refused by the field's name", (field, value) => {
    // What the message does not check, the request to sample does.
    const { code, message: text } = refusal(() =>
      toGenerate(message(`"${field}": ${value}`).body, Uint32Array.of(1), [], LIMITS),
    );
    expect(["PRL_INFERENCE_REQUEST", "PRL_INFERENCE_UNSUPPORTED"]).toContain(code);
    expect(text).toContain(field);
  });
});

test("a request of the Responses API has the digits of schemas too", () => {
  const schema = `{"type": "object", "properties": {"id": {"const": ${ID}}}}`;
  const tools = `[{"type": "function", "name": "f", "parameters": ${schema}}]`;
  const { body, echoed } = readResponses(readJson(`{"input": "a", "tools": ${tools}}`), "m");
  const read = { properties: { id: { const: BigInt(ID) } } };
  expect(body.tools).toMatchObject([{ function: { parameters: read } }]);
  expect(echoed).toMatchObject({ tools: [{ parameters: read }] });
});

test("a request to sample names the field and shows the number", () => {
  const { message } = refusal(() =>
    parseGenerateRequest(readJson(`{"token_ids": [1], "sampling_params": {"max_tokens": ${ID}}}`), LIMITS),
  );
  expect(message).toContain(
    `sampling_params.max_tokens: must be an integer of at least 0 and at most 2^53 - 1, got ${ID}`,
  );
});
