/** Agent programs in sandboxes: they reach the policy and nothing else, and their ends have different causes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, describe, expect, test } from "vitest";

import {
  agent,
  type AgentProgramOptions,
  defineEnvironment,
  type Limits,
  type PolicyClient,
  SandboxSource,
  z,
} from "../../../ts/environments/index.ts";
import { PrlError } from "../../../ts/errors.ts";
import { sandboxDaemonPath } from "../../../ts/native/index.ts";
import { call, END, policy, renderer, tokenizer } from "../../support/agent-rollout.ts";

const source = new SandboxSource();
afterAll(() => source.close());

type Row = { prompt: string; answer: string };

/** Loops until a reply has no call; `run` is a shell. Standard library only. */
const PYTHON_AGENT = `
import json, os, subprocess, sys, urllib.request

messages = [{"role": "user", "content": sys.stdin.read()}]
tools = [{"type": "function", "function": {"name": "run", "parameters": {"type": "object", "properties": {"command": {"type": "string"}}}}}]
while True:
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "policy", "messages": messages, "tools": tools}).encode(),
        {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"], "content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        said = json.load(response)["choices"][0]["message"]
    messages.append(said)
    if not said.get("tool_calls"):
        print("said:", said["content"])
        break
    for one in said["tool_calls"]:
        command = json.loads(one["function"]["arguments"])["command"]
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
        messages.append({"role": "tool", "tool_call_id": one["id"], "content": done.stdout + done.stderr})
`;

/** Anthropic's dialect, from Node. */
const NODE_AGENT = `
const { ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, TASK } = process.env;
const messages = [{ role: "user", content: TASK }];
for (let turn = 0; turn < 50; turn++) {
  const response = await fetch(ANTHROPIC_BASE_URL + "/v1/messages", {
    method: "POST",
    headers: { "x-api-key": ANTHROPIC_API_KEY, "content-type": "application/json" },
    body: JSON.stringify({ model: "policy", max_tokens: 100, messages }),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error.message);
  messages.push({ role: "assistant", content: answer.content }, { role: "user", content: "and on?" });
}
`;

async function run(
  options: AgentProgramOptions<Row>,
  client: PolicyClient,
  limits: Limits = {},
  sandboxes: SandboxSource = source,
) {
  const environment = defineEnvironment<object, Row>({
    name: "agent-test",
    version: "1.0.0",
    config: z.strictObject({}),
    tasks: () => [],
    rollout: agent(options),
    limits,
    metrics: {
      still_writing: async ({ sandbox }) => {
        const size = async () =>
          (await (await sandbox()).exec(["sh", "-c", "wc -c < ticks || true"])).stdout.toString();
        const before = await size();
        await sleep(300);
        return before !== (await size());
      },
    },
    rewards: {
      wrote: async ({ sandbox, task, trace }) => {
        expect(trace.info).toHaveProperty("agent.cause");
        const read = await (await sandbox()).exec(["cat", "out.txt"]);
        return read.stdout.toString().trim() === task.answer;
      },
    },
  });
  expect(environment.requires).toMatchObject({ sandbox: { model: true } });
  const { episode, columns } = await environment.configure({}, { sandboxes }).run({
    episodeId: "e",
    groupId: "g",
    source: "s",
    task: { key: "0", hash: "", data: { prompt: "Write 42 into out.txt", answer: "42" } },
    client,
    tokenizer,
    renderer,
    sampling: { temperature: 1, maxCompletionTokens: 200, topP: 1, topK: -1 },
    seed: 1,
    run: { type: "train", step: 1 },
    signal: AbortSignal.timeout(60_000),
  });
  return { episode, trace: episode.traces[0], columns: columns[0] };
}

const python = { files: { "agent.py": PYTHON_AGENT }, command: ["python3", "agent.py"] };

describe("an agent program", () => {
  test("talks to the policy over several turns, is scored by the files that it left, and its tokens are exact", async () => {
    const said = [
      `${call("run", { command: "echo 42 > out.txt" })}${END}`,
      `${call("run", { command: "cat out.txt" })}${call("run", { command: "ls /nowhere" })}${END}`,
      `Done.${END}`,
    ];
    const { client, prompts } = policy(said);
    const { episode, trace, columns } = await run(python, client);
    expect(episode.errors).toEqual([]);
    expect(trace).toMatchObject({
      reward: 1,
      stop_condition: "agent_completed",
      info: { agent: { cause: "EXITED", exit_code: 0, stdout: "said: Done.\n" } },
    });
    expect(prompts[2]).toContain("<tool_response>\n42\n");
    expect(prompts[2]).toContain("No such file");
    expect(columns?.branchOffsets).toHaveLength(2);
    const sampled = columns?.tokenIds.filter((_, at) => columns.mask[at] === 1) ?? [];
    expect(tokenizer.decode(Uint32Array.from(sampled))).toBe(said.join(""));
    expect(trace?.metrics).not.toHaveProperty("rerendered_turns");
  });

  test("that would go on for ever is stopped by the limit, and one that hangs by its time", async () => {
    const node = { files: { "agent.mjs": NODE_AGENT }, command: ["node", "agent.mjs"], promptIn: { env: "TASK" } };
    const endless = await run({ ...node, maxTurns: 3 }, policy([]).client);
    expect(endless.trace).toMatchObject({ reward: 0, stop_condition: "max_turns" });
    expect(endless.trace?.nodes.filter(({ sampled }) => sampled)).toHaveLength(3);
    expect(endless.trace?.info).toMatchObject({
      agent: { stderr: expect.stringContaining("PRL_AGENT_STOPPED") as string },
    });
    const hanging = { ...python, files: { "agent.py": PYTHON_AGENT.replace("break", "import time; time.sleep(60)") } };
    const late = await run({ ...hanging, timeoutMs: 1500 }, policy([`Done.${END}`]).client);
    expect(late.trace).toMatchObject({ stop_condition: "agent_timeout", info: { agent: { cause: "WALL_TIMEOUT" } } });
  });

  test("that ignores the stop is ended", async () => {
    const stubborn = `
import os, time, urllib.request
while True:
    headers = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    body = b'{"messages": [{"role": "user", "content": "more"}]}'
    try:
        urllib.request.urlopen(urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, headers)).read()
    except Exception:
        time.sleep(0.1)
`;
    const { trace } = await run({ ...python, files: { "agent.py": stubborn }, maxTurns: 2 }, policy([]).client);
    expect(trace).toMatchObject({ stop_condition: "max_turns", info: { agent: { cause: "CANCELLED" } } });
  });

  test("that a limit of the environment stops is gone before it is scored, and its end is recorded", async () => {
    const busy = PYTHON_AGENT.replace(
      "break",
      'exec(\'while True:\\n with open("ticks", "a") as file: file.write(".")\')',
    );
    const ticking = { ...python, files: { "agent.py": busy } };
    const late = await run(ticking, policy([`Done.${END}`]).client, { timeMs: 2500 });
    expect(late.episode.errors).toEqual([]);
    expect(late.trace).toMatchObject({
      stop_condition: "max_time",
      metrics: { still_writing: 0, agent_retries: 0 },
      info: { agent: { cause: "CANCELLED" } },
    });
  });

  test("that fails after its first turn is scored; that never calls the model is an error with its output", async () => {
    const broken = PYTHON_AGENT.replace("break", "sys.exit(3)");
    const failed = await run({ ...python, files: { "agent.py": broken } }, policy([`Done.${END}`]).client);
    expect(failed.trace).toMatchObject({
      reward: 0,
      stop_condition: "agent_failed",
      info: { agent: { exit_code: 3 } },
    });
    const silent = await run(
      { ...python, files: { "agent.py": "raise SystemExit('no such module')" } },
      policy([]).client,
    );
    expect(silent.episode.errors).toMatchObject([{ class: "environment", code: "PRL_AGENT_SILENT" }]);
    expect(silent.episode.errors[0]?.message).toMatch(/exit code 1.*no such module/u);
  });

  test("whose model failed is an error of the model's side, whatever the program made of it", async () => {
    const client = { generate: () => Promise.reject(new PrlError("PRL_INFERENCE_FAILED", "no luck")) };
    const { episode } = await run(python, client);
    expect(episode.errors).toMatchObject([{ class: "provider", code: "PRL_INFERENCE_FAILED", message: "no luck" }]);
  });
});

/** A daemon on TCP as on another machine: it opens no service of its machine for anybody. */
async function daemonOnTcp(dir: string): Promise<{ addresses: string[]; stop: () => Promise<void> }> {
  const tokens = join(dir, "tokens");
  await writeFile(tokens, "here:token-of-here\n", { mode: 0o600 });
  const args = ["--listen", "127.0.0.1:0", "--token-file", tokens, "--park", "0"];
  const daemon = spawn(sandboxDaemonPath(), args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(daemon.stdout, "data")) as [Buffer];
  const { address } = JSON.parse(line.toString()) as { address: string };
  return {
    addresses: [address],
    stop: async () => {
      daemon.kill("SIGTERM");
      await once(daemon, "exit");
    },
  };
}

describe("an agent program in a sandbox of another daemon", () => {
  test("talks to the policy through the daemon, which is not open to a program without the rollout's key", async () => {
    const dir = await mkdtemp(join(tmpdir(), "prl-agent-elsewhere-"));
    const { addresses, stop } = await daemonOnTcp(dir);
    const elsewhere = new SandboxSource({ addresses, token: "token-of-here" });
    expect([elsewhere.connectedBy, source.connectedBy]).toEqual(["caller", "daemon"]);
    try {
      const said = [`${call("run", { command: "echo 42 > out.txt" })}${END}`, `Done.${END}`];
      const { client, prompts } = policy(said);
      const done = await run(python, client, {}, elsewhere);
      expect(done.episode.errors).toEqual([]);
      expect(done.trace).toMatchObject({ reward: 1, stop_condition: "agent_completed" });
      expect(prompts).toHaveLength(2);
      // Tries the way with no key and with a wrong one, then with the rollout's.
      const intruder = PYTHON_AGENT.replace(
        "messages = [",
        `
for key in [{}, {"authorization": "Bearer wrong"}]:
    body = json.dumps({"model": "policy", "messages": [{"role": "user", "content": "let me in"}]}).encode()
    try: urllib.request.urlopen(urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body, key))
    except urllib.error.HTTPError as error: print(error.code)
messages = [`,
      );
      const tried = policy([`Done.${END}`]);
      const refused = await run({ ...python, files: { "agent.py": intruder } }, tried.client, {}, elsewhere);
      expect(refused.trace).toMatchObject({ info: { agent: { stdout: "401\n401\nsaid: Done.\n" } } });
      expect(tried.prompts).toHaveLength(1);
      expect(tried.prompts[0]).not.toContain("let me in");
    } finally {
      await elsewhere.close();
      await stop();
      await rm(dir, { recursive: true });
    }
  });
});
