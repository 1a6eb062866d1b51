/**
 * Malformed configs, generated from the schemas: each key with a value of another type, beyond its range, absurd and empty. Each ends with exit
 * code 2 and a short message that names file, line and key.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { describe, expect, test } from "vitest";

import { type ConfigKind, inputSchemas } from "../../../ts/config/schema/index.ts";
import { entries, isFreeForm, isList, nodeOf, type SchemaEntry, shapeOf } from "../../../ts/config/keys/schema-walk.ts";
import { prl } from "../cli/run.ts";
import { folderWith, RL_TOML } from "./support.ts";

const SFT_TOML = `max_steps = 3\nmodel.name = "./model"\ndata.env.id = "reverse-text"\n`;
const EVAL_TOML = `model = "m"\nbase_url = "http://127.0.0.1:9/v1"\n[[eval]]\nenv.id = "reverse-text"\n`;
const BASES: Readonly<Record<ConfigKind, string>> = { rl: RL_TOML, sft: SFT_TOML, eval: EVAL_TOML };
/** What an element of a list needs beside the key that is wrong. */
const ELEMENTS: Readonly<Record<string, string>> = {
  source: `env.id = "reverse-text"`,
  eval: `env.id = "reverse-text"`,
  mix: `env.id = "reverse-text"`,
  filters: `type = "zero_advantage"`,
  pools: `name = "a"\nmax_reward = 1\nweight = 1`,
};
/** A message of a usual length and then some: no value makes it long. */
const LONGEST_MESSAGE = 3_000;

type Wrong = readonly [what: string, toml: string];

/** Values that no schema of the key's type accepts, as TOML. */
function wrongValues({ schema, node }: SchemaEntry): Wrong[] {
  const { inner } = node;
  if (isFreeForm(schema)) return inner instanceof z.ZodUnknown ? [] : [["a number for a table", "3"]];
  if (shapeOf(schema) !== undefined)
    return [
      ["a number for a table", "3"],
      ["a text for a table", '"x"'],
    ];
  if (isList(schema))
    return [
      ["a number for a list", "3"],
      ["a table for a list", "{ x = 1 }"],
    ];
  if (inner instanceof z.ZodBoolean)
    return [
      ["a text", '"yes"'],
      ["a number", "1"],
      ["a table", "{}"],
    ];
  if (inner instanceof z.ZodNumber) {
    const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = z.toJSONSchema(inner) as Record<string, number>;
    const least = minimum ?? exclusiveMinimum;
    const most = maximum ?? exclusiveMaximum;
    return [
      ["a text", '"many"'],
      ["an empty text", '""'],
      ["a list", "[1]"],
      ["not a number", "nan"],
      ["no finite number", "inf"],
      ["an absurd number", "1e300"],
      ...(least === undefined || least < -1e15 ? [] : [["too small", String(least - 1)] as const]),
      ...(most === undefined || most > 1e15 ? [] : [["too large", String(most + 1)] as const]),
    ];
  }
  if (inner instanceof z.ZodEnum || inner instanceof z.ZodLiteral) {
    return [
      ["no choice", '"no-such"'],
      ["an empty text", '""'],
      ["a number", "7"],
    ];
  }
  if (inner instanceof z.ZodUnion)
    return [
      ["no choice", '"no-such"'],
      ["a table", "{}"],
    ];
  return [
    ["a number", "7"],
    ["a table", "{}"],
    ["an empty text", '""'],
    ["an absurd text", `"${"x".repeat(100_000)}"`],
  ];
}

/** A file that sets the key, with the line where it does. */
function fileWith({ path }: SchemaEntry, toml: string): { text: string; line: number; key: string } {
  const lines: string[] = [];
  let [table, rest]: [string[], string[]] = [[], [...path]];
  for (let at = rest.indexOf("<i>"); at >= 0; at = rest.indexOf("<i>")) {
    table = [...table, ...rest.slice(0, at)];
    rest = rest.slice(at + 1);
    const others = (ELEMENTS[table.at(-1) ?? ""] ?? "").split("\n").filter((line) => !line.startsWith(`${rest[0]}`));
    lines.push(`[[${table.join(".")}]]`, ...others.filter((line) => line !== ""));
  }
  lines.push(`${rest.join(".")} = ${toml}`);
  return {
    text: `${lines.join("\n")}\n`,
    line: lines.length,
    key: path.map((part) => (part === "<i>" ? "0" : part)).join("."),
  };
}

describe.each(["rl", "sft", "eval"] as const)("every key of a config of %s", (kind) => {
  const keys = [...entries(inputSchemas[kind])];

  test("is refused by file, line and key, in few words, when it is malformed", async () => {
    const folder = folderWith({ "base.toml": BASES[kind] });
    const wrong: string[] = [];
    let cases = 0;
    for (const entry of keys) {
      for (const [what, toml] of wrongValues(entry)) {
        const { text, line, key } = fileWith(entry, toml);
        writeFileSync(join(folder, "bad.toml"), text);
        const { code, stderr } = await prl(["config", "resolve", kind, "base.toml", "bad.toml"], folder);
        cases += 1;
        const isNamed = stderr.includes(`bad.toml:${line}: ${key}`);
        if (code === 2 && isNamed && stderr.length <= LONGEST_MESSAGE) continue;
        wrong.push(`${key}, ${what}: exit ${code}, ${stderr.length} characters: ${stderr.slice(0, 300)}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(cases).toBeGreaterThan(3 * keys.length);
  });

  test("has a neighbour that is unknown", async () => {
    const folder = folderWith({ "base.toml": BASES[kind] });
    for (const entry of keys.filter(({ schema }) => shapeOf(schema) !== undefined)) {
      const unknown = { ...entry, path: [...entry.path, "no_such_key"], node: nodeOf(entry.schema) };
      const { text, line, key } = fileWith(unknown, "1");
      writeFileSync(join(folder, "bad.toml"), text);
      const { code, stderr } = await prl(["config", "resolve", kind, "base.toml", "bad.toml"], folder);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`bad.toml:${line}: ${key}: unknown key`)]);
      expect(stderr.length).toBeLessThan(LONGEST_MESSAGE);
    }
  });
});

const many = (line: (i: number) => string) => Array.from({ length: 10_000 }, (_, i) => line(i)).join("\n");
const deep = (count: number) => Array.from({ length: count }, () => "a").join(".");

test.each<[string, string]>([
  ["10,000 unknown keys", many((i) => `unknown_${i} = ${i}`)],
  ["10,000 unknown tables", many((i) => `[unknown_${i}]`)],
  ["10,000 wrong sources", many(() => `[[orchestrator.train.source]]\nratio = "x"`)],
  ["a key of 200 parts", `${deep(200)} = 1`],
  ["a key of 20,000 parts", `${deep(20_000)} = 1`],
  ["a section of 20,000 parts", `[${deep(20_000)}]\nb = 1`],
  ["a section of a known key and 5,000 parts", `[orchestrator.train.${deep(5_000)}]\nb = 1`],
  ["lists in lists", `max_steps = ${"[".repeat(500)}${"]".repeat(500)}`],
  ["lists in lists without end", `max_steps = ${"[".repeat(50_000)}`],
  ["arguments in arguments", `[[orchestrator.train.source]]\nenv.id = "reverse-text"\nenv.args.${deep(100)} = 1`],
  ["a key of 100,000 letters", `${"k".repeat(100_000)} = 1`],
  ["a line of 100,000 letters that is no TOML", `${"k".repeat(100_000)} 1`],
])("%s: a short message with file and line", async (_, text) => {
  const folder = folderWith({ "base.toml": RL_TOML, "bad.toml": `${text}\n` });
  const { code, stderr } = await prl(["config", "resolve", "rl", "base.toml", "bad.toml"], folder);
  expect([code, stderr]).toEqual([2, expect.stringMatching(/bad\.toml:\d+/u)]);
  expect(stderr.length).toBeLessThan(16_384);
});

test.each([
  ["a flag of 5,000 parts", ["--orchestrator.train.source.0.env.args".concat(`.${deep(5_000)}`), "1"]],
  ["a flag of 100,000 letters", [`--${"k".repeat(100_000)}`, "1"]],
  ["a value of 100,000 letters", ["--max-steps", "k".repeat(100_000)]],
  ["a table in tables", ["--orchestrator.train.source.0.env.args", `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`]],
])("%s: a short message with the flag", async (_, flags) => {
  const folder = folderWith({ "base.toml": RL_TOML });
  const { code, stderr } = await prl(["config", "resolve", "rl", "base.toml", ...flags], folder);
  expect([code, stderr]).toEqual([2, expect.stringContaining(String(flags[0]).slice(0, 20))]);
  expect(stderr.length).toBeLessThan(2_000);
});
