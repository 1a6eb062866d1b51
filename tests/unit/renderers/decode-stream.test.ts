import * as fc from "fast-check";
import { describe, expect, it } from "vitest";

import { createDecodeStream } from "../../../ts/renderers/decode-stream.ts";

/** Ids are bytes; invalid UTF-8 becomes U+FFFD, as the tokenizers crate prints it. */
function decodeBytes(ids: number[]): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(ids));
}

const bytesOf = (text: string): number[] => [...new TextEncoder().encode(text)];

function run(ids: number[], stop: string[] = []) {
  const stream = createDecodeStream(decodeBytes, { stop });
  const pieces = ids.map((id) => stream.push(id));
  return { stream, pieces, text: pieces.join("") + stream.flush() };
}

const anyText = fc.string({ unit: "binary", maxLength: 60 });

describe("decodeStream without stop strings", () => {
  it("gives any text back, whatever its characters", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(run(bytesOf(text)).text).toBe(text);
      }),
    );
  });

  it("decodes any bytes as the whole decoding does, also where they are no UTF-8", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(255), { maxLength: 300 }), (ids) => {
        expect(run(ids).text).toBe(decodeBytes(ids));
      }),
      { numRuns: 300 },
    );
  });

  it("decodes long runs of invalid bytes without rereading all of them", () => {
    let decoded = 0;
    const stream = createDecodeStream((ids) => {
      decoded += ids.length;
      return decodeBytes(ids);
    });
    const ids = Array.from({ length: 4000 }, (_, index) => 0x80 + (index % 64));
    const text = ids.map((id) => stream.push(id)).join("") + stream.flush();
    expect(text).toBe(decodeBytes(ids));
    expect(decoded).toBeLessThan(ids.length * 200);
  });

  it("withholds a character until its last byte and never prints half of it", () => {
    const { pieces } = run(bytesOf("aé😀"));
    expect(pieces).toEqual(["a", "", "é", "", "", "", "😀"]);
  });

  it("keeps the space that a decoder strips at the beginning of a text", () => {
    const words = ["▁one", "▁two", "▁three"];
    const decode = (ids: number[]) =>
      ids
        .map((id) => (words[id] ?? "").replace("▁", " "))
        .join("")
        .replace(/^ /, "");
    const stream = createDecodeStream(decode);
    expect([0, 1, 2].map((id) => stream.push(id))).toEqual(["one", " two", " three"]);
  });
});

describe("decodeStream of tokens that are read in rows", () => {
  it("waits for the end of a row and decodes it once", () => {
    let decoded = 0;
    const decode = (ids: number[]): string => {
      decoded += ids.length;
      return decodeBytes(ids);
    };
    const stream = createDecodeStream(decode, {}, (id) => id >= 0x80);
    const row = bytesOf("好".repeat(10_000));
    expect(row.map((id) => stream.push(id)).join("")).toBe("");
    expect(stream.push(0x61)).toBe(`${"好".repeat(10_000)}a`);
    expect(stream.flush()).toBe("");
    expect(decoded).toBeLessThan(row.length * 3);
  });
});

describe("decodeStream with stop strings", () => {
  it("ends before the first stop string, however the text is cut into tokens", () => {
    const stops = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "é", "😀"), minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 3,
    });
    const text = fc.string({ unit: fc.constantFrom("a", "b", "é", "😀", "c"), maxLength: 40 });
    fc.assert(
      fc.property(text, stops, (whole, stop) => {
        const first = Math.min(...stop.map((one) => (whole.includes(one) ? endOf(whole, one) : Infinity)));
        const { stream, text: got } = run(bytesOf(whole), stop);
        expect(stream.stopped).toBe(first < Infinity);
        if (first === Infinity) {
          expect(got).toBe(whole);
        } else {
          const reason = stream.stopReason ?? "";
          expect(stop).toContain(reason);
          expect(whole.startsWith(got + reason)).toBe(true);
          expect((got + reason).length).toBe(first);
        }
      }),
    );
  });

  it("holds back text that may become a stop string and releases it when it does not", () => {
    const { pieces, stream } = run(bytesOf("x<en>y"), ["<end>"]);
    expect(pieces).toEqual(["x", "", "", "", "<en>", "y"]);
    expect(stream.stopped).toBe(false);
  });

  it("returns the held-back text when the stream ends", () => {
    const stream = createDecodeStream(decodeBytes, { stop: "###" });
    expect(bytesOf("a##").map((id) => stream.push(id))).toEqual(["a", "", ""]);
    expect(stream.flush()).toBe("##");
    expect(stream.flush()).toBe("");
  });

  it("says nothing more once it has stopped", () => {
    const { stream, text } = run(bytesOf("one\ntwo"), ["\n"]);
    expect(text).toBe("one");
    expect(stream.stopReason).toBe("\n");
    expect(stream.push(65)).toBe("");
  });

  it("is not stopped by a string that one of the first tokens completes", () => {
    for (const [stopAfter, kept] of [
      [0, ""],
      [2, "ab"],
      [3, "ab"],
      [4, "abab"],
      [6, "ababab"],
    ] as const) {
      const stream = createDecodeStream(decodeBytes, { stop: ["ab", "abc"], stopAfter });
      const text = bytesOf("ababab")
        .map((id) => stream.push(id))
        .join("");
      expect([stopAfter, text + stream.flush(), stream.stopped]).toEqual([stopAfter, kept, stopAfter < 6]);
    }
  });

  it("refuses an empty stop string", () => {
    expect(() => createDecodeStream(decodeBytes, { stop: [""] })).toThrow(
      expect.objectContaining({ code: "PRL_TOKENIZER" }),
    );
  });
});

/** Where the first occurrence of `part` ends: the earliest moment at which it is complete. */
function endOf(whole: string, part: string): number {
  return whole.indexOf(part) + part.length;
}
