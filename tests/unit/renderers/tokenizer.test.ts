import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { loadTokenizer, type Tokenizer } from "../../../ts/renderers/index.ts";
import { CHATML } from "./templates.ts";

const EXAMPLE = fileURLToPath(new URL("../../../configs/reverse-text/model", import.meta.url));
const GENERATION =
  "{% for message in messages %}{{ '<|im_start|>' }}{% if message.role == 'assistant' %}{% generation %}" +
  "{{ message.content + '<|im_end|>' }}{% endgeneration %}{% else %}{{ message.content + '<|im_end|>' }}{% endif %}{% endfor %}";

let tokenizer: Tokenizer;
/** Without a config. */
let bare: Tokenizer;
let dir: string;

beforeAll(async () => {
  tokenizer = await loadTokenizer(EXAMPLE);
  dir = await mkdtemp(join(tmpdir(), "prl-tokenizer-"));
  await copyFile(join(EXAMPLE, "tokenizer.json"), join(dir, "tokenizer.json"));
  bare = await loadTokenizer(dir);
});

afterAll(() => rm(dir, { recursive: true, force: true }));

const anyText = fc.string({ unit: "grapheme", maxLength: 40 });

describe("loadTokenizer", () => {
  it("knows the special tokens of tokenizer_config.json", () => {
    expect(tokenizer).toMatchObject({ vocabSize: 260, eosTokenId: 257, padTokenId: 256 });
  });

  it("encodes bytes and recognises special tokens written in the text", () => {
    expect([...tokenizer.encode("hé<eos>")]).toEqual([0x68, 0xc3, 0xa9, 257]);
    expect(tokenizer.decode([0x68, 0xc3, 0xa9, 257])).toBe("hé<eos>");
    expect(tokenizer.decode(Uint32Array.of(0x68, 257), { skipSpecialTokens: true })).toBe("h");
  });

  it("decodes its own encoding, whole and token by token", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const ids = tokenizer.encode(text);
        expect(tokenizer.decode(ids)).toBe(text);
        const stream = tokenizer.decodeStream();
        expect(Array.from(ids, (id) => stream.push(id)).join("") + stream.flush()).toBe(text);
      }),
    );
  });

  it("streams any ids as it decodes them whole, with and without special tokens", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(259), { maxLength: 80 }), fc.boolean(), (ids, skipSpecialTokens) => {
        const stream = tokenizer.decodeStream({ skipSpecialTokens });
        const text = ids.map((id) => stream.push(id)).join("") + stream.flush();
        expect(text).toBe(tokenizer.decode(ids, { skipSpecialTokens }));
      }),
    );
  });

  it("encodes and decodes each token off the event loop as on it", async () => {
    const text = "hé<eos> \u{1F44D}\n".repeat(50);
    const ids = tokenizer.encode(text);
    expect(await tokenizer.encodeAsync(text)).toEqual(ids);
    const added = { addSpecialTokens: true };
    expect(await tokenizer.encodeAsync(text, added)).toEqual(tokenizer.encode(text, added));
    expect(await tokenizer.decodeEach(ids)).toEqual(Array.from(ids, (id) => tokenizer.decode([id])));
    expect(await tokenizer.decodeEach(new Uint32Array(0))).toEqual([]);
  });

  it("stops a stream at a stop string", () => {
    const stream = tokenizer.decodeStream({ stop: ["STOP"] });
    const text = Array.from(tokenizer.encode("go on STOP never"), (id) => stream.push(id)).join("");
    expect(text).toBe("go on ");
    expect(stream.stopped).toBe(true);
  });

  it("renders a conversation into text and ids", () => {
    const { text, ids, assistantMask } = tokenizer.applyChatTemplate([{ role: "user", content: "hi" }], {
      chatTemplate: CHATML,
      addGenerationPrompt: true,
    });
    expect(text).toBe("<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n");
    expect(ids).toEqual(tokenizer.encode(text));
    expect(ids[0]).toBe(258);
    expect(assistantMask).toBeNull();
  });

  it("marks the tokens that the assistant is to produce", () => {
    const messages = [
      { role: "user", content: "aé" },
      { role: "assistant", content: "é!" },
    ];
    const { ids, assistantMask } = tokenizer.applyChatTemplate(messages, {
      chatTemplate: GENERATION,
      assistantMask: true,
    });
    const marked = ids.filter((_id, index) => assistantMask?.[index] === 1);
    expect(tokenizer.decode(marked)).toBe("é!<|im_end|>");
    expect(assistantMask).toHaveLength(ids.length);
  });

  it("says what to do when there is no chat template", () => {
    expect(() => bare.applyChatTemplate([{ role: "user", content: "hi" }])).toThrow(
      expect.objectContaining({ code: "PRL_TEMPLATE", message: expect.stringContaining("chatTemplate") }),
    );
  });

  it("takes templates from chat_template.jinja before the config's own, and named ones by their name", async () => {
    await writeFile(
      join(dir, "tokenizer_config.json"),
      JSON.stringify({
        eos_token: { content: "<eos>" },
        chat_template: [
          { name: "default", template: "config" },
          { name: "tool_use", template: "tools" },
        ],
      }),
    );
    const configured = await loadTokenizer(dir);
    expect(configured).toMatchObject({ eosTokenId: 257, padTokenId: null });
    expect(configured.applyChatTemplate([]).text).toBe("config");
    expect(configured.applyChatTemplate([], { tools: [{}] }).text).toBe("tools");
    expect(configured.applyChatTemplate([], { chatTemplate: "tool_use" }).text).toBe("tools");
    await writeFile(join(dir, "chat_template.jinja"), "file {{ eos_token }}");
    expect((await loadTokenizer(dir)).applyChatTemplate([]).text).toBe("file <eos>");
  });

  it("names the file and the token when they do not fit together", async () => {
    await writeFile(join(dir, "tokenizer_config.json"), JSON.stringify({ eos_token: "<end>" }));
    await expect(loadTokenizer(dir)).rejects.toMatchObject({
      code: "PRL_TOKENIZER",
      message: expect.stringContaining("<end>"),
    });
    await writeFile(join(dir, "tokenizer_config.json"), "{");
    await expect(loadTokenizer(dir)).rejects.toMatchObject({
      code: "PRL_TOKENIZER",
      message: expect.stringContaining("tokenizer_config.json"),
    });
  });

  it("names a tokenizer.json that is missing or malformed", async () => {
    await expect(loadTokenizer(join(dir, "none"))).rejects.toMatchObject({ code: "PRL_TOKENIZER" });
    const source = await readFile(join(dir, "tokenizer.json"), "utf8");
    await writeFile(join(dir, "tokenizer.json"), source.slice(0, 100));
    await expect(loadTokenizer(dir)).rejects.toMatchObject({
      code: "PRL_TOKENIZER",
      message: expect.stringContaining("tokenizer.json"),
    });
  });
});
