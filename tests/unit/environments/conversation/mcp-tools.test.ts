/** Tools of real servers that speak the Model Context Protocol, over both transports. */
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import {
  defineEnvironment,
  mcpTools,
  type ReplyClient,
  tool,
  type ToolSource,
  toolUse,
} from "../../../../ts/environments/index.ts";
import { PrlError } from "../../../../ts/errors.ts";

const SERVER = join(import.meta.dirname, "../../../support/mcp-server.mjs");
const program = { command: process.execPath, args: [SERVER] };

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

type Call = readonly [name: string, args?: Record<string, unknown>];

/** A model that makes these calls, all of one list at the same time, and then answers. */
function caller(...turns: Call[][]): ReplyClient & { tools: string[] } {
  let turn = 0;
  const client: ReplyClient & { tools: string[] } = {
    tools: [],
    reply({ tools = [] }) {
      client.tools = tools.map((one) => (one["function"] as { name: string }).name);
      const calls = (turns[turn++] ?? []).map(([name, args = {}]) => ({
        name,
        arguments: args,
        raw: JSON.stringify(args),
      }));
      return Promise.resolve({
        message: {
          role: "assistant",
          content: calls.length === 0 ? "done" : "",
          tool_calls: calls.map(({ name, raw }, index) => ({
            id: `${turn}-${index}`,
            type: "function",
            function: { name, arguments: raw },
          })),
        },
        toolCalls: calls.map((call) => ({ status: "ok", ...call })),
        finishReason: "stop",
        usage: null,
      });
    },
  };
  return client;
}

async function run(servers: readonly ToolSource[], endpoint: ReplyClient, signal = new AbortController().signal) {
  const own = tool({ description: "own", parameters: z.object({}), execute: () => "own" });
  const environment = defineEnvironment({
    name: "t",
    version: "1.0.0",
    config: z.strictObject({}),
    tasks: (): { prompt: string }[] => [],
    rollout: toolUse<{ prompt: string }>({ tools: { own }, servers }),
    rewards: { one: () => 1 },
  }).configure();
  const { episode } = await environment.run({
    episodeId: "e",
    groupId: "g",
    source: "s",
    task: { key: "0", hash: "", data: { prompt: "hi" } },
    endpoint,
    sampling: { temperature: 1, maxCompletionTokens: null, topP: 1, topK: -1 },
    seed: 1,
    run: { type: "eval", step: 0 },
    signal,
  });
  const [trace] = episode.traces;
  const answers =
    trace?.nodes.filter(({ message }) => message.role === "tool").map(({ message }) => message.content) ?? [];
  return { errors: episode.errors, metrics: trace?.metrics, answers };
}

describe("tools of an MCP program", () => {
  it("stand beside the environment's tools, and show their errors to the policy", async () => {
    const endpoint = caller(
      [["add", { a: 2, b: 40 }], ["count"], ["count"], ["own"], ["picture"]],
      [["add", { a: "x" }], ["fail"], ["hang"], ["nothing"]],
    );
    const { errors, answers, metrics } = await run([mcpTools({ ...program, timeoutMs: 300 })], endpoint);
    expect(errors).toEqual([]);
    expect(endpoint.tools).toEqual(["own", "add", "count", "variable", "process", "fail", "hang", "die", "picture"]);
    expect(answers.slice(0, 5)).toEqual(["42", "1", "2", "own", "[image image/png]"]);
    expect(answers[5]).toMatch(/expected number/iu);
    expect(answers[6]).toContain("no luck");
    expect(answers[7]).toBe("Error: the tool did not end within 300 ms");
    expect(answers[8]).toMatch(/no tool nothing/u);
    expect(metrics).toMatchObject({ tool_calls: 9, tool_errors: 4, add_calls: 2 });
  });

  it("are those of a process of the rollout's own, with few variables of ours", async () => {
    process.env["SECRET_OF_THE_TEST"] = "seen";
    try {
      const both = [
        mcpTools({ ...program, prefix: "a_", only: ["count", "variable"] }),
        mcpTools({ ...program, prefix: "b_", env: { SECRET_OF_THE_TEST: "given" } }),
      ];
      for (let rollout = 0; rollout < 2; rollout++) {
        const endpoint = caller([["a_count"], ["b_count"], ["a_variable"], ["b_variable"]]);
        const { answers } = await run(both, endpoint);
        expect(answers).toEqual(["1", "1", "unset", "given"]);
        expect(endpoint.tools.filter((name) => name.startsWith("a_"))).toEqual(["a_count", "a_variable"]);
      }
    } finally {
      delete process.env["SECRET_OF_THE_TEST"];
    }
  });

  it("end with the rollout, whatever it did", async () => {
    const stopped = new AbortController();
    setTimeout(() => stopped.abort(new PrlError("PRL_EPISODE_CANCELLED", "enough")), 1500);
    const ended = await run([mcpTools(program)], caller([["process"]]));
    const cancelled = await run([mcpTools(program)], caller([["process"]], [["hang"]]), stopped.signal);
    expect(cancelled.errors).toMatchObject([{ code: "PRL_EPISODE_CANCELLED" }]);
    for (const pid of [...ended.answers, ...cancelled.answers].map(Number)) {
      expect(pid).toBeGreaterThan(1);
      for (let i = 0; i < 100 && isAlive(pid); i++) await sleep(50);
      expect(isAlive(pid)).toBe(false);
    }
  });

  it("that dies makes the rollout an infrastructure error", async () => {
    const { errors } = await run([mcpTools(program)], caller([["count"], ["die"]]));
    expect(errors).toMatchObject([{ class: "infra", code: "PRL_TOOL_SERVER" }]);
  });

  it("that cannot be used is the environment's error", async () => {
    const cases: [ToolSource[], RegExp][] = [
      [[mcpTools({ command: "/no/such/program" })], /no\/such\/program cannot be opened/u],
      [[mcpTools({ command: process.execPath, args: ["-e", ""] })], /cannot be opened/u],
      [[mcpTools({ ...program, only: ["nothing"] })], /has no tool "nothing"; it has add/u],
      [[mcpTools(program), mcpTools(program)], /two tools are named "add"/u],
    ];
    for (const [servers, problem] of cases) {
      const { errors } = await run(servers, caller([["count"]]));
      expect(errors).toMatchObject([{ class: "environment", message: expect.stringMatching(problem) as string }]);
    }
  });
});

describe("an MCP program that is slow to start", () => {
  it("is an infra error, since the machine may only be busy", async () => {
    const silent = mcpTools({
      command: process.execPath,
      args: ["-e", "setInterval(() => {}, 1000)"],
      startTimeoutMs: 200,
    });
    const { errors } = await run([silent], caller([["count"]]));
    expect(errors).toMatchObject([
      { class: "infra", code: "PRL_TOOL_SERVER", message: expect.stringContaining("within 200 ms") as string },
    ]);
  });

  it("starts beside few others, so that many rollouts at once all get theirs", async () => {
    const many = Array.from({ length: 12 }, () => run([mcpTools(program)], caller([["count"]])));
    for (const { errors } of await Promise.all(many)) expect(errors).toEqual([]);
  });
});

describe("tools of an MCP address", () => {
  let server: ChildProcess;
  let url: string;
  beforeAll(async () => {
    server = spawn(process.execPath, [SERVER, "http"], { stdio: ["ignore", "pipe", "inherit"] });
    url = await new Promise<string>((resolve) => server.stdout?.once("data", (line) => resolve(String(line).trim())));
  });
  afterAll(() => void server.kill("SIGKILL"));

  it("are called over HTTP; an address without an answer is infrastructure", async () => {
    const { answers, errors } = await run([mcpTools({ url })], caller([["add", { a: 1, b: 2 }], ["fail"]]));
    expect(errors).toEqual([]);
    expect(answers[0]).toBe("3");
    expect(answers[1]).toContain("no luck");
    const unreachable = await run([mcpTools({ url: "http://127.0.0.1:9/mcp" })], caller([["count"]]));
    expect(unreachable.errors).toMatchObject([{ class: "infra", code: "PRL_TOOL_SERVER" }]);
  });

  it("end their session with the rollout: a server keeps it until then", async () => {
    const open = new Map<string, StreamableHTTPServerTransport>();
    const began = { sessions: 0 };
    const http = createServer((request, response) => {
      const known = open.get(String(request.headers["mcp-session-id"]));
      if (known !== undefined) return void known.handleRequest(request, response);
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (id) => void (open.set(id, transport), began.sessions++),
        onsessionclosed: (id) => void open.delete(id),
      });
      const mcp = new McpServer({ name: "sessions", version: "1.0.0" });
      mcp.registerTool("one", { description: "one" }, () => ({ content: [{ type: "text", text: "1" }] }));
      return void mcp.connect(transport).then(() => transport.handleRequest(request, response));
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
    const { answers, errors } = await run([mcpTools({ url: address })], caller([["one"]]));
    http.closeAllConnections();
    http.close();
    expect([answers, errors]).toEqual([["1"], []]);
    expect([began.sessions, open.size]).toEqual([1, 0]);
  });
});
