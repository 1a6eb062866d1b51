/** Forced calls and formats behind thinking over HTTP, with each parser, the openai package and a model of random weights. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";

import { createInferenceServer, type InferenceServerOptions } from "../../../../ts/inference/index.ts";
import { loadModel } from "../../../../ts/native/index.ts";
import { TOOL_CALL_PARSERS } from "../../../../ts/renderers/replies/parsers.ts";
import { publishVersion, scratch } from "../tiny-model.ts";

const PERSON = {
  type: "object",
  properties: {
    name: { type: "string", enum: ["Ann", 'O"Hara\\', "two\nlines", "<b>"] },
    age: { type: "integer", minimum: 0, maximum: 99 },
    tags: { type: "array", items: { type: "boolean" }, maxItems: 2 },
  },
  required: ["name", "age"],
  additionalProperties: false,
};
const isPerson = new Ajv2020().compile(PERSON);
const tools = [
  { type: "function" as const, function: { name: "find", parameters: PERSON } },
  {
    type: "function" as const,
    function: { name: "stop", parameters: { type: "object", properties: {}, additionalProperties: false } },
  },
];
const chat = { model: "tiny", messages: [{ role: "user" as const, content: "hello" }], max_tokens: 400, seed: 1 };

let remove: (() => Promise<void>) | undefined;
afterEach(async () => remove?.());

/** A server of a model whose vocabulary has `added` in place of its last tokens; a context that holds the tools. */
async function serve(chats: InferenceServerOptions["chats"], added: readonly string[] = []): Promise<OpenAI> {
  const root = await scratch();
  const { dir } = await publishVersion(root.dir, 0, { max_position_embeddings: 2048, vocab_size: 260 + added.length });
  await addTokens(dir, added);
  const model = await loadModel(dir, { threads: 2 });
  const server = await createInferenceServer(model, { modelDir: dir, modelNames: ["tiny"], ...(chats && { chats }) });
  remove = async () => {
    await server.close();
    await model.close();
    await root.remove();
  };
  return new OpenAI({ baseURL: `${await server.listen("127.0.0.1", 0)}/v1`, apiKey: "none", maxRetries: 0 });
}

async function addTokens(dir: string, contents: readonly string[]): Promise<void> {
  const path = join(dir, "tokenizer.json");
  const tokenizer = JSON.parse(await readFile(path, "utf8")) as { added_tokens: object[] };
  const flags = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: false };
  tokenizer.added_tokens.push(...contents.map((content, index) => ({ id: 260 + index, content, ...flags })));
  await writeFile(path, JSON.stringify(tokenizer));
}

/** Calls of several samples, whole ones only. */
async function calls(client: OpenAI, tool_choice: OpenAI.ChatCompletionToolChoiceOption) {
  const { choices } = await client.chat.completions.create({ ...chat, n: 8, tools, tool_choice });
  const done = choices.filter(({ finish_reason: reason }) => reason !== "length");
  expect(done.length).toBeGreaterThan(0);
  return done.map(({ message, finish_reason: reason }) => {
    expect(reason).toBe("tool_calls");
    expect(message.content).toBeNull();
    const [call, ...others] = message.tool_calls ?? [];
    expect(others).toEqual([]);
    if (call?.type !== "function") throw new Error("there is no call");
    return { name: call.function.name, given: JSON.parse(call.function.arguments) as unknown };
  });
}

describe.each([undefined, ...TOOL_CALL_PARSERS])("a forced call, parser %s", (toolCallParser) => {
  // Tags are text in the first vocabulary and tokens in the second.
  it.each([[[]], [["<tool_call>", "</tool_call>"]]])(
    "names a function of the tools, and its arguments match their schema: tokens %j",
    async (added) => {
      const client = await serve({ toolCallParser }, added);
      const found = await calls(client, { type: "function", function: { name: "find" } });
      for (const { name, given } of found)
        expect([name, isPerson(given)], JSON.stringify(given)).toEqual(["find", true]);
      for (const { name, given } of await calls(client, "required")) {
        if (name === "stop") expect(given).toEqual({});
        else expect([name, isPerson(given)], JSON.stringify(given)).toEqual(["find", true]);
      }
    },
  );
});

it("a forced call is refused together with a required format", async () => {
  const client = await serve(undefined);
  const response_format = { type: "json_schema" as const, json_schema: { name: "person", schema: PERSON } };
  const both = client.chat.completions.create({ ...chat, tools, tool_choice: "required", response_format });
  await expect(both).rejects.toThrow(/tool_choice/u);
});

describe("a required format behind thinking", () => {
  const THINK_END = 261;
  const response_format = {
    type: "json_schema" as const,
    json_schema: { name: "person", strict: true, schema: PERSON },
  };

  it("begins behind </think>: the thinking is free, the content is a valid document", async () => {
    const client = await serve({ reasoningParser: "deepseek_r1" }, ["<think>", "</think>"]);
    // Random weights do not end their thinking; the bias makes its token come after some others.
    const logit_bias = { [THINK_END]: 2 };
    const { choices } = await client.chat.completions.create({ ...chat, n: 16, logit_bias, response_format });
    const done = choices.filter(({ finish_reason: reason }) => reason === "stop");
    expect(done.length).toBeGreaterThan(0);
    for (const { message } of done)
      expect(isPerson(JSON.parse(message.content ?? "")), message.content ?? "").toBe(true);
    const thoughts = done.map(({ message }) => (message as { reasoning?: string }).reasoning ?? "");
    expect(thoughts.some((text) => text.length > 0)).toBe(true);
  });

  it("binds the whole reply where no thinking is open", async () => {
    const client = await serve({ reasoningParser: "qwen3" }, ["<think>", "</think>"]);
    const { choices } = await client.chat.completions.create({ ...chat, n: 4, response_format });
    const done = choices.filter(({ finish_reason: reason }) => reason === "stop");
    expect(done.length).toBeGreaterThan(0);
    for (const { message } of done) expect(isPerson(JSON.parse(message.content ?? ""))).toBe(true);
  });
});
