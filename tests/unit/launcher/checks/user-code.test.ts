/** User code is looked at in a child: whatever it does to its process, the answer is an error with the key's place, or its facts. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { CodeCheck } from "../../../../ts/environments/internal.ts";
import { checkUserCode } from "../../../../ts/launcher/checks/user-code.ts";

const MODULES = {
  "good.ts": `import { defineEnvironment, reward, singleTurn, z } from "prl-lm/environments";
    export default defineEnvironment({
      name: "own", version: "3", config: z.strictObject({ size: z.int().default(1) }), tasks: () => [{ prompt: "a" }],
      rollout: singleTurn(), rewards: { one: reward(1, () => 1) },
    });
    export const filter = () => "keep";
    export const text = "none";`,
  "exit.ts": "process.exit(0);",
  "later.ts": "setTimeout(() => process.exit(0), 1); await new Promise((resolve) => setTimeout(resolve, 60_000));",
  "crash.ts": `process.kill(process.pid, "SIGSEGV"); await new Promise(() => setInterval(() => {}, 1000));`,
  "idle.ts": "await new Promise(() => {});",
  "waits.ts": "await new Promise(() => setInterval(() => {}, 1000));",
  "spins.ts": "for (;;);",
  "throws.ts": `throw new Error("at load");`,
};

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-code-"));
  for (const [name, source] of Object.entries(MODULES)) await writeFile(join(dir, name), source);
});
afterAll(() => rm(dir, { recursive: true, force: true }));

const AT = ["orchestrator", "train", "source", 0, "env"];
const environment = (name: string, args = {}): CodeCheck => ({
  kind: "environment",
  at: AT,
  env: { id: null, path: join(dir, name), args },
});
const check = (one: CodeCheck, deadlineMs = 120_000) => checkUserCode([one], { provenance: undefined, deadlineMs });

test("a custom environment has its facts, a function is a function", async () => {
  const filter: CodeCheck = { kind: "function", at: ["f"], path: join(dir, "good.ts#filter"), shape: "a filter" };
  const builtin: CodeCheck = { kind: "environment", at: AT, env: { id: "reverse-text", path: null, args: {} } };
  const found = await checkUserCode([environment("good.ts"), filter, builtin], { provenance: undefined });
  expect(found).toEqual([
    expect.objectContaining({ name: "own", version: "3", agents: 1, demonstrates: false, requires: {} }),
    null,
    expect.objectContaining({ name: "reverse-text", demonstrates: true }),
  ]);
});

test.each([
  ["exit.ts", /its code ended the process \(exit code 2\).*\n.*the process ended while it imported/u],
  ["later.ts", /its code ended the process/u],
  ["crash.ts", /its code ended the process \(signal SIGSEGV\)/u],
  ["idle.ts", /wait at its top level for nothing/u],
  ["throws.ts", /could not be loaded/u],
])("%s is refused by name", async (name, message) => {
  const error = await check(environment(name)).catch((cause: unknown) => cause);
  expect(error).toMatchObject({ code: "PRL_USER_MODULE", message: expect.stringMatching(message) });
  expect(error).toMatchObject({ message: expect.stringContaining("orchestrator.train.source.0.env.path: ") });
});

test.each(["waits.ts", "spins.ts"])("%s is given up at its deadline", async (name) => {
  const error = { code: "PRL_USER_DEADLINE", message: expect.stringContaining("not loaded within 3 s") as string };
  await expect(check(environment(name), 3_000)).rejects.toMatchObject(error);
});

test("a misfit is reported as without a child", async () => {
  await expect(check(environment("good.ts", { sise: 2 }))).rejects.toThrow(
    /env\.args\.sise: unknown key; did you mean "size"/u,
  );
  const text: CodeCheck = {
    kind: "function",
    at: ["f"],
    path: join(dir, "good.ts#text"),
    shape: "a filter is a function",
  };
  await expect(check(text)).rejects.toThrow("a filter is a function");
});

test("an abort ends the child at once", async () => {
  const stop = new AbortController();
  const checking = checkUserCode([environment("spins.ts")], { provenance: undefined, signal: stop.signal });
  stop.abort("SIGTERM");
  await expect(checking).rejects.toMatchObject({ code: "PRL_RUN_INTERRUPTED" });
});
