/** Several daemons behind one pool. */

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sandboxDaemonPath } from "../../../ts/native/index.ts";
import { SandboxPool } from "../../../ts/sandbox/index.ts";

let dir: string;
let daemons: ChildProcess[];
let pool: SandboxPool;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-fleet-"));
  const sockets = [0, 1, 2].map((i) => join(dir, `${i}.sock`));
  daemons = sockets.map((socket) => spawn(sandboxDaemonPath(), ["--socket", socket], { stdio: "ignore" }));
  const addresses = sockets.map((socket) => `unix:${socket}`);
  let found: SandboxPool | undefined;
  while (found === undefined || (await found.health()).daemons.length < 3) {
    await found?.close();
    found = await SandboxPool.connect({ addresses }).catch(() => undefined);
  }
  pool = found;
});
afterAll(async () => {
  await pool.close();
  await Promise.all(
    daemons.map(async (daemon) => {
      if (daemon.exitCode !== null || daemon.signalCode !== null) return;
      const ended = new Promise((resolve) => daemon.once("exit", resolve));
      daemon.kill("SIGTERM");
      await ended;
    }),
  );
  await rm(dir, { recursive: true });
});

test("share the work, report common capabilities, and each hold boxes", async () => {
  const requests = Array.from({ length: 60 }, (_, i) => ({ command: ["sh", "-c", `echo ${i}`] }));
  const results = await pool.runMany(requests);
  expect(results.map(({ stdout }) => stdout.toString())).toEqual(requests.map((_, i) => `${i}\n`));
  const health = await pool.health();
  expect(health).toMatchObject({ serving: true, completed: 60 });
  for (const { completed } of health.daemons) expect(completed).toBeGreaterThan(0);
  const { daemons: reports, maxRunning } = await pool.capabilities();
  expect(reports).toHaveLength(3);
  expect(maxRunning % 3).toBe(0);
  const boxes = await Promise.all(Array.from({ length: 9 }, () => pool.create({ labels: { test: "fleet" } })));
  const snapshot = await boxes[0]?.snapshot();
  const begun = await Promise.all(
    Array.from({ length: 3 }, () => pool.create({ from: snapshot?.id ?? "", labels: { test: "fleet" } })),
  );
  expect((await pool.health()).held).toBe(12);
  expect(await pool.closeAll({ labels: { test: "fleet" } })).toHaveLength(12);
  expect(begun).toHaveLength(3);
});

test("go on when one is killed", async () => {
  const slow = Array.from({ length: 9 }, () => ({ command: ["sleep", "1"] }));
  const running = pool.runMany(slow);
  await new Promise((resolve) => setTimeout(resolve, 500));
  daemons[1]?.kill("SIGKILL");
  const reasons = (await running).map(({ cause, reason }) => (cause === "INFRA" ? reason : cause));
  expect(new Set(reasons)).toEqual(new Set(["EXITED", "connection_lost"]));
  const after = await pool.runMany(Array.from({ length: 20 }, () => ({ command: ["true"] })));
  expect(new Set(after.map(({ cause }) => cause))).toEqual(new Set(["EXITED"]));
  expect((await pool.health()).daemons).toHaveLength(2);
});
