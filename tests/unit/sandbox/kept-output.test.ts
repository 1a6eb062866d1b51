import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { KeptOutput } from "../../../ts/sandbox/box/kept-output.ts";

describe("head and tail of a stream", () => {
  test("keeps all of a short one", () => {
    const kept = new KeptOutput(10);
    kept.add(0, Buffer.from("01234"));
    kept.add(5, Buffer.from("56789"));
    expect(kept.result()).toEqual({ data: Buffer.from("0123456789"), gap: 0, gapAt: 10 });
  });

  test("after a gap nothing more belongs to the head", () => {
    const kept = new KeptOutput(100);
    kept.add(0, Buffer.from("ab"));
    kept.add(7, Buffer.from("hi"));
    expect(kept.result()).toEqual({ data: Buffer.from("abhi"), gap: 5, gapAt: 2 });
  });

  test("is the first and the last half of any stream in any pieces", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 30 }),
        fc.integer({ min: 2, max: 60 }),
        (pieces, bytes) => {
          const total = pieces.reduce((sum, piece) => sum + piece, 0);
          const stream = Buffer.from(Array.from({ length: total }, (_, i) => i % 251));
          const kept = new KeptOutput(bytes);
          let offset = 0;
          for (const piece of pieces) {
            kept.add(offset, stream.subarray(offset, offset + piece));
            offset += piece;
          }
          const half = Math.floor(bytes / 2);
          const gap = Math.max(0, total - 2 * half);
          const { data, gap: dropped, gapAt } = kept.result();
          expect(dropped).toBe(gap);
          const expected =
            gap === 0 ? stream : Buffer.concat([stream.subarray(0, half), stream.subarray(total - half)]);
          expect(data.equals(expected)).toBe(true);
          expect(gapAt).toBe(gap === 0 ? total : half);
        },
      ),
    );
  });
});
