/** Runs whose rollouts are on env workers that the user starts, as on other machines: over TLS and with a token. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { certificates, hasOpenssl } from "../../support/certificates.ts";
import { freePorts } from "../../support/free-ports.ts";
import { prl, readJson, type Running, start, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/runs/run-result.ts";
import { undisturbedRun } from "../../support/runs/undisturbed-run.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const STEPS = 6;
const BLOCK = "--orchestrator.remote-env-workers";

let place: Awaited<ReturnType<typeof workspace>>;
let pems: Awaited<ReturnType<typeof certificates>>;
let ports: number[];
let workers: Running[];
beforeEach(async (context) => {
  if (!hasOpenssl()) context.skip();
  place = await workspace();
  pems = await certificates(place.dir);
  ports = await freePorts(2);
  workers = [];
});
afterEach(async () => {
  for (const { child } of workers) child.kill("SIGTERM");
  await Promise.all(workers.map(({ finished }) => finished));
  await place.remove();
});

const options = (token: string) => ({ cwd: place.dir, cache: place.cache, env: { PRL_ENV_WORKER_TOKEN: token } });
const runDir = (name: string) => join(place.dir, "outputs", name);
const shared = ["--max-steps", String(STEPS), "--orchestrator.eval", "None"];

/** Worker `i`, with a run directory that no other process has. */
function worker(i: number, generation = 0): Running {
  const door = [
    `${BLOCK}.listen`,
    `127.0.0.1:${ports[i]}`,
    `${BLOCK}.tls-cert`,
    pems.cert,
    `${BLOCK}.tls-key`,
    pems.key,
  ];
  const dir = join(place.dir, `worker-${i}-${generation}`);
  const args = ["env-server", "@", SYNC, "--run-dir", dir, ...shared, "--warm-start", "None", ...door];
  const running = start(args, { ...options("right"), deadlineMs: 300_000 });
  workers.push(running);
  return running;
}

function remoteArgs(name: string): string[] {
  const urls = JSON.stringify(ports.map((port) => `https://127.0.0.1:${port}`));
  return ["rl", SYNC, ...shared, "--run.name", name, `${BLOCK}.connect`, urls, `${BLOCK}.tls-ca`, pems.ca];
}

const local = async () => runResult(await undisturbedRun(SYNC, ...shared), STEPS);

test("come to the batches and weights of local workers, also when one is killed on the way", async () => {
  const expected = await local();
  const [first] = [worker(0), worker(1)];
  const run = start(remoteArgs("remote"), { ...options("right"), deadlineMs: 300_000 });
  const done = new AbortController();
  void run.finished.finally(() => done.abort());
  while (!done.signal.aborted) {
    const steps = await readdir(join(runDir("remote"), "rollouts")).catch(() => []);
    if (steps.length > 1) break;
    await sleep(20);
  }
  expect(done.signal.aborted).toBe(false);
  first?.child.kill("SIGKILL");
  await first?.finished;
  worker(0, 1);
  const { code, stderr } = await run.finished;
  expect([code, stderr]).toEqual([0, ""]);
  expect(await runResult(runDir("remote"), STEPS)).toEqual(expected);
  // All rollouts are placed elsewhere, so that the run needs no worker here.
  expect((await readdir(join(runDir("remote"), "logs"))).filter((name) => name.startsWith("env-worker"))).toEqual([]);
  expect(await readJson(join(runDir("remote"), "summary.json"))).toMatchObject({ status: "completed", steps: STEPS });
});

test("a wrong token is refused by name for every worker, before there is a run", async () => {
  worker(0);
  worker(1);
  const { code, stderr } = await prl(remoteArgs("refused"), { ...options("wrong"), deadlineMs: 300_000 });
  expect([code, stderr]).toEqual([1, expect.stringContaining("[PRL_ENV_WORKER_AUTH]")]);
  for (const port of ports) expect(stderr).toContain(`https://127.0.0.1:${port} refuses the token`);
  await expect(readdir(join(place.dir, "outputs"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("an address to listen on is refused in the config of a run", async () => {
  const args = [...remoteArgs("listening"), `${BLOCK}.listen`, `127.0.0.1:${ports[0]}`];
  const { code, stderr } = await prl(args, options("right"));
  expect([code, stderr]).toEqual([2, expect.stringContaining("remote_env_workers.listen")]);
  await expect(readdir(join(place.dir, "outputs"))).rejects.toMatchObject({ code: "ENOENT" });
});
