/** Rows with a held sandbox: rollouts, their ends, and the sandboxes behind them. */
import { randomUUID } from "node:crypto";
import { afterAll, describe, expect, test } from "vitest";

import { diskPolicyCleanup } from "../../../../../ts/environments/catalogue/agentic/terminal-work/disk-policy-cleanup/index.ts";
import type { Cleanup } from "../../../../../ts/environments/catalogue/agentic/terminal-work/disk-policy-cleanup/policy.ts";
import { BoxPlay, commandsIn, leftBy, leftByCommands } from "../../../../../ts/environments/catalogue/box/box-play.ts";
import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { MOST_COMMANDS } from "../../../../../ts/environments/catalogue/box/box-limits.ts";
import { catalogueRows } from "../../../../../ts/environments/catalogue/index.ts";
import { idOf } from "../../../../../ts/environments/catalogue/row-environment.ts";
import { type BoxRow, isBoxRow } from "../../../../../ts/environments/catalogue/row.ts";
import { loadEnvironment } from "../../../../../ts/environments/index.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { SandboxSource } from "../../../../../ts/environments/sandboxes/sandboxes.ts";

const rows = (await catalogueRows(["agentic"])).flatMap((placed) => {
  const { row } = placed;
  return isBoxRow(row) ? [{ id: idOf(placed), row }] : [];
});
const sandboxes = new SandboxSource();
afterAll(async () => sandboxes.close());

const [example] = rows;
if (example === undefined) throw new Error("no row has a sandbox");
const { id: ID, row: ROW }: { id: string; row: BoxRow } = example;

async function taskOf(id: string) {
  const configured = (await loadEnvironment(id)).configure({ level: 1 }, { sandboxes });
  const [task] = (await configured.tasks("train", 1).page(null, 1)).tasks;
  if (task === undefined) throw new Error("no task");
  return { configured, task, instance: (task.data as { instance: object }).instance };
}

interface Play {
  readonly commands: readonly string[];
  /** Called before the reply with this number. */
  readonly before?: (turn: number) => Promise<void>;
  readonly signal?: AbortSignal;
}

/** A rollout in which the policy runs these commands, one in each reply, and then says that it is done. */
async function rollOut(id: string, { commands, before, signal = new AbortController().signal }: Play) {
  const { configured, task } = await taskOf(id);
  let turn = 0;
  const { episode } = await configured.run({
    episodeId: randomUUID(),
    groupId: "test",
    source: configured.name,
    task,
    sampling: { temperature: 1, maxCompletionTokens: null, topP: 1, topK: -1 },
    seed: 1,
    run: { type: "train", step: 0 },
    endpoint: {
      reply: async () => {
        await before?.(turn);
        const command = commands[turn++];
        const args = { command };
        const call = { id: `c${turn}`, type: "function" as const };
        const made = [{ ...call, function: { name: "shell", arguments: JSON.stringify(args) } }];
        const none = command === undefined;
        return {
          message: { role: "assistant", content: none ? "Done." : "", ...(none ? {} : { tool_calls: made }) },
          toolCalls: none ? [] : [{ name: "shell", arguments: args, status: "ok", raw: "" }],
          finishReason: "stop",
          usage: null,
        };
      },
    },
    signal,
  });
  return { configured, episode };
}

const held = async (row: BoxRow) => (await sandboxes.pool()).list({ labels: { row: row.id } });

describe("disk-policy-cleanup", () => {
  test("the tree is what find says: names, sizes, times, and which names are one file", async () => {
    const instance = drawInstance(diskPolicyCleanup, 3, createRng(5)).instance as Cleanup;
    const play = new BoxPlay(await sandboxes.pool(), diskPolicyCleanup, instance);
    try {
      const { root, today, policyName, names, contents } = instance;
      const printed = await play.run(`find ${root} -type f ! -name ${policyName} -printf '%P\\t%s\\t%Ts\\t%i\\n'`);
      const inodes = new Map<string, string[]>();
      const found = printed.split("\n").map((line) => {
        const [path = "", bytes, time, inode = ""] = line.split("\t");
        inodes.set(inode, [...(inodes.get(inode) ?? []), path].toSorted());
        return [path, Number(bytes), Number(time)];
      });
      const now = Date.parse(`${today}T00:00:00Z`) / 1000;
      const expected = names.map(([path, content]) => {
        const { bytes = 0, days = 0, more = 0 } = contents[content] ?? {};
        return [path, bytes, now - days * 86_400 - more];
      });
      expect(new Set(found.map((one) => one.join(" ")))).toEqual(new Set(expected.map((one) => one.join(" "))));
      const shared = [...inodes.values()].filter((paths) => paths.length > 1);
      const wanted = contents.map((_, content) =>
        names
          .filter(([, one]) => one === content)
          .map(([path]) => path)
          .toSorted(),
      );
      expect(new Set(shared.map(String))).toEqual(new Set(wanted.filter((paths) => paths.length > 1).map(String)));
      expect(shared.length).toBeGreaterThan(0);
    } finally {
      await play.close();
    }
  });
});

describe("rows with a held sandbox", () => {
  test.each(rows)("$id: a rollout earns what its commands leave, and its sandbox is closed", async ({ id, row }) => {
    const { instance } = await taskOf(id);
    const gold = row.gold(instance).map(({ command }) => command);
    const { configured, episode } = await rollOut(id, { commands: gold });
    expect(episode.errors).toEqual([]);
    expect(episode.traces[0]?.reward).toBe(1);
    expect(episode.traces[0]?.metrics).toMatchObject({ tool_calls: gold.length, tool_errors: 0, format: 1 });
    expect(await held(row)).toEqual([]);
    // What was left is in the record: no sandbox is needed to score it again.
    const again = await configured.rescore(episode, new AbortController().signal);
    expect(again.traces[0]?.reward).toBe(1);
    const nothing = await rollOut(id, { commands: [] });
    expect(nothing.episode.traces[0]?.reward).toBe(0);
  });

  test("a sandbox that dies is an error of the infrastructure and no reward", async () => {
    const before = async (turn: number): Promise<void> => {
      if (turn === 1) await (await sandboxes.pool()).closeAll({ labels: { row: ROW.id } });
    };
    const { episode } = await rollOut(ID, { commands: ["ls", "ls"], before });
    expect(episode.errors.map((error) => error.class)).toEqual(["infra"]);
    expect(episode.traces[0]?.reward ?? null).toBeNull();
  });

  test("a cancelled rollout closes its sandbox while a command runs", async () => {
    const cancel = new AbortController();
    const before = async (turn: number): Promise<void> => {
      if (turn === 1) setTimeout(() => cancel.abort(new Error("cancelled")), 300);
    };
    const { episode } = await rollOut(ID, { commands: ["ls", "sleep 15"], before, signal: cancel.signal });
    expect(episode.ok).toBe(false);
    await expect.poll(() => held(ROW), { timeout: 10_000 }).toEqual([]);
  });

  test("commands that are too long or too many are refused, others show output, errors and ends", async () => {
    const { instance } = await taskOf(ID);
    const play = new BoxPlay(await sandboxes.pool(), ROW, instance);
    try {
      expect(await play.run("echo out; echo err >&2; exit 3")).toBe("out\nerr\n[exit code 3]");
      expect(await play.run("true")).toBe("(no output)");
      expect(await play.run("cd /tmp; A=1; echo kept > kept")).toBe("(no output)");
      expect(await play.run("echo $A; pwd; cat /tmp/kept")).toBe("\n/work\nkept");
      expect(await play.run("kill -9 $$")).toBe("[killed by SIGKILL]");
      expect(await play.run("x".repeat(20_001))).toContain("more than 20000 characters");
      expect(await play.run("a\0b")).toContain("NUL");
      const long = await play.run("seq 1 20000");
      expect(long).toMatch(/^1\n2\n[\s\S]*left out\][\s\S]*20000$/u);
      for (let more = 0; more < MOST_COMMANDS; more++) void play.run("exit 0");
      expect(await play.run("true")).toContain(`no more than ${MOST_COMMANDS}`);
    } finally {
      await play.close();
    }
  });

  test("the state that a rollout has left counts, and else the commands of the conversation that were answered", async () => {
    const { instance } = await taskOf(ID);
    const pool = async () => sandboxes.pool();
    const messages = [{ role: "assistant" as const, content: "Everything is done." }];
    const left = { gone: ["a"], changed: 0, added: 0 };
    expect(await leftBy(ROW, instance, { info: { left }, messages }, { pool })).toEqual(left);
    const untouched = await leftByCommands(ROW, instance, [], { pool });
    expect(await leftBy(ROW, instance, { info: {}, messages }, { pool })).toEqual(untouched);
    const call = { id: "1", type: "function" as const, function: { name: "shell", arguments: '{"command":"ls"}' } };
    const asked = { role: "assistant" as const, content: "", tool_calls: [call] };
    expect(commandsIn([asked])).toEqual([]);
    expect(commandsIn([asked, { role: "tool", content: "x", tool_call_id: "1" }])).toEqual(["ls"]);
  });
});
