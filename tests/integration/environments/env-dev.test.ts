/** `prl env dev` checks an environment on every save, shows sample rollouts, and ends at once. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { chatCompletion, mockEndpoint } from "../../support/mock-endpoint.ts";
import { type Running, start } from "../../support/prl.ts";

const source = (answer: string, more = ""): string => `
import { defineEnvironment, singleTurn, z } from "prl-lm/environments";
interface Row { prompt: { role: "user"; content: string }[]; answer: string }
${more}
export default defineEnvironment({
  name: "say", version: "1.0.0", config: z.strictObject({}),
  tasks: ({ split }): Row[] => Array.from({ length: 8 }, (_, i) => ({ prompt: [{ role: "user", content: "say " + split + i }], answer: "${answer}" + split + i })),
  key: (_, index) => String(index),
  rollout: singleTurn(),
  rewards: { exact: ({ task, trace }) => trace.lastReply === task.answer },
  async validate({ task, score }) {
    if ((await score(task.answer)) !== 1 || (await score(task.answer + "!")) !== 0) throw new Error("scored wrongly");
  },
});
`;

let dir: string;
let running: Running | null = null;
let seen = "";
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "prl-env-dev-"));
  mkdirSync(join(dir, "src"));
  const manifest = {
    name: "say",
    version: "1.0.0",
    type: "module",
    prl: { environment: "./dist/index.js", source: "./src/index.ts" },
  };
  writeFileSync(join(dir, "package.json"), JSON.stringify(manifest));
});
afterEach(() => {
  running?.child.kill("SIGKILL");
});
afterAll(() => rmSync(dir, { recursive: true }));

const save = (text: string): void => writeFileSync(join(dir, "src/index.ts"), text);

function dev(...args: string[]): Running {
  seen = "";
  running = start(["env", "dev", ".", "--timeout-s", "100", ...args], { cwd: dir, cache: join(dir, "cache") });
  running.child.stdout?.on("data", (chunk) => (seen += String(chunk)));
  return running;
}

/** Until the output since the last call matches; vitest ends a test that waits for ever. */
async function printed(pattern: RegExp): Promise<string> {
  for (;;) {
    const match = pattern.exec(seen);
    if (match !== null) {
      const text = seen.slice(0, match.index + match[0].length);
      seen = seen.slice(text.length);
      return text;
    }
    if (running?.child.exitCode !== null)
      throw new Error(`it ended: ${seen}${(await running?.finished)?.stderr ?? ""}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

test("every save is a new pass; an error in the source is shown and the watch goes on; Ctrl-C ends it", async () => {
  save(source("a"));
  const { child, finished } = dev("--samples", "1");
  const first = await printed(/\d checks, none failed/u);
  expect(first).toContain("src/index.ts: watching ., Ctrl-C ends it");
  expect(first).toMatch(
    /-- task 0, with its gold reply\n {5}user: say train0\n {5}assistant: atrain0\n {5}=> reward 1, exact 1\n/u,
  );

  save(source("b"));
  expect(await printed(/\d checks, none failed/u)).toContain("assistant: btrain0");

  save("export default {;");
  expect(await printed(/failed: module \(/u)).toMatch(/module failed: .*PRL_USER_MODULE/u);

  save(source("c", "while (true);"));
  // The loop is ended by the next save, not by its deadline.
  await new Promise((resolve) => setTimeout(resolve, 500));
  save(source("d"));
  expect(await printed(/\d checks, none failed/u)).toContain("assistant: dtrain0");

  child.kill("SIGINT");
  const { code, signal, stderr } = await finished;
  expect([code, signal, stderr]).toEqual([0, null, ""]);
});

test("a model that is named plays the sample rollouts, and --once ends after one pass", async () => {
  save(source("a"));
  const mock = await mockEndpoint(() => chatCompletion("atrain1"));
  const model = ["--base-url", `${mock.url}/v1`, "--model", "m"];
  const { code, stdout } = await dev("--once", "--samples", "2", ...model).finished;
  await mock.close();
  expect(code).toBe(0);
  expect(stdout).toMatch(
    /-- task 0, as the model plays it\n {5}user: say train0\n {5}assistant: atrain1\n {5}=> reward 0, exact 0/u,
  );
  expect(stdout).toMatch(
    /-- task 1, as the model plays it\n {5}user: say train1\n {5}assistant: atrain1\n {5}=> reward 1, exact 1/u,
  );
  save(source("a").replace("!== 1", "!== 2"));
  const failing = await dev("--once", "--samples", "0").finished;
  expect([failing.code, failing.stdout]).toEqual([
    1,
    expect.stringMatching(/gold failed \(train task 0\): scored wrongly/u),
  ]);
});

test("a place that cannot be watched, half a model and --json are refused", async () => {
  for (const [args, message] of [
    [["--json"], "has no --json"],
    [["--model", "m"], "by both --base-url and --model"],
  ] as const) {
    const { code, stderr } = await dev(...args).finished;
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  }
  const { code, stderr } = await start(["env", "dev", "sudoku"], { cwd: dir, cache: join(dir, "cache") }).finished;
  expect([code, stderr]).toEqual([2, expect.stringContaining("expected one folder or the path of a module")]);
});
