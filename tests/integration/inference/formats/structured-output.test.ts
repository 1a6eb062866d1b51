/** Required formats on the engine, with random weights: whatever the model says, the text is in the format. */
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  loadModel,
  type GenerateIncrement,
  type GenerateRequest,
  type Model,
  type StructuredOutput,
} from "../../../../ts/native/index.ts";
import { Formats } from "../../../../ts/native/formats/structured-output.ts";
import { loadTokenizer, type Tokenizer } from "../../../../ts/renderers/index.ts";
import { SCHEMAS } from "./json-schemas.ts";
import { EOS, publishVersion, scratch, VOCAB_SIZE } from "../tiny-model.ts";

let dir: string;
let remove: () => Promise<void>;
let model: Model;
let tokenizer: Tokenizer;
beforeAll(async () => {
  const folder = await scratch();
  remove = folder.remove;
  ({ dir } = await publishVersion(folder.dir, 0));
  [model, tokenizer] = await Promise.all([loadModel(dir, { threads: 2 }), loadTokenizer(dir)]);
});
afterAll(async () => {
  await model.close();
  await remove();
});

const PROMPT = [104, 105];
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);

const request = (structuredOutput: StructuredOutput, more: Partial<GenerateRequest> = {}): GenerateRequest => ({
  id: "x",
  promptTokenIds: PROMPT,
  maxTokens: 300,
  finalOnly: true,
  structuredOutput,
  ...more,
});

async function ends(requests: GenerateRequest[]): Promise<GenerateIncrement[]> {
  const all: GenerateIncrement[] = [];
  for await (const increment of model.generate(requests)) all.push(increment);
  return requests.map(({ id }) => all.find((one) => one.id === id) ?? expect.fail(`nothing came for ${id}`));
}

/** Samples `count` completions; their texts by how they ended. */
async function texts(output: StructuredOutput, count = 6): Promise<{ whole: string[]; cut: string[] }> {
  const requests = Array.from({ length: count }, (_, seed) => request(output, { id: String(seed), seed }));
  const sampled = { whole: [] as string[], cut: [] as string[] };
  for (const { error, finishReason, tokenIds } of await ends(requests)) {
    if (error !== undefined) throw error;
    const text = tokenizer.decode(tokenIds, { skipSpecialTokens: true });
    if (finishReason === "length") sampled.cut.push(text);
    else {
      expect(tokenIds.at(-1)).toBe(EOS);
      sampled.whole.push(text);
    }
  }
  return sampled;
}

describe("a JSON Schema", () => {
  test.each(Object.entries(SCHEMAS))("%s: every whole text is a valid document", async (_name, jsonSchema) => {
    const { whole } = await texts({ jsonSchema, compact: true });
    const isValid = ajv.compile(jsonSchema);
    expect(whole.length).toBeGreaterThan(0);
    for (const text of whole)
      expect(isValid(JSON.parse(text)), `${text}: ${ajv.errorsText(isValid.errors)}`).toBe(true);
  });

  test("any schema made of the usual parts", async () => {
    const leaf = fc.constantFrom<object>(
      { type: "boolean" },
      { type: "null" },
      { type: "integer", minimum: -5, maximum: 12 },
      { type: "string", maxLength: 3 },
      { enum: ["a", 1, null] },
    );
    const { schema } = fc.letrec<{ schema: object }>((tie) => ({
      schema: fc.oneof(
        { maxDepth: 2, depthSize: "small" },
        leaf,
        fc
          .record({ items: tie("schema"), maxItems: fc.integer({ min: 0, max: 2 }) })
          .map((one) => ({ type: "array", ...one })),
        fc.dictionary(fc.string({ maxLength: 4 }), tie("schema"), { maxKeys: 3 }).map((properties) => ({
          type: "object",
          properties,
          required: Object.keys(properties).slice(1),
          additionalProperties: false,
        })),
        fc.array(tie("schema"), { minLength: 1, maxLength: 2 }).map((anyOf) => ({ anyOf })),
      ),
    }));
    await fc.assert(
      fc.asyncProperty(schema, async (jsonSchema) => {
        const { whole } = await texts({ jsonSchema, compact: true }, 3);
        const isValid = ajv.compile(jsonSchema);
        return whole.every((text) => isValid(JSON.parse(text)));
      }),
      { numRuns: 40 },
    );
  });
});

describe("other formats", () => {
  test.each(["[0-9]{1,4}", "(yes|no), (maybe )?sir", "\\p{Lu}\\p{Ll}{2,4}", '\\{"a":[a-c]\\}', "[^x]{3}", "a?b?"])(
    "regular expression %s",
    async (regex) => {
      const { whole, cut } = await texts({ regex });
      expect(cut).toEqual([]);
      for (const text of whole) expect(text).toMatch(new RegExp(`^(?:${regex})$`, "su"));
    },
  );

  test("choices", async () => {
    const choice = ["positive", "negative", "pos", 'it\'s "so" so\n', "ja – 好"];
    const { whole, cut } = await texts({ choice }, 12);
    expect(cut).toEqual([]);
    for (const text of whole) expect(choice).toContain(text);
    expect(new Set(whole).size).toBeGreaterThan(1);
  });

  test("a grammar", async () => {
    const { whole } = await texts(
      { grammar: 'start: sum\nsum: term ("+" term){0,3}\nterm: /[0-9]{1,2}/ | "(" sum ")"' },
      12,
    );
    expect(whole.length).toBeGreaterThan(0);
    for (const text of whole) expect(text).toMatch(/^[0-9+()]+$/u);
  });

  test("a format behind a text", async () => {
    const before = await texts({ after: "a", regex: "[0-9]{2}" }, 12);
    expect(before.whole.length).toBeGreaterThan(0);
    for (const text of before.whole) expect(text).toMatch(/^[^a]*a\s*[0-9]{2}$/u);
  });
});

describe("with other options", () => {
  const digits = { regex: "[0-9]{3}" };

  test("the same tokens come in any batch, whole or streamed, put back or not", async () => {
    const outputs: StructuredOutput[] = [
      digits,
      { jsonSchema: SCHEMAS["flat object"] ?? {} },
      { choice: ["abc", "abd"] },
    ];
    const requests = Array.from({ length: 12 }, (_, at) =>
      request(outputs[at % 3] ?? digits, { id: String(at), seed: at, promptTokenIds: Array(40 + at).fill(65) }),
    );
    const small = await loadModel(dir, { threads: 1, maxModelLen: 400, kvCacheBytes: 210_000 });
    try {
      const alone: GenerateIncrement[] = [];
      for (const one of requests) alone.push(...(await ends([one])));
      const squeezed: GenerateIncrement[] = [];
      for await (const increment of small.generate(requests)) squeezed.push(increment);
      for (const { id, tokenIds, logprobs } of alone) {
        const other = squeezed.find((one) => one.id === id);
        expect(other?.tokenIds).toEqual(tokenIds);
        expect(other?.logprobs).toEqual(logprobs);
      }
      expect(small.stats().preemptions).toBeGreaterThan(0);
    } finally {
      await small.close();
    }
  });

  test("log-probabilities are those among the allowed tokens, as with allowedTokenIds", async () => {
    const one = { id: "x", promptTokenIds: PROMPT, maxTokens: 1, seed: 5, finalOnly: true };
    const [masked, allowed] = await ends([
      { ...one, id: "masked", structuredOutput: { regex: "[ab]" } },
      { ...one, id: "allowed", allowedTokenIds: [97, 98] },
    ]);
    expect(masked?.tokenIds).toEqual(allowed?.tokenIds);
    expect(masked?.logprobs).toEqual(allowed?.logprobs);
    const [forced] = await ends([request({ choice: ["ab"] }, { topLogprobs: 2 })]);
    expect([...(forced?.logprobs ?? [])]).toEqual([0, 0, 0]);
    expect(forced?.ranking?.ranks).toEqual(Uint32Array.of(1, 1, 1));
  });

  test("without a token that could end it, a text ends where nothing can follow", async () => {
    const [end] = await ends([request(digits, { ignoreEos: true })]);
    expect(end).toMatchObject({ finishReason: "stop", stopReason: null });
    expect(tokenizer.decode(end?.tokenIds ?? [])).toMatch(/^[0-9]{3}$/u);
  });

  test("a stop token without text ends where the text may end; the length cuts", async () => {
    const [stopped, cut] = await ends([
      request(digits, { id: "a", ignoreEos: true, stopTokenIds: [256] }),
      request(digits, { id: "b", maxTokens: 2 }),
    ]);
    expect(stopped).toMatchObject({ finishReason: "stop", stopReason: 256 });
    expect(stopped?.tokenIds).toHaveLength(4);
    expect(cut?.finishReason).toBe("length");
  });

  test("contradictions of a format fail by name, and other requests go on", async () => {
    const requests = [
      request(digits, { id: "min", minTokens: 10 }),
      request(digits, { id: "allowed", allowedTokenIds: [97] }),
      request({ regex: "(" }, { id: "invalid" }),
      request({ jsonSchema: false }, { id: "empty" }),
      request({ choice: ["x".repeat(300_000)] }, { id: "large" }),
      request({ regex: "a", choice: ["a"] }, { id: "two" }),
      request(digits, { id: "fine" }),
    ];
    const codes = (await ends(requests)).map(({ error, finishReason }) => error?.code ?? finishReason);
    expect(codes).toEqual([
      "PRL_ENGINE_INPUT",
      "PRL_ENGINE_INPUT",
      "PRL_GRAMMAR_INVALID",
      "PRL_GRAMMAR_EMPTY",
      "PRL_GRAMMAR_TOO_LARGE",
      "PRL_ENGINE_INPUT",
      "stop",
    ]);
  });
});

test("completions do not wait for the formats of others", async () => {
  const formats = new Formats({ dir, vocabSize: VOCAB_SIZE, eosTokenIds: [EOS] });
  await formats.compile({ regex: "a" });
  let compiled = 0;
  const slow = Array.from({ length: 12 }, async (_, at) => {
    const rules = Array.from(
      { length: 800 },
      (_rule, rule) => `r${rule} ::= "a" r${(rule * 7 + 1) % 800} | [b-z]+ ${"x".repeat(at + 1)}`,
    );
    await formats.compile({ grammar: ["root ::= r0", ...rules, `${"x".repeat(at + 1)} ::= "c"`].join("\n") });
    compiled += 1;
  });
  // All have been handed over then.
  await new Promise((resolve) => setImmediate(resolve));
  const plain = { id: "x", promptTokenIds: PROMPT, maxTokens: 4, ignoreEos: true };
  expect((await ends([plain]))[0]?.tokenIds.length).toBeGreaterThan(0);
  // Eight run at once where nothing bounds them, and the call that fetches completions stands behind all twelve.
  expect(compiled).toBeLessThan(4);
  await Promise.all(slow);
});
