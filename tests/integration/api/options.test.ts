/** Every public function refuses the keys and values of its options that it does not take, by their names. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { policyLoss } from "../../../ts/algorithms/index.ts";
import {
  batch,
  closeModels,
  columns,
  dir,
  ENGINE,
  floats,
  model,
  openModels,
  trainer,
} from "./option-tables/engine.ts";
import { ENVIRONMENTS } from "./option-tables/environments.ts";
import { RUNS } from "./option-tables/runs.ts";
import { SANDBOX } from "./option-tables/sandbox.ts";
import { openText, renderer, TEXT, tokenizer } from "./option-tables/text.ts";
import { VERIFIERS } from "./option-tables/verify.ts";
import { WEIGHTS } from "./option-tables/weights.ts";
import { WITHOUT_OPTIONS } from "./option-tables/without-options.ts";

beforeAll(async () => {
  await openModels();
  await openText(dir);
});
afterAll(closeModels);

const FUNCTIONS = { ...ENGINE, ...TEXT, ...WEIGHTS, ...RUNS, ...ENVIRONMENTS, ...SANDBOX, ...VERIFIERS };

/** What a call ends with, whether it throws or rejects. */
async function failure(call: () => unknown): Promise<{ code?: string; message?: string } | null> {
  try {
    await call();
    return null;
  } catch (error) {
    return error as { code?: string; message?: string };
  }
}

describe.each(Object.entries(FUNCTIONS))("%s", (_name, { code, call, wrong }) => {
  test.each(["topp", "weightDecay", "logitBias", "x".repeat(10_000)])("refuses the unknown key %s", async (key) => {
    const error = await failure(() => call({ [key]: 1 }));
    expect(error).toMatchObject({ code });
    expect(error?.message).toContain(key.slice(0, 50));
    expect(error?.message?.length).toBeLessThan(12_000);
  });

  test.each(Object.entries(wrong))("refuses %s of %o", async (key, value) => {
    const error = await failure(() => call({ [key]: value }));
    expect(error).toMatchObject({ code });
    expect(error?.message).toContain(key);
  });
});

describe.each([Number.NEGATIVE_INFINITY, Number.NaN, 5])("the log-probability %d of the sampler", (value) => {
  test.each([
    ["policyLoss", /inferenceLogprobs\[1\]/, "PRL_LOSS_INPUT"],
    ["forwardBackward", /inference_logprobs\[1\]/, "PRL_LOSS_INPUT"],
  ])("is refused by %s where the token trains, and no matter elsewhere", async (name, message, code) => {
    const run = (values: Float32Array, mask: Uint8Array) =>
      name === "policyLoss"
        ? policyLoss("ppo", { ...columns, inferenceLogprobs: values, mask })
        : trainer.forwardBackward({ ...batch, inferenceLogprobs: values, lossMask: mask });
    const error = await failure(() => run(floats(0, value, -1), Uint8Array.of(0, 1, 1)));
    expect(error).toMatchObject({ code });
    expect(error?.message).toMatch(message);
    expect(await failure(() => run(floats(0, value, -1), Uint8Array.of(0, 0, 1)))).toBeNull();
  });
});

/** Functions that an entry point gives, those of its classes and of what its functions open. */
async function publicFunctions(): Promise<string[]> {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as {
    exports: Record<string, { types?: string }>;
  };
  const files = Object.values(exports).flatMap(({ types }) => types ?? []);
  expect(files.length).toBeGreaterThan(8);
  const modules = await Promise.all(
    files.map(async (file) => {
      const source = file.replace("./dist/", "../../../ts/").replace(".d.ts", ".ts");
      return (await import(source)) as Record<string, unknown>;
    }),
  );
  const opened = { Model: model, Trainer: trainer, Tokenizer: tokenizer, Renderer: renderer };
  return [
    ...modules.flatMap((module) => Object.entries(module).flatMap(([name, value]) => functionsOf(name, value))),
    ...Object.entries(opened).flatMap(([name, value]) => methods(name, value)),
  ];
}

function functionsOf(name: string, value: unknown): string[] {
  if (typeof value !== "function") return [];
  if (!Function.prototype.toString.call(value).startsWith("class")) return [name];
  const construct = value as unknown as { prototype: object };
  return [...methods(name, construct), ...methods(name, construct.prototype)];
}

function methods(owner: string, value: object): string[] {
  const properties = Object.entries(Object.getOwnPropertyDescriptors(value));
  return properties.flatMap(([name, property]) =>
    typeof property.value === "function" && name !== "constructor" ? [`${owner}.${name}`] : [],
  );
}

test("every public function is in a table, or among those that take no options", async () => {
  const tested = new Set(Object.keys(FUNCTIONS).map((name) => name.split(" ")[0]));
  const known = new Set([...tested, ...WITHOUT_OPTIONS]);
  const functions = await publicFunctions();
  expect(functions.filter((name) => !known.has(name))).toEqual([]);
  expect(WITHOUT_OPTIONS.filter((name) => tested.has(name) || !functions.includes(name))).toEqual([]);
});
