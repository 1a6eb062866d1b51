/** Required formats over HTTP, with the openai package and a model of random weights. */
import { Ajv2020 } from "ajv/dist/2020.js";
import OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";

import { SCHEMAS } from "./json-schemas.ts";
import { PROMPT, useServing } from "../serving.ts";

const serving = useServing();
let openai: OpenAI;

beforeAll(() => {
  openai = new OpenAI({ baseURL: `${serving().url}/v1`, apiKey: "none", maxRetries: 0 });
});

const HELLO = [{ role: "user" as const, content: "hello" }];
const PERSON = {
  type: "object",
  properties: { name: { type: "string", maxLength: 6 }, age: { type: "integer", minimum: 0, maximum: 99 } },
  required: ["name", "age"],
  additionalProperties: false,
};
const isPerson = new Ajv2020().compile(PERSON);
const person = { type: "json_schema" as const, json_schema: { name: "person", strict: true, schema: PERSON } };
const chat = { model: "tiny", messages: HELLO, max_tokens: 300, seed: 1 };

const DIGIT = { type: "json_schema", json_schema: { enum: [1, 2, 3] } };
const tag = (begin: string, content: object) => ({
  type: "structural_tag",
  format: { type: "tag", begin, content, end: "</f>" },
});

async function post(path: string, body: object): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(serving().url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

describe("response_format", () => {
  it("json_schema: every choice is a valid document, whole and streamed", async () => {
    const whole = await openai.chat.completions.create({ ...chat, n: 4, response_format: person });
    const done = whole.choices.filter(({ finish_reason: reason }) => reason === "stop");
    expect(done.length).toBeGreaterThan(0);
    for (const { message } of done) expect(isPerson(JSON.parse(message.content ?? ""))).toBe(true);
    const texts = ["", "", "", ""];
    for await (const chunk of await openai.chat.completions.create({
      ...chat,
      n: 4,
      response_format: person,
      stream: true,
    }))
      for (const { index, delta } of chunk.choices) texts[index] += delta.content ?? "";
    expect(texts).toEqual(whole.choices.map(({ message }) => message.content));
  });

  it("json_schema: a completion that is cut says so", async () => {
    const { choices } = await openai.chat.completions.create({
      ...chat,
      max_tokens: 5,
      response_format: person,
    });
    expect(choices[0]).toMatchObject({ finish_reason: "length" });
    expect(choices[0]?.message.content).toMatch(/^\s*\{/u);
  });

  it("acts in responses and messages", async () => {
    const format = { type: "json_schema", name: "person", schema: PERSON };
    const response = await post("/v1/responses", {
      model: "tiny",
      input: "hello",
      max_output_tokens: 400,
      text: { format },
    });
    expect(response.status).toBe(200);
    const [item] = response.body["output"] as { content: { text: string }[] }[];
    const text = item?.content[0]?.text ?? "";
    if (response.body["status"] === "completed") expect(isPerson(JSON.parse(text))).toBe(true);
    else expect(text).toMatch(/^\s*\{/u);
  });
});

describe("vLLM's fields", () => {
  it("a structural tag leaves text free until its trigger", async () => {
    const { body, status } = await post("/v1/completions", {
      model: "tiny",
      prompt: "hello",
      max_tokens: 60,
      seed: 4,
      n: 8,
      // So that the trigger and the end come.
      logit_bias: { 60: 8, 257: 4 },
      structured_outputs: {
        structural_tag: {
          structures: [{ begin: "<f", schema: { enum: [1, 2, 3] }, end: ">" }],
          triggers: ["<"],
        },
      },
    });
    expect(status, JSON.stringify(body)).toBe(200);
    const texts = (body["choices"] as { text: string }[]).map(({ text }) => text);
    expect(texts.join("")).toMatch(/<f[1-3]>/u);
    for (const text of texts) expect(text).toMatch(/^(?:[^<]|<f\s*[1-3]\s*>)*(?:<f?\s*[1-3]?\s*)?$/u);
  });

  it.each([
    [{ structured_outputs: { regex: "[0-9]{4}" } }, /^[0-9]{4}$/u],
    [{ structured_outputs: { choice: ["red", "blue"] } }, /^(?:red|blue)$/u],
    [{ structured_outputs: { choice: ["red", "blue"] }, ignore_eos: true }, /^(?:red|blue)$/u],
    [{ structured_outputs: { grammar: 'start: "a" "b"+ "c"' } }, /^ab+(?:c|$)/u],
    [
      { structured_outputs: { grammar: 'root ::= [a-z]+ "b" tail\ntail ::= "c" | "(" tail ")"' } },
      /^[a-z]+(?:b\(*c?\)*)?$/u,
    ],
    [{ structured_outputs: { json: { type: "boolean" } } }, /^(?:true|false)$/u],
    [{ structured_outputs: { json: '{"const":5}', disable_any_whitespace: true } }, /^5$/u],
    [{ structured_outputs: { json_object: true } }, /^\s*\{/u],
    [{ structured_outputs: { json: { enum: [[1, 2]] }, whitespace_pattern: "_" } }, /^_?\[_?1_?,_?2_?\]$/u],
    [{ structured_outputs: { structural_tag: tag("<f>", { type: "regex", pattern: "[ab]" }) } }, /^<f>[ab]<\/f>$/u],
    [{ structured_outputs: { structural_tag: JSON.stringify(tag("x", DIGIT)) } }, /^x[1-3]<\/f>$/u],
    [{ response_format: tag("[", DIGIT) }, /^\[[1-3]<\/f>$/u],
    [{ guided_regex: "ab?" }, /^ab?$/u],
    [{ guided_choice: ["x", "yz"] }, /^(?:x|yz)$/u],
    [{ guided_json: { enum: [1, 2] } }, /^[12]$/u],
    [{ guided_grammar: 'start: "q"' }, /^q$/u],
    [{ guided_grammar: 'root ::= "q" | "r"' }, /^[qr]$/u],
    [{ response_format: { type: "json_object" } }, /^\s*\{/u],
  ])("%j", async (field, expected) => {
    const { body, status } = await post("/v1/completions", {
      model: "tiny",
      prompt: "hello",
      max_tokens: 40,
      seed: 2,
      ...field,
    });
    expect(status, JSON.stringify(body)).toBe(200);
    expect((body["choices"] as { text: string }[])[0]?.text).toMatch(expected);
  });

  it.each([
    [{ jsonSchema: { enum: [1, 2] } }, /^[12]$/u],
    [{ regex: "[ab]{2}" }, /^[ab]{2}$/u],
    [{ choice: ["x", "yz"] }, /^(?:x|yz)$/u],
    [{ grammar: 'root ::= "q"' }, /^q$/u],
    [{ structuralTag: tag("<f>", DIGIT) }, /^<f>[1-3]<\/f>$/u],
    [{ regex: "[0-9]", after: "a" }, /^[^a]*a\s{0,8}[0-9]?$/u],
  ])("the client of rollouts sends %j", async (format, expected) => {
    const sampling = { maxTokens: 40, seed: 2, format };
    const { tokenIds, finishReason } = await serving().client.generate({ tokenIds: PROMPT, sampling });
    const text = tokenIds.slice(0, finishReason === "stop" ? -1 : undefined);
    expect(Buffer.from(text).toString()).toMatch("after" in format && finishReason === "length" ? /./u : expected);
  });

  it("structured_outputs acts in the generate endpoint", async () => {
    const sampling = { max_tokens: 20, seed: 3, structured_outputs: { choice: ["one", "two"] } };
    const { body } = await post("/inference/v1/generate", { token_ids: PROMPT, sampling_params: sampling });
    const [choice] = body["choices"] as { token_ids: number[] }[];
    expect(["one", "two"]).toContain(String.fromCodePoint(...(choice?.token_ids.slice(0, -1) ?? [])));
  });

  it.each([
    [{ structured_outputs: { regex: "(" } }, 400, "PRL_GRAMMAR_INVALID"],
    [{ guided_json: { type: "array", uniqueItems: true } }, 400, "PRL_GRAMMAR_INVALID"],
    [{ structured_outputs: { json: false } }, 400, "PRL_GRAMMAR_EMPTY"],
    [{ structured_outputs: { json: { enum: [] } } }, 400, "PRL_GRAMMAR_EMPTY"],
    [
      { structured_outputs: { grammar: `start: ${"(".repeat(400)}"a"${")".repeat(400)}` } },
      400,
      "PRL_GRAMMAR_TOO_LARGE",
    ],
    [{ structured_outputs: { grammar: 'root ::= "a' } }, 400, "PRL_GRAMMAR_INVALID"],
    [{ structured_outputs: { grammar: "root ::= root" } }, 400, "PRL_GRAMMAR_EMPTY"],
    [{ structured_outputs: { regex: "a", choice: ["a"] } }, 400, "PRL_INFERENCE_REQUEST"],
    [{ structured_outputs: { regx: "a" } }, 400, "PRL_INFERENCE_REQUEST"],
    [{ structured_outputs: { choice: "a" } }, 400, "PRL_INFERENCE_REQUEST"],
    [{ structured_outputs: { structural_tag: "{}" } }, 400, "PRL_GRAMMAR_INVALID"],
    [{ structured_outputs: { structural_tag: "{" } }, 400, "PRL_INFERENCE_REQUEST"],
    [{ structured_outputs: { structural_tag: tag("x", { type: "dispatch" }) } }, 400, "PRL_GRAMMAR_INVALID"],
    [{ structured_outputs: { regex: "a", whitespace_pattern: " " } }, 400, "PRL_INFERENCE_REQUEST"],
    [
      { structured_outputs: { json: {}, whitespace_pattern: " ", disable_any_whitespace: true } },
      400,
      "PRL_INFERENCE_REQUEST",
    ],
    [{ structured_outputs: { json: {}, whitespace_pattern: "(" } }, 400, "PRL_GRAMMAR_INVALID"],
    [{ structured_outputs: { json: {}, disable_additional_properties: true } }, 501, "PRL_INFERENCE_UNSUPPORTED"],
    [{ structured_outputs: { regex: "a" }, guided_regex: "a" }, 400, "PRL_INFERENCE_REQUEST"],
    [{ response_format: { type: "xml" } }, 501, "PRL_INFERENCE_UNSUPPORTED"],
    [{ response_format: { type: "json_schema", json_schema: { name: "x" } } }, 400, "PRL_INFERENCE_REQUEST"],
    [{ response_format: "json" }, 400, "PRL_INFERENCE_REQUEST"],
  ])("%j is refused by name", async (field, status, code) => {
    const { body, ...answer } = await post("/v1/completions", {
      model: "tiny",
      prompt: "hello",
      max_tokens: 4,
      ...field,
    });
    expect({ ...answer, error: body["error"] }).toMatchObject({ status, error: { code } });
    const streamed = await post("/v1/completions", {
      model: "tiny",
      prompt: "hello",
      max_tokens: 4,
      stream: true,
      ...field,
    });
    expect(streamed.status).toBe(status);
  });
});

it("requests with and without formats share a batch, and each ends as if it were alone", async () => {
  const formats = Object.values(SCHEMAS).slice(0, 12);
  const ask = (schema: object, seed: number) =>
    post("/v1/completions", {
      model: "tiny",
      prompt: "hello",
      max_tokens: 60,
      seed,
      guided_json: schema,
      return_token_ids: true,
    });
  const tokensOf = ({ body }: { body: Record<string, unknown> }) =>
    (body["choices"] as { token_ids: number[] }[])[0]?.token_ids;
  const together = await Promise.all([
    ...formats.map(ask),
    post("/v1/completions", { model: "tiny", prompt: "hello", guided_regex: "(", max_tokens: 4 }),
  ]);
  expect(together.pop()?.status).toBe(400);
  for (const [index, schema] of formats.entries())
    expect(tokensOf(together[index] ?? expect.fail())).toEqual(tokensOf(await ask(schema, index)));
});
