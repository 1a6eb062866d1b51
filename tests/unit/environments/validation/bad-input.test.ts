/** Environments that are wrong: each failure has a name, comes in time, and leaves the others alone. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import { defineEnvironment, endless, loadEnvironment, singleTurn } from "../../../../ts/environments/index.ts";
import { startEnvWorker } from "../../../../ts/environments/internal.ts";
import { readTasks } from "../../../../ts/evals/read-tasks.ts";
import { REVERSE_TEXT_MODEL } from "../builtin/reverse-text-model.ts";

interface Row {
  prompt: string;
}

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "prl-bad-"));
});
afterAll(() => rmSync(dir, { recursive: true }));

function module(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

function define(tasks: () => Iterable<Row> | AsyncIterable<Row> | ReturnType<typeof endless<Row>>) {
  const config = z.strictObject({});
  const rewards = { one: () => 1 };
  return defineEnvironment({ name: "t", version: "1.0.0", config, tasks, rollout: singleTurn(), rewards }).configure();
}

const read = (tasks: Parameters<typeof define>[0], wanted: number, most = 50) =>
  readTasks(define(tasks), { name: "t", split: "eval", seed: 0, wanted, deadlineMs: 200, most });

describe("a module", () => {
  it.each([
    ["throws on import", "throws.mjs", "throw new Error('out of order')", "PRL_USER_MODULE"],
    ["does not parse", "torn.mjs", "export default {{", "PRL_USER_MODULE"],
    ["exports no environment", "other.mjs", "export default { name: 'x' }", "PRL_ENVIRONMENT_INVALID"],
  ])("that %s is named, by itself and in an env worker", async (_, file, text, code) => {
    const path = module(file, text);
    const message = expect.stringContaining(file) as string;
    await expect(loadEnvironment(path)).rejects.toMatchObject({ code, message });
    const config = {
      run_id: "t",
      seed: 1,
      model_dir: REVERSE_TEXT_MODEL,
      sources: [{ name: "bad", split: "train" as const, env: { path } }],
      max_concurrent: 1,
    };
    await expect(startEnvWorker(config)).rejects.toMatchObject({ code, message });
  });
});

describe("tasks", () => {
  function* forever(): Generator<Row> {
    for (let i = 0; ; i++) yield { prompt: String(i) };
  }

  it("that never end need a number, whether they say so or not", async () => {
    await expect(read(() => endless(forever()), -1)).rejects.toMatchObject({ code: "PRL_CONFIG_INVALID" });
    await expect(read(forever, -1)).rejects.toMatchObject({
      code: "PRL_ENVIRONMENT_INVALID",
      message: expect.stringMatching(/more than 50 tasks.*-n.*endless/u) as string,
    });
    expect((await read(forever, 70)).tasks).toHaveLength(70);
    expect((await read(() => endless(forever()), 3)).tasks).toHaveLength(3);
  });

  it.each<[string, Parameters<typeof define>[0], string, RegExp]>([
    ["are none", () => [], "PRL_ENVIRONMENT_INVALID", /no tasks/u],
    [
      "throw",
      () => [].map(() => ({ prompt: "" })).concat(JSON.parse("nonsense") as Row[]),
      "PRL_ENVIRONMENT_FAILED",
      /threw/u,
    ],
    ["are no objects", () => JSON.parse('["text"]') as Row[], "PRL_ENVIRONMENT_INVALID", /task 0 is no object/u],
    [
      "never come",
      async function* hang() {
        await new Promise(() => undefined);
        yield { prompt: "" };
      },
      "PRL_ENVIRONMENT_TIMEOUT",
      /within 0.2 s/u,
    ],
    [
      "break off",
      function* broken() {
        yield { prompt: "a" };
        throw new Error("no more");
      },
      "PRL_ENVIRONMENT_FAILED",
      /no more/u,
    ],
  ])("that %s have a name", async (_, tasks, code, problem) => {
    await expect(read(tasks, -1)).rejects.toMatchObject({ code, message: expect.stringMatching(problem) as string });
  });
});
