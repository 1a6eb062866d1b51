import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import * as nodeModule from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MAIN, prl, workspace } from "../support/prl.ts";

const NODE_HAS_IT = "enableCompileCache" in nodeModule;

let place: Awaited<ReturnType<typeof workspace>>;
beforeAll(async () => void (place = await workspace("empty")));
afterAll(() => place.remove());

// npx makes the file executable when it links the command for the first time, and not after a build that made it anew.
test("the command is a program", () => {
  expect(execFileSync(MAIN, ["--version"], { encoding: "utf8" })).toMatch(/^prl \d/u);
});

test("compiled code stays in prl's cache folder where Node can keep it", async () => {
  mkdirSync(place.cache);
  const { code } = await prl(["config", "--help"], { cwd: place.dir, cache: place.cache });
  expect(code).toBe(0);
  const folder = join(place.cache, "node");
  expect(existsSync(folder) ? readdirSync(folder).length > 0 : false).toBe(NODE_HAS_IT);
});

test("a cache folder that is not there does not stop a command", async () => {
  const { code, stderr } = await prl(["config", "--help"], { cwd: place.dir, cache: "/proc/nowhere" });
  expect([code, stderr]).toEqual([0, ""]);
});
