import * as fc from "fast-check";
import { stringify } from "smol-toml";
import { describe, expect, test } from "vitest";
import { ConfigTree, mergeValues, type Origin } from "../../../ts/config/config-tree.ts";
import { formatPath, isTable, type KeyPath, type Table } from "../../../ts/config/keys/key-path.ts";
import { keyLines } from "../../../ts/config/reading/toml-lines.ts";

const key = fc.constantFrom("a", "b", "c", "d-e", "f g", "__proto__", "constructor", "0");
const scalar = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null));
const { table } = fc.letrec<{ table: Table; value: unknown }>((tie) => ({
  table: fc.dictionary(key, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  value: fc.oneof({ depthSize: "small" }, scalar, fc.array(scalar, { maxLength: 3 }), tie("table")),
}));

/** Every value that is no table, with its path. */
function* leaves(value: unknown, path: KeyPath = []): Generator<[KeyPath, unknown]> {
  if (isTable(value)) for (const [name, child] of Object.entries(value)) yield* leaves(child, [...path, name]);
  else yield [path, value];
}

/** What a table gives at a path; own keys only. */
function at(value: unknown, path: KeyPath): unknown {
  let current = value;
  for (const part of path) {
    if (!isTable(current) || !Object.hasOwn(current, part)) return undefined;
    current = Object.getOwnPropertyDescriptor(current, part)?.value;
  }
  return current;
}

describe("merging", () => {
  test("keeps every leaf of the right side, and those of the left whose place it does not touch", () => {
    fc.assert(
      fc.property(table, table, (left, right) => {
        const merged = mergeValues(left, right);
        for (const [path, value] of leaves(right)) expect(at(merged, path)).toEqual(value);
        for (const [path, value] of leaves(left)) {
          const isTouched = path.some((_, i) => {
            const other = at(right, path.slice(0, i + 1));
            return other !== undefined && (i === path.length - 1 || !isTable(other));
          });
          if (!isTouched) expect(at(merged, path)).toEqual(value);
        }
      }),
    );
  });

  test("leaves its inputs alone, has the empty table as its identity, and merging the same again changes nothing", () => {
    fc.assert(
      fc.property(table, table, (a, b) => {
        const before = structuredClone([a, b]);
        const merged = mergeValues(a, b);
        expect([a, b]).toEqual(before);
        expect(mergeValues(merged, b)).toEqual(merged);
        expect(mergeValues({}, a)).toEqual(a);
        expect(mergeValues(a, {})).toEqual(a);
      }),
    );
  });

  test("never reaches a prototype", () => {
    const patch = JSON.parse(
      '{"__proto__": {"polluted": true}, "constructor": {"prototype": {"polluted": true}}}',
    ) as Table;
    mergeValues({}, patch);
    expect(({} as Table)["polluted"]).toBeUndefined();
  });

  test("a tree remembers the last source of every value", () => {
    fc.assert(
      fc.property(fc.array(table, { minLength: 1, maxLength: 4 }), (layers) => {
        const tree = new ConfigTree();
        layers.forEach((layer, i) => tree.merge([], layer, () => ({ kind: "flag", flag: String(i) })));
        let expected: unknown = {};
        for (const layer of layers) expected = mergeValues(expected, layer);
        expect(tree.root).toEqual(expected);
        for (const [path, value] of leaves(tree.root)) {
          const last = layers.findLastIndex((layer) => at(layer, path) !== undefined);
          expect(at(layers[last], path)).toEqual(value);
          expect(tree.originOf(path)).toEqual({ kind: "flag", flag: String(last) } satisfies Origin);
        }
      }),
    );
  });

  test("an element of a list is reached by its index, the next one appended, any other refused", () => {
    const origin = (): Origin => ({ kind: "override" });
    const tree = new ConfigTree();
    tree.merge(["list"], [{ a: 1, b: 2 }], origin);
    tree.merge(["list", 0, "a"], 3, origin);
    tree.merge(["list", 1, "a"], 4, origin);
    expect(tree.root).toEqual({ list: [{ a: 3, b: 2 }, { a: 4 }] });
    expect(() => tree.merge(["list", 5, "a"], 4, origin)).toThrow("list has 2 elements");
  });
});

describe("lines of keys", () => {
  test("are found through headers, dotted and quoted keys, inline tables, strings and comments", () => {
    const text = [
      "# a = 1", // 1
      'a = "x # [no]"', // 2
      'b.c = """', // 3
      "[fake]", // 4
      'd = 1 \\""" # """', // 5
      "[t . 'q.r']", // 6
      "e = [ # list", // 7
      "  1, ']',", // 8
      "  { f = 2, g = { h = 3 } },", // 9
      "]", // 10
      "[[l]]", // 11
      "x = 1", // 12
      "[[l]]", // 13
      '"y\\u0041" = 1979-05-27', // 14
      "[l.sub]", // 15
      "z = '''", // 16
      "'''", // 17
      "[[l.deep]]", // 18
      "w = 1", // 19
    ].join("\r\n");
    const lines = Object.fromEntries(keyLines(text));
    expect(lines).toMatchObject({
      a: 2,
      "b.c": 3,
      't."q.r".e': 7,
      't."q.r".e.0': 8,
      't."q.r".e.2.g.h': 9,
      "l.0.x": 12,
      "l.1.yA": 14,
      "l.1.sub.z": 16,
      "l.1.deep.0.w": 19,
    });
    expect(lines["fake"]).toBeUndefined();
    expect(lines["d"]).toBeUndefined();
  });

  test("exist for every key that the TOML writer writes, each on a line that shows the key", () => {
    fc.assert(
      fc.property(table, (values) => {
        const plain = JSON.parse(JSON.stringify(values, (_, value: unknown) => value ?? "None")) as Table;
        const text = stringify(plain);
        const lines = keyLines(text);
        for (const [path] of leaves(plain)) {
          const line = lines.get(formatPath(path));
          expect(line, formatPath(path)).toBeTypeOf("number");
          expect(text.split("\n")[(line ?? 0) - 1]).toContain(String(path.at(-1)));
        }
      }),
    );
  });
});
