/** Answers of the rows about representations against gcc, CPython, the codecs of Node, and arithmetic on large numbers. */
import { expect, test } from "vitest";

import {
  bitFieldSource,
  bitFieldWords,
  type BitFieldProblem,
} from "../../../../../../ts/environments/catalogue/code/representations/bit-field-words.ts";
import {
  canonicalCodes,
  type CodesProblem,
} from "../../../../../../ts/environments/catalogue/code/representations/canonical-codes.ts";
import {
  coherenceStates,
  type CoherenceProblem,
} from "../../../../../../ts/environments/catalogue/code/representations/coherence-states.ts";
import {
  collidingText,
  type CollisionProblem,
  collisionSource,
} from "../../../../../../ts/environments/catalogue/code/representations/colliding-text.ts";
import {
  conditionFlags,
  type FlagsProblem,
} from "../../../../../../ts/environments/catalogue/code/representations/condition-flags.ts";
import {
  type OffsetProblem,
  textOffsets,
} from "../../../../../../ts/environments/catalogue/code/representations/text-offsets.ts";
import { type Answer, drawnOf, HAS_COMPILER, HAS_PYTHON, printedByC, printedByPython } from "../interpreters.ts";

test.skipIf(!HAS_COMPILER)(
  `bit-field-words: gcc lays out and reads the same${HAS_COMPILER ? "" : " (there is no gcc here)"}`,
  () => {
    const drawn = drawnOf<Answer<BitFieldProblem>>(bitFieldWords);
    const blocks = drawn.map(({ problem }) => {
      const [type = "", writes = ""] = bitFieldSource(problem).split("} s;");
      const reads = problem.fields.map(({ name }) => `printf("%d\\n", (int)s.${name});`);
      return `{ ${type} } s; memset(&s, 0, sizeof s); ${writes}
unsigned w[sizeof s / 4]; memcpy(w, &s, sizeof s);
for (unsigned i = 0; i < sizeof s / 4; i++) printf("0x%08x\\n", w[i]);
${reads.join("\n")} }`;
    });
    const source = `#include <stdio.h>\n#include <string.h>\nint main(void) {\n${blocks.join("\n")}\nreturn 0; }\n`;
    expect(printedByC(source)).toEqual(drawn.flatMap(({ items }) => items));
  },
);

test("text-offsets: the codecs of the platform agree", () => {
  for (const { problem, items } of drawnOf<Answer<OffsetProblem>>(textOffsets)) {
    const text = String.fromCodePoint(...problem.points);
    const lengths = {
      points: (part: string) => Array.from(part).length,
      units: (part: string) => part.length,
      bytes: (part: string) => Buffer.byteLength(part),
    };
    const starts = Array.from({ length: problem.points.length + 1 }, (_, count) =>
      String.fromCodePoint(...problem.points.slice(0, count)),
    );
    expect(starts.at(-1)).toBe(text);
    const found = problem.questions.map(({ from, to, value }) => {
      const part = starts.find((one) => lengths[from](one) === value);
      return part === undefined ? "inside" : String(lengths[to](part));
    });
    expect(found).toEqual(items);
  }
});

test("canonical-codes: decoding with the first code of each length agrees", () => {
  for (const { problem, items } of drawnOf<Answer<CodesProblem>>(canonicalCodes)) {
    const counts = Array.from(
      { length: 8 },
      (_, length) => problem.lengths.filter((one) => one.length === length).length,
    );
    const order = [...problem.lengths].toSorted((a, b) => a.length - b.length || a.letter.localeCompare(b.letter));
    let [out, code, first, index, length] = ["", 0, 0, 0, 0];
    for (const bit of problem.bits) {
      length += 1;
      code = 2 * code + Number(bit);
      const count = counts[length] ?? 0;
      if (code - first < count) {
        out += order[index + code - first]?.letter;
        [code, first, index, length] = [0, 0, 0, 0];
      } else {
        index += count;
        first = 2 * (first + count);
      }
    }
    expect(out).toBe(items[0]);
  }
});

test("condition-flags: exact signed and unsigned arithmetic agrees", () => {
  for (const { problem, items } of drawnOf<Answer<FlagsProblem>>(conditionFlags)) {
    const { bits } = problem;
    const signed = (value: bigint): bigint => BigInt.asIntN(bits, value);
    let [r, c, v] = [BigInt(problem.start), false, false];
    const found = problem.steps.map(({ do: what, value }) => {
      const n = BigInt(value);
      const extra = BigInt(c);
      let exact = r;
      if (what === "lsl" || what === "lsr" || what === "asr") {
        c = what === "lsl" ? r >> BigInt(bits - 1) === 1n : (r & 1n) === 1n;
        exact = what === "lsl" ? r << 1n : what === "lsr" ? r >> 1n : signed(r) >> 1n;
      } else {
        const sums = {
          add: [r + n, signed(r) + signed(n)],
          adc: [r + n + extra, signed(r) + signed(n) + extra],
          sub: [r - n, signed(r) - signed(n)],
          cmp: [r - n, signed(r) - signed(n)],
          sbc: [r - n - 1n + extra, signed(r) - signed(n) - 1n + extra],
        }[what];
        const [plain = 0n, real = 0n] = sums;
        c = what === "add" || what === "adc" ? plain >= 1n << BigInt(bits) : plain >= 0n;
        v = signed(real) !== real;
        exact = real;
      }
      const result = BigInt.asUintN(bits, exact);
      if (what !== "cmp") r = result;
      return `${r}:${[signed(result) < 0n, result === 0n, c, v].map(Number).join("")}`;
    });
    expect(found).toEqual(items);
  }
});

test.skipIf(!HAS_PYTHON)(
  `colliding-text: CPython gives both texts one value${HAS_PYTHON ? "" : " (there is no python3 here)"}`,
  () => {
    const drawn = drawnOf<{ problem: CollisionProblem; witness: string[] }>(collidingText);
    const sources = drawn.map(
      ({ problem, witness }) =>
        `${collisionSource(problem)}\nprint(h("${problem.text}") == h("${witness[0]}"), "${witness[0]}" != "${problem.text}")`,
    );
    expect(printedByPython(sources)).toEqual(drawn.map(() => ["True True"]));
  },
);

test("coherence-states: a core that may write a line is alone with it", () => {
  for (const { items } of drawnOf<Answer<CoherenceProblem>>(coherenceStates))
    for (const word of items.slice(0, -1)) {
      const others = word.replaceAll("I", "");
      if (/[ME]/u.test(word)) expect(others).toHaveLength(1);
      expect(others.replaceAll(/[^O]/gu, "").length).toBeLessThan(2);
    }
});
