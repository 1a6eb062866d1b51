/** Answers of the rows about bits and bytes against gcc, CPython, and enumeration with code that shares nothing with the rows. */
import { describe, expect, test } from "vitest";

import {
  type AllocatorProblem,
  allocatorTrace,
} from "../../../../../ts/environments/catalogue/code/low-level/allocator-trace.ts";
import {
  type DecodingProblem,
  utf8Decoding,
} from "../../../../../ts/environments/catalogue/code/low-level/utf8-decoding.ts";
import { boundedBitProgram } from "../../../../../ts/environments/catalogue/code/low-level/bounded-bit-program.ts";
import { cacheTrace, type TraceProblem } from "../../../../../ts/environments/catalogue/code/low-level/cache-trace.ts";
import {
  type CodeProblem,
  errorCorrection,
} from "../../../../../ts/environments/catalogue/code/low-level/error-correction.ts";
import {
  type FloatProblem,
  minifloatReasoning,
} from "../../../../../ts/environments/catalogue/code/low-level/minifloat-reasoning.ts";
import { pageWalk, type WalkProblem } from "../../../../../ts/environments/catalogue/code/low-level/page-walk.ts";
import {
  type LayoutProblem,
  layoutSource,
  structLayout,
} from "../../../../../ts/environments/catalogue/code/low-level/struct-layout.ts";
import {
  type MessageProblem,
  taggedMessage,
} from "../../../../../ts/environments/catalogue/code/low-level/tagged-message.ts";
import { type Answer, drawnOf, HAS_COMPILER, HAS_PYTHON, printedByC, printedByPython } from "./interpreters.ts";

describe("struct-layout", () => {
  test.skipIf(!HAS_COMPILER)(
    `gcc gives the same offsets and sizes${HAS_COMPILER ? "" : " (there is no gcc here)"}`,
    () => {
      const drawn = drawnOf<Answer<LayoutProblem>>(structLayout);
      const blocks = drawn.map(({ problem }) => {
        const type = `struct S${problem.structs.length}`;
        const offsets = (problem.structs.at(-1) ?? []).map(
          ({ name }) => `printf("%d\\n", (int)offsetof(${type}, ${name}));`,
        );
        return `{\n${layoutSource(problem)}\n#pragma pack()\n${offsets.join("\n")}\nprintf("%d\\n", (int)sizeof(${type}));\n}`;
      });
      const source = `#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\nint main(void) {\n${blocks.join("\n")}\n}\n`;
      expect(printedByC(source)).toEqual(drawn.flatMap(({ items }) => items.slice(0, -1)));
    },
  );

  test("no order of the members is smaller than the gold one", () => {
    const orders = <Item>(list: readonly Item[]): Item[][] =>
      list.length === 0
        ? [[]]
        : list.flatMap((one, place) =>
            orders(list.filter((_, other) => other !== place)).map((rest) => [one, ...rest]),
          );
    for (const { problem, items } of drawnOf<Answer<LayoutProblem>>(structLayout, [1])) {
      const members = (problem.structs[0] ?? []).map(({ bytes, count }) => ({ size: bytes ?? 0, count }));
      const sizes = orders(members).map((order) => {
        let end = 0;
        for (const { size, count } of order) end += ((size - (end % size)) % size) + size * count;
        const align = Math.max(...order.map(({ size }) => size));
        return end + ((align - (end % align)) % align);
      });
      expect(Math.min(...sizes)).toBe(Number(items.at(-1)));
    }
  });
});

test.skipIf(!HAS_PYTHON)(
  `tagged-message: a decoder in Python finds the fields${HAS_PYTHON ? "" : " (there is no python3 here)"}`,
  () => {
    const drawn = drawnOf<Answer<MessageProblem>>(taggedMessage);
    const sources = drawn.map(
      ({ problem }) => `kinds = ${JSON.stringify(problem.kinds)}
def decode(data, path):
    data = iter(data)
    def number():
        groups = []
        for byte in data:
            groups.append(byte & 127)
            if byte < 128: break
        else:
            return None
        total = 0
        for group in (groups if ${problem.isBigEndian ? "True" : "False"} else groups[::-1]): total = total << 7 | group
        return total
    while (key := number()) is not None:
        name, kind, value = path + str(key >> 2), kinds[key & 3], number()
        if kind == "number": print(f"{name}={value}")
        elif kind == "signed": print(f"{name}={(value >> 1) ^ -(value & 1)}")
        else:
            content = bytes(next(data) for _ in range(value))
            if kind == "text": print(f"{name}={content.decode()}")
            else: decode(content, name + ".")
decode(bytes.fromhex("${problem.hex}"), "")`,
    );
    expect(printedByPython(sources)).toEqual(drawn.map(({ items }) => items));
  },
);

test("minifloat-reasoning: the nearest of all numbers of the format, found by trying all of them", () => {
  for (const { problem, items } of drawnOf<Answer<FloatProblem>>(minifloatReasoning)) {
    const { exponentBits, fractionBits, bias, questions } = problem;
    const width = exponentBits + fractionBits;
    const all = new Map<string, number>();
    for (let field = 0; field < 2 ** width; field++) {
      const [e, f] = [field >> fractionBits, field % 2 ** fractionBits];
      const value = (e === 0 ? f * 2 : f + 2 ** fractionBits + 0) * 2 ** (e - bias - fractionBits);
      const bits = field.toString(2).padStart(width, "0");
      all.set(`0${bits}`, value).set(`1${bits}`, -value);
    }
    const exact = (text: string): number => {
      const [top, bottom = 1] = text.split("/").map(Number);
      return (top ?? 0) / bottom;
    };
    for (const [index, question] of questions.entries()) {
      const item = items[index] ?? "";
      if (question.kind === "decode") expect(exact(item)).toBe((all.get(question.bits) ?? Number.NaN) + 0);
      else {
        const [a, b] =
          question.kind === "encode"
            ? [exact(question.value), 0]
            : [all.get(question.a) ?? 0, all.get(question.b) ?? 0];
        const value = question.kind === "product" ? a * b : a + b;
        const gaps = [...all].map(
          ([bits, other]) => [Math.abs(other - value), bits.endsWith("0") ? 0 : 1, bits] as const,
        );
        const [best] = gaps.toSorted(([gapA, oddA], [gapB, oddB]) => gapA - gapB || oddA - oddB);
        expect(item).toBe(best?.[2]);
      }
    }
  }
});

test("error-correction: exactly one flipped bit makes the checks hold", () => {
  for (const { problem, items } of drawnOf<Answer<CodeProblem>>(errorCorrection)) {
    const { length, isExtended, isOdd, words } = problem;
    const isValid = (word: readonly string[]): boolean => {
      const sum = (places: readonly number[]): number => places.filter((place) => word[place - 1] === "1").length % 2;
      const all = word.map((_, index) => index + 1);
      const groups = [1, 2, 4, 8]
        .filter((check) => check <= length)
        .map((check) => all.filter((place) => place <= length && Math.floor(place / check) % 2 === 1));
      return [...groups, ...(isExtended ? [all] : [])].every((places) => sum(places) === Number(isOdd));
    };
    for (const [index, word] of words.entries()) {
      const bits = word.split("");
      const flipped = bits.map((_, place) =>
        bits.map((bit, other) => (other === place ? String(1 - Number(bit)) : bit)),
      );
      const found = [bits, ...flipped].flatMap((one, place) => (isValid(one) ? [{ place, one }] : []));
      const data = (one: readonly string[]): string =>
        one.filter((_, place) => place < length && ![1, 2, 4, 8].includes(place + 1)).join("");
      const [first] = found;
      expect(found.length).toBeLessThan(2);
      expect(items[index]).toBe(first === undefined ? "double" : `${first.place} ${data(first.one)}`);
    }
  }
});

test("cache-trace: a cache of blocks with times of arrival and last use agrees", () => {
  for (const { problem, items } of drawnOf<Answer<TraceProblem>>(cacheTrace)) {
    const { block, sets, ways, rule, allocates, trace } = problem;
    const blocks = new Map<number, { came: number; used: number }>();
    const seen = trace.map(({ write, address }, now) => {
      const wanted = (address - (address % block)) / block;
      const known = blocks.get(wanted);
      if (known !== undefined) {
        known.used = now;
        return "H";
      }
      if (write && !allocates) return "M";
      const others = [...blocks].filter(([other]) => other % sets === wanted % sets);
      if (others.length === ways) {
        const key = ({ came, used }: { came: number; used: number }): number =>
          ({ LRU: used, FIFO: came, MRU: -used })[rule];
        const [victim] = others.toSorted(([, a], [, b]) => key(a) - key(b));
        blocks.delete(victim?.[0] ?? -1);
      }
      blocks.set(wanted, { came: now, used: now });
      return "M";
    });
    expect(seen).toEqual(items);
  }
});

test("page-walk: a recursive walk over binary digits agrees", () => {
  for (const { problem, items } of drawnOf<Answer<WalkProblem>>(pageWalk)) {
    const pages = new Map(problem.tables.map(({ page, entries }) => [page, entries]));
    const walk = (page: number, indices: readonly string[], write: boolean): number | null => {
      const [first, ...rest] = indices;
      if (first === undefined) return page;
      const digits = (pages.get(page)?.[Number.parseInt(first, 2)] ?? 0).toString(2).padStart(2, "0");
      if (!digits.endsWith("1") || (write && digits.at(-2) === "0")) return null;
      return walk(Number.parseInt(digits.slice(0, -2) || "0", 2), rest, write);
    };
    const found = problem.accesses.map(({ write, address }) => {
      const { depth, indexBits, offsetBits } = problem;
      const digits = address.toString(2).padStart(depth * indexBits + offsetBits, "0");
      const indices = Array.from({ length: depth }, (_, step) =>
        digits.slice(step * indexBits, (step + 1) * indexBits),
      );
      const page = walk(problem.root, indices, write);
      return page === null
        ? "fault"
        : `0x${Number.parseInt(page.toString(2) + digits.slice(depth * indexBits), 2).toString(16)}`;
    });
    expect(found).toEqual(items);
  }
});

test("bounded-bit-program: another program scores, one line too many does not", () => {
  const instance = {
    steps: [
      { do: "rotate", by: 4 },
      { do: "invert", places: [0, 7] },
    ],
    most: 4,
    gold: "",
  };
  const program = ["a = x >> 4", "b = x << 4", "c = a + b", "d = 129 ^ c"];
  expect(boundedBitProgram.score(instance, program.join("\n"))).toBe(1);
  expect(boundedBitProgram.score({ ...instance, most: 3 }, program.join("\n"))).toBe(0);
  expect(boundedBitProgram.score(instance, [...program.slice(0, 3), "d = 128 ^ c"].join("\n"))).toBe(0);
  expect(boundedBitProgram.score(instance, "d = 300 ^ x")).toBe(0);
  expect(boundedBitProgram.score(instance, "d = e ^ x")).toBe(0);
});

test("utf8-decoding: the decoder of the platform gives the same code points", () => {
  for (const { problem, items } of drawnOf<Answer<DecodingProblem>>(utf8Decoding)) {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(problem.bytes));
    const points = Array.from(text, (one) => (one.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0"));
    expect(points).toEqual(items);
  }
});

test("allocator-trace: a map of single bytes gives the same addresses", () => {
  for (const { problem, items } of drawnOf<Answer<AllocatorProblem>>(allocatorTrace)) {
    const { size, align, header, placement, operations } = problem;
    const owners = Array.from({ length: size }, () => 0);
    const found: string[] = [];
    let last = 0;
    for (const operation of operations) {
      if (operation < 0) {
        for (const [byte, owner] of owners.entries()) if (owner === -operation) owners[byte] = 0;
        continue;
      }
      const need = operation + header + ((align - ((operation + header) % align)) % align);
      const starts = owners.flatMap((owner, byte) =>
        owner === 0 && (byte === 0 || owners[byte - 1] !== 0) ? [byte] : [],
      );
      const gaps = starts.map((start) => {
        const end = owners.findIndex((owner, byte) => byte > start && owner !== 0);
        return { start, length: (end < 0 ? size : end) - start };
      });
      const fitting = gaps.filter(({ length }) => length >= need);
      const lengths = fitting.map(({ length }) => length);
      const chosen = {
        first: fitting[0],
        best: fitting.find(({ length }) => length === Math.min(...lengths)),
        worst: fitting.find(({ length }) => length === Math.max(...lengths)),
        next: fitting.find(({ start }) => start >= last) ?? fitting[0],
      }[placement];
      found.push(chosen === undefined ? "none" : String(chosen.start + header));
      if (chosen === undefined) continue;
      owners.fill(found.length, chosen.start, chosen.start + need);
      last = chosen.start + need;
    }
    expect(found).toEqual(items);
  }
});
