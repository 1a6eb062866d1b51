/** Cancelling, dying, closing: nothing is lost, nothing lies, nothing is left. */

import { spawn } from "node:child_process";
import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { selfCommand } from "../../../ts/self-command.ts";
import { SandboxPool } from "../../../ts/sandbox/index.ts";
import { ROOT } from "../../support/prl.ts";
import { commandLine, processTree, sandboxCgroups, sandboxMounts, until } from "./support.ts";

let pool: SandboxPool;
let tree: number[];
beforeEach(async () => {
  pool = await SandboxPool.start();
});
afterEach(async () => pool.close());

const daemon = (): number => pool.daemonPid ?? 0;
const alive = (pids: readonly number[]): (string | null)[] => pids.map(commandLine).filter((line) => line !== null);
const sleeping = () => pool.runOnce({ command: ["sleep", "60"], limits: { wallMs: 60_000 } });
const running = async (count: number): Promise<void> => {
  while ((await pool.health()).running < count) await new Promise((resolve) => setTimeout(resolve, 5));
};

/** The daemon answers before it has torn the sandbox down; that has its own deadline here. */
const idle = async (): Promise<boolean> => {
  for (const startedAt = performance.now(); performance.now() - startedAt < 5000;) {
    if ((await pool.health()).running === 0) return true;
  }
  return false;
};

describe("cancelling", () => {
  test("aborting the signal kills the run", async () => {
    const controller = new AbortController();
    const run = pool.runOnce({
      command: ["sh", "-c", "echo before; sleep 60"],
      limits: { wallMs: 60_000 },
      signal: controller.signal,
    });
    await running(1);
    await new Promise((resolve) => setTimeout(resolve, 200));
    controller.abort();
    expect(await run).toMatchObject({ cause: "CANCELLED", exitCode: null });
    expect(await idle()).toBe(true);
  });

  test("a signal that is aborted already runs nothing", async () => {
    const before = (await pool.health()).completed;
    const result = await pool.runOnce({ command: ["true"], signal: AbortSignal.abort() });
    expect(result.cause).toBe("CANCELLED");
    expect((await pool.health()).completed).toBe(before);
  });

  test("one signal cancels the remaining runs of many", async () => {
    const controller = new AbortController();
    const requests = Array.from({ length: 12 }, (_, i) => ({ command: i < 2 ? ["true"] : ["sleep", "60"] }));
    const many = pool.runMany(requests, { concurrency: 4, signal: controller.signal });
    await until(() => false, 600);
    controller.abort();
    const causes = (await many).map(({ cause }) => cause);
    expect(causes.slice(0, 2)).toEqual(["EXITED", "EXITED"]);
    expect(new Set(causes.slice(2))).toEqual(new Set(["CANCELLED"]));
  });
});

describe("one key, one execution", () => {
  test("asking again gives the kept result", async () => {
    const request = { command: ["sh", "-c", "date +%s%N"], key: "once" };
    const [first, again] = await Promise.all([pool.runOnce(request), pool.runOnce(request)]);
    const later = await pool.runOnce(request);
    expect(first.cause).toBe("EXITED");
    expect(again.stdout.toString()).toBe(first.stdout.toString());
    expect(later.stdout.toString()).toBe(first.stdout.toString());
    expect(later.replayed).toBe(true);
  });
});

describe("the daemon's death", () => {
  test("kill -9 in the middle of runs makes each of them INFRA, leaves no process, and the next call has a new one", async () => {
    const box = await pool.create();
    const runs = [sleeping(), sleeping(), sleeping(), box.exec(["sleep", "60"], { timeoutMs: 60_000 })];
    await running(3);
    const killed = daemon();
    tree = processTree(killed);
    process.kill(killed, "SIGKILL");
    for (const result of await Promise.all(runs)) {
      expect(result).toMatchObject({ cause: "INFRA", reason: "daemon_exited", exitCode: null });
    }
    const results = await pool.runMany(Array.from({ length: 8 }, () => ({ command: ["echo", "well"] })));
    expect(results.map(({ cause, stdout }) => [cause, stdout.toString()])).toEqual(
      results.map(() => ["EXITED", "well\n"]),
    );
    expect(daemon()).not.toBe(killed);
    expect((await pool.capabilities()).daemons).toHaveLength(1);
    // What the first one held is lost by name.
    expect(await box.exec(["true"])).toMatchObject({ cause: "INFRA", reason: "daemon_exited" });
    await expect(box.read("x")).rejects.toMatchObject({ code: "PRL_SANDBOX_DAEMON_EXITED" });
    await box.close();
    await until(() => alive(tree).length === 0, 5000);
    expect(alive(tree)).toEqual([]);
  });

  test("a program cannot reach the daemon", async () => {
    const result = await pool.runOnce({ command: ["sh", "-c", `kill -9 ${daemon()} 1 2>/dev/null; echo lives`] });
    expect(result.stdout.toString()).toBe("lives\n");
    expect((await pool.health()).serving).toBe(true);
  });
});

describe("the end", () => {
  test("closing cancels running programs, and leaves no process, folder, mount or control group", async () => {
    const run = sleeping();
    await running(1);
    const pid = daemon();
    tree = processTree(pid);
    expect(tree.length).toBeGreaterThan(1);
    const folder = dirname(/--socket (\S+)/.exec(commandLine(pid) ?? "")?.[1] ?? "");
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    await pool.close();
    expect((await run).cause).toBe("CANCELLED");
    await until(() => alive(tree).length === 0, 5000);
    expect(alive(tree)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
    expect(sandboxMounts()).toEqual([]);
    expect(sandboxCgroups(pid)).toEqual([]);
    await expect(pool.runOnce({ command: ["true"] })).rejects.toMatchObject({ code: "PRL_SANDBOX_CLOSED" });
    await pool.close();
  });

  test("a client that is killed takes its daemon and every sandbox with it", async () => {
    const { command, args } = selfCommand();
    const client = spawn(command, [...args, "sandbox", "run", "--", "sleep", "60"], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "ignore"],
    });
    const pid = client.pid ?? 0;
    const sleeps = () => processTree(pid).some((child) => commandLine(child) === "sleep 60");
    expect(await until(sleeps, 15_000)).toBe(true);
    tree = processTree(pid);
    client.kill("SIGKILL");
    await until(() => alive(tree).length === 0, 8000);
    expect(alive(tree)).toEqual([]);
  });
});

describe("many runs", () => {
  test("200 at 64 at once are all right, in order, and leave nothing", async () => {
    const pid = daemon();
    expect(sandboxCgroups(pid).length).toBeGreaterThan(0);
    const requests = Array.from({ length: 200 }, (_, i) => ({
      command: ["sh", "-c", `cat; echo ${i}; exit ${i % 7}`],
      stdin: `in ${i}\n`,
    }));
    const results = await pool.runMany(requests);
    for (const [i, result] of results.entries()) {
      expect(result, `run ${i}: ${result.reason} ${result.detail ?? ""}`).toMatchObject({
        cause: "EXITED",
        exitCode: i % 7,
      });
      expect(result.stdout.toString()).toBe(`in ${i}\n${i}\n`);
    }
    expect(await idle()).toBe(true);
    tree = processTree(daemon());
    await pool.close();
    await until(() => alive(tree).length === 0, 5000);
    expect(alive(tree)).toEqual([]);
    expect(sandboxMounts()).toEqual([]);
    expect(sandboxCgroups(pid)).toEqual([]);
  });

  test("more than the queue holds is overloaded, with a time to try again, and nothing is lost", async () => {
    const small = await SandboxPool.start({ maxRunning: 1, maxQueued: 1 });
    try {
      const results = await Promise.all(Array.from({ length: 8 }, () => small.runOnce({ command: ["sleep", "0.2"] })));
      const refused = results.filter(({ cause }) => cause === "INFRA");
      expect(refused.length).toBeGreaterThan(0);
      for (const result of refused) expect(result).toMatchObject({ reason: "overloaded", exitCode: null });
      expect(refused.every(({ retryAfterMs }) => (retryAfterMs ?? 0) > 0)).toBe(true);
      expect(results.filter(({ cause }) => cause === "EXITED").length).toBe(8 - refused.length);
    } finally {
      await small.close();
    }
  });
});
