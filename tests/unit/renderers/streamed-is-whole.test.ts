import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { loadTokenizer, type Tokenizer } from "../../../ts/renderers/index.ts";
import { TOKENIZER_FAMILIES } from "./tokenizer-families.ts";

const tokenizers = new Map<string, Tokenizer>();
const dirs: string[] = [];

beforeAll(async () => {
  for (const [name, json] of Object.entries(TOKENIZER_FAMILIES)) {
    const dir = await mkdtemp(join(tmpdir(), "prl-family-"));
    dirs.push(dir);
    await writeFile(join(dir, "tokenizer.json"), JSON.stringify(json));
    tokenizers.set(name, await loadTokenizer(dir));
  }
});

afterAll(() => Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true }))));

function family(name: string): Tokenizer {
  const tokenizer = tokenizers.get(name);
  if (tokenizer === undefined) throw new Error(`no tokenizer is named ${name}`);
  return tokenizer;
}

const LLAMA2 = "byte-fallback BPE that strips a blank, as Llama 2";

/** Texts with what the vocabularies lack, and rows of ids that no text gives. */
function anyIds(tokenizer: Tokenizer): fc.Arbitrary<number[]> {
  const unit = fc.constantFrom("a", "b", " ", "  ", "你", "好", "é", "👍", "\n", ".", "n't", "</s>", "\uFFFD", "ß");
  const text = fc.string({ unit, maxLength: 12 }).map((one) => [...tokenizer.encode(one)]);
  const id = fc.nat(tokenizer.vocabSize - 1);
  return fc.array(fc.oneof(text, fc.array(id, { maxLength: 4 })), { maxLength: 6 }).map((parts) => parts.flat());
}

describe.each(Object.keys(TOKENIZER_FAMILIES))("%s: a stream of tokens", (name) => {
  it("gives the same parts as the whole reply, whatever the tokens", () => {
    const tokenizer = family(name);
    fc.assert(
      fc.property(anyIds(tokenizer), fc.boolean(), (ids, skipSpecialTokens) => {
        const stream = tokenizer.decodeStream({ skipSpecialTokens });
        const streamed = ids.map((id) => stream.push(id)).join("") + stream.flush();
        expect(streamed).toBe(tokenizer.decode(ids, { skipSpecialTokens }));
      }),
      { numRuns: 250 },
    );
  });

  it("ends before the stop string that the whole has first", () => {
    const tokenizer = family(name);
    const stops = fc.array(fc.constantFrom("好", "é", "👍", "a", "b ", ". ", "ab", "\uFFFD"), {
      minLength: 1,
      maxLength: 2,
    });
    fc.assert(
      fc.property(anyIds(tokenizer), stops, (ids, stop) => {
        const stream = tokenizer.decodeStream({ skipSpecialTokens: true, stop });
        const streamed = ids.map((id) => stream.push(id)).join("") + stream.flush();
        const whole = tokenizer.decode(ids, { skipSpecialTokens: true });
        const found = stop.some((one) => whole.includes(one));
        expect(stream.stopped).toBe(found);
        if (found) expect(whole.startsWith(streamed + (stream.stopReason ?? ""))).toBe(true);
        else expect(streamed).toBe(whole);
      }),
      { numRuns: 250 },
    );
  });
});

describe("byte tokens", () => {
  it("are withheld until their row ends, and never come as half a character", () => {
    const tokenizer = family(LLAMA2);
    const ids = tokenizer.encode("a好b👍");
    const stream = tokenizer.decodeStream();
    expect(Array.from(ids, (id) => stream.push(id))).toEqual(["a", "", "", "", "好b", "", "", "", ""]);
    expect(stream.flush()).toBe("👍");
  });

  it("become invalid by a wrong byte after them, so no token of the row is given before its end", () => {
    const tokenizer = family(LLAMA2);
    const ids = [...tokenizer.encode("a好")].concat(tokenizer.tokenToId("<0xFF>") ?? []);
    const stream = tokenizer.decodeStream();
    expect(ids.map((id) => stream.push(id)).join("") + stream.flush()).toBe("a\uFFFD\uFFFD\uFFFD\uFFFD");
    expect(tokenizer.decode(ids)).toBe("a\uFFFD\uFFFD\uFFFD\uFFFD");
  });

  it("end a reply where they spell a stop string", () => {
    const tokenizer = family(LLAMA2);
    const stream = tokenizer.decodeStream({ stop: "好" });
    const pieces = Array.from(tokenizer.encode("a你好é"), (id) => stream.push(id));
    expect(pieces.join("")).toBe("a你");
    expect(stream.stopReason).toBe("好");
  });
});
