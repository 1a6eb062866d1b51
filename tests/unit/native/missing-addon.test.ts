/** A missing or damaged addon: the message names its own reason, without the advice of napi's loader, which is about other packages. */
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { loadFailure } from "../../../ts/native/missing-binary.ts";
import { ROOT } from "../../support/prl.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-addon-"));
  // Node evaluates a module once, also one that threw.
  for (const name of ["missing.mjs", "truncated.mjs"]) await copyFile(join(ROOT, "native/index.js"), join(dir, name));
});
afterAll(() => rm(dir, { recursive: true }));

function thrownBy(loader: string): unknown {
  try {
    createRequire(import.meta.url)(join(dir, loader));
  } catch (error) {
    return error;
  }
  throw new Error("it loaded");
}

test("an addon that is not there has no cause: the cure says it all", () => {
  const thrown = thrownBy("missing.mjs");
  expect(String(thrown)).toContain("Cannot find native binding");
  expect(loadFailure(thrown)).toBeUndefined();
});

test.runIf(process.platform === "linux" && process.arch === "x64")("a truncated addon is named", async () => {
  await writeFile(join(dir, "prl.linux-x64-gnu.node"), "");
  expect(String(loadFailure(thrownBy("truncated.mjs")))).toMatch(/prl\.linux-x64-gnu\.node: file too short/u);
});

test("an error of another loader stays as it is", () => {
  const thrown = new Error("Cannot find module 'addon.js'");
  expect(loadFailure(thrown)).toBe(thrown);
});
