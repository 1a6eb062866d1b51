/** kill -9 of daemon after daemon while a pool works: every answer is right or INFRA, new daemons get work, and nothing is left of the old. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { sandboxDaemonPath } from "../../../ts/native/index.ts";
import { type Box, type RunResult, SandboxPool } from "../../../ts/sandbox/index.ts";
import { commandLine, processTree, sandboxCgroups } from "./support.ts";
import { IS_LONG } from "../../support/form.ts";

const DAEMONS = 3;
const LANES = 16;
const KILLS = IS_LONG ? 60 : 4;
const BETWEEN_KILLS_MS = 300;
const DEADLINE_MS = 20_000;

/** What a killed daemon makes of a run that it had. */
const LOST = ["connection_lost", "daemon_restarted"];

async function begin(socket: string): Promise<ChildProcess> {
  const daemon = spawn(
    sandboxDaemonPath(),
    ["--socket", socket, "--park", "2", "--warm", "python=0", "--stop-with-stdin"],
    {
      // However this process ends, it takes them along.
      stdio: ["pipe", "pipe", "ignore"],
    },
  );
  const lines = createInterface({ input: daemon.stdout });
  await once(lines, "line", { signal: AbortSignal.timeout(DEADLINE_MS) });
  return daemon;
}

async function ended(daemon: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (daemon.exitCode !== null || daemon.signalCode !== null) return;
  const exit = once(daemon, "exit");
  daemon.kill(signal);
  await exit;
}

/** When a process began, in the kernel's ticks: with its number what tells it from any other. Null when it is gone, or a zombie. */
function beginning(pid: number): string | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
    return fields[0] === "Z" ? null : (fields[19] ?? null);
  } catch {
    return null;
  }
}

/** What is still there of a daemon that was killed, once it had the time to go. */
async function left(tree: ReadonlyMap<number, string | null>, daemonPid: number): Promise<string[]> {
  for (const until = Date.now() + DEADLINE_MS; ; await sleep(50)) {
    const processes = [...tree].filter(([pid, began]) => began !== null && beginning(pid) === began);
    const found = [
      ...processes.map(([pid]) => `process ${pid} ${commandLine(pid) ?? ""}`),
      ...sandboxCgroups(daemonPid),
    ];
    if (found.length === 0 || Date.now() > until) return found;
  }
}

test("no result is wrong while daemons are killed under load", { timeout: 60_000 + KILLS * 3_000 }, async () => {
  const dir = await mkdtemp(join(tmpdir(), "prl-chaos-"));
  const sockets = Array.from({ length: DAEMONS }, (_, i) => join(dir, `${i}.sock`));
  const daemons = await Promise.all(sockets.map(begin));
  const pool = await SandboxPool.connect({ addresses: sockets.map((socket) => `unix:${socket}`) });
  const wrong: string[] = [];
  let [right, lost, boxesLost] = [0, 0, 0];
  const stop = new AbortController();

  const judge = (mark: string, { cause, reason, exitCode, stdout }: RunResult): boolean => {
    if (cause === "EXITED" && exitCode === 0 && stdout.toString() === `${mark}\n`) {
      right += 1;
      return true;
    }
    if (cause === "INFRA" && LOST.includes(reason)) lost += 1;
    else wrong.push(`${mark}: ${cause} ${reason} ${String(exitCode)} ${stdout.toString()}`);
    return false;
  };
  const runs = async (lane: number): Promise<void> => {
    for (let turn = 0; !stop.signal.aborted; turn++) {
      const mark = `${lane}.${turn}`;
      // The mark is printed once: a program that ran twice in one sandbox would find its file.
      const script = `set -C; echo ${mark} > f && sleep 0.0${turn % 5} && cat f`;
      judge(mark, await pool.runOnce({ command: ["sh", "-c", script], key: mark }));
    }
  };
  const boxes = async (lane: number): Promise<void> => {
    for (let turn = 0; !stop.signal.aborted; turn++) {
      let box: Box | undefined;
      try {
        box = await pool.create({ labels: { test: "chaos" } });
        for (let exec = 0; exec < 5 && !stop.signal.aborted; exec++) {
          const mark = `${lane}.${turn}.${exec}`;
          // What earlier execs left is there, and nothing else.
          const script = `echo ${mark} >> f; [ $(wc -l < f) = ${exec + 1} ] && tail -n 1 f`;
          if (!judge(mark, await box.exec(["sh", "-c", script]))) break;
        }
      } catch (error) {
        const { code } = error as { code?: string };
        const expected = ["CONNECTION_LOST", "DAEMON_RESTARTED", "BOX_ENDED", "UNREACHABLE"].map(
          (c) => `PRL_SANDBOX_${c}`,
        );
        if (code !== undefined && expected.includes(code)) boxesLost += 1;
        else wrong.push(`box ${lane}.${turn}: ${String(error)}`);
      } finally {
        await box?.close().catch(() => undefined);
      }
    }
  };
  const load = Array.from({ length: LANES }, async (_, lane) => (lane % 4 === 0 ? boxes(lane) : runs(lane)));
  try {
    for (let kill = 0; kill < KILLS; kill++) {
      const before = right;
      await sleep(BETWEEN_KILLS_MS);
      const victim = kill % DAEMONS;
      const daemon = daemons[victim];
      if (daemon?.pid === undefined) throw new Error("no daemon");
      const tree = new Map(processTree(daemon.pid).map((pid) => [pid, beginning(pid)]));
      await ended(daemon, "SIGKILL");
      expect(await left(tree, daemon.pid)).toEqual([]);
      daemons[victim] = await begin(sockets[victim] ?? "");
      // The others go on meanwhile.
      expect(right).toBeGreaterThan(before);
    }
    // Each of those that were started anew is given work again.
    for (const until = Date.now() + DEADLINE_MS; Date.now() < until; await sleep(50)) {
      const { daemons: reports } = await pool.health();
      if (reports.length === DAEMONS && reports.every(({ completed }) => completed > 0)) break;
    }
    const { daemons: reports } = await pool.health();
    expect(reports.map(({ completed }) => completed > 0)).toEqual(Array.from({ length: DAEMONS }, () => true));
  } finally {
    stop.abort();
    await Promise.all(load);
    await pool.close();
    await Promise.all(daemons.map(async (daemon) => ended(daemon, "SIGTERM")));
    await rm(dir, { recursive: true });
  }
  expect(wrong).toEqual([]);
  expect(right).toBeGreaterThan(LANES * KILLS);
  // Somebody was hit each time: runs, execs or boxes.
  expect(lost + boxesLost).toBeGreaterThanOrEqual(KILLS);
});
