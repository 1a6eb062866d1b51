/** The python-repl environment with a scripted policy: state between calls, what ends the interpreter, and who is blamed. */
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  type ConfiguredEnvironment,
  loadEnvironment,
  type ReplyClient,
  SandboxSource,
  type Task,
} from "../../../ts/environments/index.ts";

const source = new SandboxSource({ parked: 1, warm: { python: 1 } });
let configured: ConfiguredEnvironment;
let task: Task;
beforeAll(async () => {
  configured = (await loadEnvironment("python-repl")).configure({ timeoutMs: 1_000 }, { sandboxes: source });
  const { tasks } = await configured.tasks("train", 1).page(null, 1);
  task = tasks[0] ?? task;
});
afterAll(() => source.close());

/** Calls the tool with one piece of code after the other, then says the text. */
function policy(pieces: readonly (string | string[])[], text: string): ReplyClient {
  let turn = 0;
  return {
    async reply() {
      const piece = pieces[turn];
      const calls = piece === undefined ? [] : [piece].flat();
      turn += 1;
      const named = calls.map((code, i) => ({ id: `c${turn}-${i}`, name: "python", arguments: { code } }));
      return {
        message: {
          role: "assistant",
          content: calls.length === 0 ? text : "",
          tool_calls: named.map(({ id, name, arguments: args }) => ({
            id,
            type: "function" as const,
            function: { name, arguments: JSON.stringify(args) },
          })),
        },
        toolCalls: named.map(({ name, arguments: args }) => ({
          status: "ok" as const,
          name,
          arguments: args,
          raw: "",
        })),
        finishReason: "stop",
        usage: null,
      };
    },
  };
}

async function run(pieces: readonly (string | string[])[], answer: string) {
  const { episode } = await configured.run({
    episodeId: "e",
    groupId: "g",
    source: "s",
    task,
    endpoint: policy(pieces, `So it is \\boxed{${answer}}.`),
    sampling: { temperature: 1, maxCompletionTokens: null, topP: 1, topK: -1 },
    seed: 1,
    run: { type: "eval", step: 0 },
    signal: AbortSignal.timeout(30_000),
  });
  const said = episode.traces[0]?.nodes
    .filter(({ message }) => message.role === "tool")
    .map(({ message }) => message.content);
  return { episode, said };
}

test("keeps its variables, shows values, prints and errors, and the boxed answer is scored", async () => {
  const { answer } = task.data as { answer: string };
  const { episode, said } = await run(["x = 20\nprint('set')", ["x += 1", "x * 2"], "1 / 0", "x"], answer);
  expect(episode.errors).toEqual([]);
  expect(episode).toMatchObject({ ok: true, traces: [{ reward: 1, metrics: { python_calls: 5, turns: 5 } }] });
  expect([said?.[0], said?.[1], said?.[2], said?.[4]]).toEqual(["set", "(no output)", "42", "21"]);
  expect(said?.[3]).toContain("ZeroDivisionError");
  expect((await run([], "0.123456")).episode.traces[0]?.reward).toBe(0);
});

test("code that ends its interpreter gets that as its result, and then a new one", async () => {
  const { episode, said } = await run(["x = 1", "while True: pass", "x", "import os; os._exit(3)", "2 + 2"], "1");
  expect(episode.ok).toBe(true);
  expect(said?.[1]).toContain("out of time");
  expect(said?.[2]).toContain("NameError");
  expect(said?.[3]).toContain("was ended");
  expect(said?.[4]).toBe("4");
});

test("endless output is truncated", async () => {
  const { said } = await run(["print('x' * 10**6)"], "1");
  expect(said?.[0]?.length).toBeLessThan(10_000);
});

test("a daemon that dies while code runs is an infra error, never scored", async () => {
  const pid = (await source.pool()).daemonPid ?? 0;
  setTimeout(() => process.kill(pid, "SIGKILL"), 400);
  const { episode } = await run(["import time; time.sleep(0.9)"], "1");
  expect(episode).toMatchObject({ ok: false, errors: [{ class: "infra" }], traces: [{ reward: null }] });
});
