import { describe, expect, it } from "vitest";

import { badWordTokens } from "../../../ts/inference/requests/bad-words.ts";
import { merged } from "../../../ts/inference/requests/merged.ts";

async function* counting(count: number, ended: () => void): AsyncGenerator<number> {
  try {
    for (let value = 0; value < count; value++) {
      await Promise.resolve();
      yield value;
    }
  } finally {
    ended();
  }
}

describe("merged streams", () => {
  it("give every value of each stream in its order", async () => {
    const got: number[][] = [[], [], []];
    for await (const { index, value } of merged([3, 0, 5].map((count) => counting(count, () => undefined)))) {
      got[index]?.push(value);
    }
    expect(got).toEqual([[0, 1, 2], [], [0, 1, 2, 3, 4]]);
  });

  it("end together when one fails or the reader stops", async () => {
    const failing = async function* (): AsyncGenerator<number> {
      yield 1;
      throw new Error("no more");
    };
    let ended = 0;
    const read = async (limit: number, sources: AsyncGenerator<number>[]): Promise<void> => {
      for await (const _ of merged(sources)) if (--limit === 0) return;
    };
    await expect(read(100, [failing(), counting(1_000, () => (ended += 1))])).rejects.toThrow("no more");
    await read(3, [counting(1_000, () => (ended += 1)), counting(1_000, () => (ended += 1))]);
    await new Promise((done) => setImmediate(done));
    expect(ended).toBe(3);
  });
});

describe("a merged stream whose reader is busy, or has left, when a source fails", () => {
  it("lets no failure unhandled, which would end the process", async () => {
    let fail = (_error: Error): void => undefined;
    const failing = async function* (): AsyncGenerator<number> {
      yield 1;
      await new Promise<void>((_done, reject) => (fail = reject));
    };
    const unhandled: unknown[] = [];
    const hear = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", hear);
    try {
      const streams = [merged([failing()]), merged([failing()])];
      for (const stream of streams) {
        expect(await stream.next()).toMatchObject({ value: { value: 1 } });
        await new Promise((done) => setImmediate(done));
        fail(new Error("no more"));
        await new Promise((done) => setImmediate(done));
      }
      await expect(streams[0]?.next()).rejects.toThrow("no more");
    } finally {
      process.off("unhandledRejection", hear);
    }
    expect(unhandled).toEqual([]);
  });
});

describe("bad words", () => {
  /** A word is a token, with a space before it another one; other characters are single tokens. */
  const tokenizer = {
    encodeAsync: async (text: string) =>
      Uint32Array.from(text.match(/ ?cat|./gsu) ?? [], (piece) =>
        piece === "cat" ? 1 : piece === " cat" ? 2 : (piece.codePointAt(0) ?? 0),
      ),
  };

  it("have a second form where a space before them makes another token", async () => {
    const ids = await badWordTokens(tokenizer, ["cat", "  cat", "xy"]);
    expect(ids.map((one) => [...one])).toEqual([[1], [2], [1], [2], [120, 121]]);
  });

  it("are refused when they have no tokens", async () => {
    await expect(badWordTokens(tokenizer, [" "])).rejects.toThrow(/bad_words/u);
  });
});
