/** Every key of every config is documented, where users look for it. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { configJsonSchema, describeKeys, describeSchema, endpointsFileSchema } from "../../../ts/config/index.ts";
import { commandHelp } from "../../../ts/cli/help.ts";
import { command as evalCommand } from "../../../ts/cli/commands/eval.ts";
import { command as rl } from "../../../ts/cli/commands/rl.ts";
import { command as sft } from "../../../ts/cli/commands/sft.ts";

const COMMANDS = { rl, sft, eval: evalCommand } as const;
const KINDS = ["rl", "sft", "eval"] as const;

interface JsonSchema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly [keyword: string]: unknown;
}

/** Every property of a JSON Schema, at any depth and in any branch, as `[dotted key, its description]`. */
function properties(schema: unknown, path = ""): [key: string, description: string][] {
  if (typeof schema !== "object" || schema === null) return [];
  const { properties: own = {}, ...rest } = schema as JsonSchema;
  const below = (key: string): string => (path === "" ? key : `${path}.${key}`);
  return [
    ...Object.entries(own).flatMap(([key, value]) => [
      [below(key), value.description ?? ""] as [string, string],
      ...properties(value, below(key)),
    ]),
    ...Object.entries(rest).flatMap(([keyword, value]) =>
      properties(value, keyword === "items" && !Array.isArray(value) ? below("<i>") : path),
    ),
  ];
}

/** The unit in a key's name, and the word that its description must have. */
const UNITS: Readonly<Record<string, RegExp>> = { _s: /seconds/u, _ms: /milliseconds/u, _bytes: /bytes/u };

function flaws(key: string, description: string, isUnset: boolean): string[] {
  const units = Object.entries(UNITS).filter(([suffix, word]) => key.endsWith(suffix) && !word.test(description));
  return [
    ...(/\w+ \w+|^[A-Z]\w{4,}$/u.test(description) ? [] : ["says nothing"]),
    ...(isUnset && !/unset|absent/u.test(description) ? ["does not say what happens when it is unset"] : []),
    ...units.map(([suffix]) => `has no unit for ${suffix}`),
  ].map((flaw) => `${key} ${flaw}: ${description}`);
}

describe.each(KINDS)("the keys of a config of %s", (kind) => {
  const keys = describeKeys(kind);

  test("have descriptions with their unit and their meaning when they are unset", () => {
    const found = keys.flatMap(({ key, description, fallback, isBlock }) =>
      flaws(key, description, fallback === "unset" && !isBlock),
    );
    expect(found).toEqual([]);
  });

  test("are all in the schema that prl config schema prints, each with its description", () => {
    const printed = properties(configJsonSchema(kind));
    expect(printed.filter(([, description]) => description === "")).toEqual([]);
    const names = new Set(printed.map(([key]) => key));
    expect(keys.map(({ key }) => key).filter((key) => !names.has(key))).toEqual([]);
    const shared =
      /^(?:trainer|orchestrator|inference)\.(?:model(?:\.name)?|seq_len|max_steps|max_async_level|seed|output_dir)$/u;
    const known = new Set(keys.map(({ key }) => key));
    expect([...names].filter((key) => !known.has(key) && !shared.test(key))).toEqual([]);
  });

  test("are all in the command's help, each with its description", () => {
    const help = commandHelp(COMMANDS[kind], 120).replaceAll(/\s+/gu, " ");
    const missing = keys.filter(
      ({ key, description, isBlock }) =>
        !isBlock && !(help.includes(` ${key.split(".").at(-1)} `) && help.includes(description)),
    );
    expect(missing.map(({ key }) => key)).toEqual([]);
  });
});

test("the keys of an endpoints file have descriptions, and the README of evaluations names them", async () => {
  const keys = describeSchema(endpointsFileSchema);
  expect(keys.flatMap(({ key, description }) => flaws(key, description, false))).toEqual([]);
  const readme = await readFile(join(import.meta.dirname, "../../../ts/evals/README.md"), "utf8");
  const names = keys.map(({ key }) => key.split(".").at(-1) ?? "");
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`, "u").test(readme))).toEqual([]);
});
