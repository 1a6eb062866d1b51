/** Daemons that do not start, that are shared, and the command line. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { runCommandLine } from "../../../ts/cli/dispatch.ts";
import { daemonHangs } from "../../../ts/cli/processes/daemon-silence.ts";
import { selfCommand } from "../../../ts/self-command.ts";
import { sandboxDaemonPath } from "../../../ts/native/index.ts";
import { SandboxPool } from "../../../ts/sandbox/index.ts";
import { until } from "./support.ts";

let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-daemon-"));
});
afterAll(async () => rm(dir, { recursive: true }));
const named = process.env["PRL_SANDBOXD"];
afterEach(() => {
  if (named === undefined) delete process.env["PRL_SANDBOXD"];
  else process.env["PRL_SANDBOXD"] = named;
});

async function program(name: string, script: string): Promise<void> {
  const path = join(dir, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  process.env["PRL_SANDBOXD"] = path;
}

/** Runs `prl` in a separate process. */
async function prl(args: string[], stdin: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const { command, args: own } = selfCommand();
  const child = spawn(command, [...own, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => (stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (stderr += String(chunk)));
  child.stdin.end(stdin);
  const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
  return { code, stdout, stderr };
}

describe("a daemon that hangs", () => {
  test("is noticed, and one that works is not taken for it", { timeout: 60_000 }, async () => {
    const socket = join(dir, "hangs.sock");
    const daemon = spawn(sandboxDaemonPath(), ["--socket", socket, "--stop-with-stdin", "--park", "0"], {
      stdio: ["pipe", "pipe", "ignore"],
    });
    await once(daemon.stdout, "data");
    const over = new AbortController();
    const notes: string[] = [];
    const note = (text: string) => void notes.push(text);
    const hangs = daemonHangs({ address: `unix:${socket}`, limitMs: 5_000, signal: over.signal, note });
    try {
      expect(await Promise.race([hangs, sleep(7_000, "works")])).toBe("works");
      daemon.kill("SIGSTOP");
      expect(await hangs).toBe(true);
    } finally {
      daemon.kill("SIGKILL");
      over.abort();
    }
    const other = daemonHangs({ address: `unix:${socket}`, limitMs: 600_000, signal: over.signal, note });
    expect([await other, notes]).toEqual([false, []]);
  });
});

describe("a daemon that does not come up", () => {
  test("is named with the cure when it is not built", async () => {
    process.env["PRL_SANDBOXD"] = join(dir, "nowhere");
    await expect(SandboxPool.start()).rejects.toMatchObject({
      code: "PRL_SANDBOX_MISSING",
      message: expect.stringContaining(join(dir, "nowhere")),
    });
  });

  test("is reported with the end of its log when it ends", async () => {
    await program("ends", "echo the reason >&2; exit 3");
    await expect(SandboxPool.start()).rejects.toMatchObject({
      code: "PRL_SANDBOX_START_FAILED",
      message: expect.stringMatching(/exit status: 3[^]*the reason/),
    });
  });

  test("is reported with the end of its log when it takes too long, and is stopped", async () => {
    await program("hangs", `echo $$ > ${join(dir, "pid")}; echo still busy >&2; exec sleep 60`);
    await expect(SandboxPool.start({ startTimeoutMs: 400 })).rejects.toMatchObject({
      code: "PRL_SANDBOX_START_TIMEOUT",
      message: expect.stringContaining("still busy"),
    });
    const pid = Number(await readFile(join(dir, "pid"), "utf8"));
    const isGone = (): boolean => {
      try {
        process.kill(pid, 0);
        return false;
      } catch {
        return true;
      }
    };
    expect(await until(isGone, 7000)).toBe(true);
  });
});

describe("a daemon for others", () => {
  test("serves a socket for this user only, to several clients, until a signal stops it", async () => {
    const socket = join(dir, "shared.sock");
    const daemon = spawn(sandboxDaemonPath(), ["--socket", socket], { stdio: "ignore" });
    const ended = new Promise<number | null>((resolve) => daemon.once("exit", (code) => resolve(code)));
    try {
      const connect = () => SandboxPool.connect({ addresses: [`unix:${socket}`] });
      let first: SandboxPool | undefined;
      while (first === undefined) first = await connect().catch(() => undefined);
      const second = await connect();
      expect((await stat(socket)).mode & 0o777).toBe(0o600);
      const results = await Promise.all([first, second].map((pool) => pool.runOnce({ command: ["echo", "shared"] })));
      expect(results.map(({ stdout }) => stdout.toString())).toEqual(["shared\n", "shared\n"]);
      expect(first.daemonPid).toBeNull();
      await first.close();
      expect((await second.runOnce({ command: ["true"] })).cause).toBe("EXITED");
      const cut = second.runOnce({ command: ["sleep", "60"] });
      while ((await second.health()).running < 1) await new Promise((resolve) => setTimeout(resolve, 5));
      daemon.kill("SIGKILL");
      expect(await cut).toMatchObject({ cause: "INFRA", reason: "connection_lost", exitCode: null });
      await second.close();
    } finally {
      daemon.kill("SIGTERM");
      await ended;
    }
  });

  test("wants its token on TCP", async () => {
    const token = "a-token-of-the-test";
    // Below the ports that the system gives to others.
    const port = 20_000 + (process.pid % 12_000);
    const daemon = spawn(sandboxDaemonPath(), ["--listen", `127.0.0.1:${port}`], {
      stdio: "ignore",
      env: { ...process.env, PRL_SANDBOX_TOKEN: token },
    });
    const ended = new Promise<number | null>((resolve) => daemon.once("exit", (code) => resolve(code)));
    try {
      const addresses = [`127.0.0.1:${port}`];
      let pool: SandboxPool | undefined;
      while (pool === undefined) pool = await SandboxPool.connect({ addresses, token }).catch(() => undefined);
      expect(await pool.runOnce({ command: ["true"] })).toMatchObject({ cause: "EXITED", exitCode: 0 });
      await pool.close();
      for (const wrong of [{}, { token: "another" }]) {
        await expect(SandboxPool.connect({ addresses, ...wrong })).rejects.toMatchObject({ code: "PRL_SANDBOX_AUTH" });
      }
    } finally {
      daemon.kill("SIGTERM");
      await ended;
    }
  });

  test.each([
    [["unix:/nowhere/at/all.sock"], "PRL_SANDBOX_UNREACHABLE"],
    [["nonsense"], "PRL_SANDBOX_ADDRESS"],
    [[], "PRL_SANDBOX_ADDRESS"],
    [["https://127.0.0.1:9"], "PRL_SANDBOX_ADDRESS"],
    [["127.0.0.1:9", "unix:/nowhere/at/all.sock"], "PRL_SANDBOX_UNREACHABLE"],
    [["dns:no-such-name.invalid:7070"], "PRL_SANDBOX_UNREACHABLE"],
  ])("%j is %s", async (addresses, code) => {
    await expect(SandboxPool.connect({ addresses })).rejects.toMatchObject({ code });
  });
});

describe("prl sandbox", () => {
  test("run passes stdin, output and the exit code on", async () => {
    const { code, stdout, stderr } = await prl(
      ["sandbox", "run", "--", "sh", "-c", "cat; echo problem >&2; exit 7"],
      "hello\n",
    );
    expect({ code, stdout, stderr }).toEqual({ code: 7, stdout: "hello\n", stderr: "problem\n" });
  });

  test("serve passes arguments after -- to the daemon, and run reaches it", async () => {
    const socket = join(dir, "served.sock");
    const { command, args: own } = selfCommand();
    const serve = [
      ...own,
      "sandbox",
      "serve",
      "--socket",
      socket,
      "--metrics-address",
      "0",
      "--",
      "--max-running",
      "3",
    ];
    const daemon = spawn(command, serve, { stdio: ["ignore", "pipe", "ignore"] });
    const announced = once(daemon.stdout, "data");
    const ended = new Promise<number | null>((resolve) => daemon.once("exit", (code) => resolve(code)));
    try {
      const addresses = [`unix:${socket}`];
      let pool: SandboxPool | undefined;
      while (pool === undefined) pool = await SandboxPool.connect({ addresses }).catch(() => undefined);
      expect((await pool.capabilities()).maxRunning).toBe(3);
      await pool.close();
      const run = ["sandbox", "run", "--address", `unix:${socket}`, "--", "echo", "reached"];
      expect(await prl(run, "")).toEqual({ code: 0, stdout: "reached\n", stderr: "" });
      const { metrics } = JSON.parse(String(await announced)) as { metrics: string };
      expect(metrics).toMatch(/^127\.0\.0\.1:/u);
      const page = await (await fetch(`http://${metrics}/metrics`)).text();
      expect(page).toContain('prl_sandbox_runs_total{cause="EXITED"} 1\n');
    } finally {
      daemon.kill("SIGTERM");
      await ended;
    }
  });

  test("run distinguishes a limit from the program's own end", async () => {
    const { code, stderr } = await prl(["sandbox", "run", "--wall-ms", "200", "--", "sleep", "60"], "");
    expect(code).toBe(125);
    expect(stderr).toContain("WALL_TIMEOUT");
  });

  test("doctor prints facilities and the isolation that results", async () => {
    let stdout = "";
    const io = { write: (text: string) => (stdout += text) };
    const code = await runCommandLine(["sandbox", "doctor"], { stdout: io, stderr: io, env: {}, cwd: dirname(dir) });
    expect(stdout).toMatch(/seccomp/);
    expect(stdout).toMatch(/isolation: (process|rootless|full)/);
    expect(code).toBe(0);
  });

  test.each([
    [["sandbox"]],
    [["sandbox", "rum"]],
    [["sandbox", "run"]],
    [["sandbox", "serve"]],
    [["sandbox", "doctor", "--ca", "x"]],
    [["sandbox", "doctor", "--address", "127.0.0.1:9", "--cert", "/dev/null"]],
  ])("%j is a wrong command line", async (args) => {
    let stderr = "";
    const io = { write: (text: string) => (stderr += text) };
    expect(await runCommandLine(args, { stdout: io, stderr: io, env: {}, cwd: dir })).toBe(2);
    expect(stderr).toContain("prl sandbox");
  });
});
