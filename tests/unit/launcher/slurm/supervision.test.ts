/** What a job's script makes of the ends of its roles: real bash, with steps that are processes of this machine. */
import { spawn } from "node:child_process";
import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { planRoles } from "../../../../ts/launcher/slurm/job-plan.ts";
import { renderJob } from "../../../../ts/launcher/slurm/job-script.ts";
import { type FakeSlurm, fakeSlurm } from "../../../support/clusters/fake-slurm.ts";
import { temporaryFolder } from "../../cli/runs/run-fixture.ts";

interface Job {
  readonly runDir: string;
  readonly slurm: FakeSlurm;
  /** SIGTERM to the script, as Slurm sends it before the time limit. */
  readonly terminate: () => void;
  readonly ended: Promise<{ code: number | null; log: string }>;
  readonly end: () => Promise<unknown>;
  /** Resolves when the role has begun and Slurm has its step. */
  readonly begun: (role: string) => Promise<void>;
}

interface Options {
  nodes?: number;
  state?: Record<string, unknown>;
  env?: Record<string, string>;
  requeue?: boolean;
}

/** Starts the script of a run whose prl is `body`: lines of sh, with the sub-command in $1. */
async function job(body: string, { nodes = 2, state = {}, env = {}, requeue = true }: Options = {}): Promise<Job> {
  const folder = await temporaryFolder();
  const runDir = join(folder, "it's a $(run)");
  await mkdir(join(runDir, "slurm"), { recursive: true });
  await writeFile(join(runDir, "slurm/key"), "secret");
  const prl = join(folder, "prl.sh");
  const serve = `serve() { trap 'exit 143' TERM; while :; do sleep 0.05; done; }`;
  await writeFile(prl, `#!/bin/sh\n: >"$RUN/begun-$1"\n${serve}\n${body}\n`);
  await chmod(prl, 0o755);
  const config = rlConfigSchema.parse({
    model: { name: "m" },
    orchestrator: { train: { source: [{ env: { id: "reverse-text" } }] } },
    run: { name: "mine" },
    slurm: { nodes, requeue, command: [prl] },
  });
  const roles = planRoles(config);
  const script = renderJob({ config, roles, runDir, cwd: folder, command: [], resume: null });
  const slurm = await fakeSlurm(folder);
  await slurm.answer({ nodes: Array.from({ length: nodes }, (_, i) => `n${i + 1}`), ...state });
  await writeFile(join(folder, "job.sh"), script);
  const child = spawn("bash", [join(folder, "job.sh")], {
    env: { ...process.env, ...slurm.env, RUN: runDir, SLURM_JOB_ID: "7", SLURM_JOB_NODELIST: `n[1-${nodes}]`, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let log = "";
  child.stdout.on("data", (chunk) => (log += String(chunk)));
  child.stderr.on("data", (chunk) => (log += String(chunk)));
  onTestFinished(() => void child.kill("SIGKILL"));
  return {
    runDir,
    slurm,
    terminate: () => void child.kill("SIGTERM"),
    ended: new Promise((resolve) => child.on("close", (code) => resolve({ code, log }))),
    end: async () => JSON.parse(await readFile(join(runDir, "slurm/end.json"), "utf8")) as unknown,
    begun: async (role) => {
      const isThere = async (dir: string, file: string) =>
        (await readdir(dir).catch((): string[] => [])).includes(file);
      const steps = join(slurm.env["FAKE_SLURM"] ?? "", "steps");
      while (!(await isThere(runDir, `begun-${role}`)) || !(await isThere(steps, `${role}-0`))) await sleep(20);
    },
  };
}

const DONE = `case $1 in trainer | orchestrator) exit 0 ;; *) serve ;; esac`;

test("a run whose trainer and orchestrator are done is completed, and its servers are ended", async () => {
  const { ended, end, slurm, runDir } = await job(DONE);
  expect(await ended).toMatchObject({ code: 0, log: expect.stringContaining("completed") });
  expect(await end()).toMatchObject({ job: "7", restarts: 0, reason: "completed", role: "", exit_code: 0 });
  const sruns = (await slurm.calls()).filter(({ name }) => name === "srun");
  const valueOf = (args: readonly string[], key: string) =>
    args.find((arg) => arg.startsWith(`${key}=`))?.slice(key.length + 1);
  const placed = sruns.map(({ args }) => `${valueOf(args, "--job-name")} on ${valueOf(args, "--nodelist")}`);
  expect(placed.toSorted()).toEqual([
    "env-worker-0 on n1",
    "inference-0 on n2",
    "orchestrator-0 on n1",
    "trainer-0 on n1",
  ]);
  const trainer = sruns.find(({ args }) => args.includes("trainer"))?.args ?? [];
  const config = join(runDir, "slurm/rl.toml");
  const servers = ["--orchestrator.client.base_url", '["http://127.0.0.1:10007"]', "--inference.server.port", "10007"];
  expect(trainer.slice(trainer.indexOf("trainer"))).toEqual(["trainer", "@", config, "--run-dir", runDir, ...servers]);
  const inference = sruns.find(({ args }) => args.includes("inference"))?.args ?? [];
  expect(inference.slice(-4)).toEqual(["--index", "0", "--inference.server.host", "127.0.0.1"]);
});

test.each([
  ["trainer", "exit 4", 4, "failed"],
  ["orchestrator", "exit 2", 2, "failed"],
  ["inference", "exit 0", 1, "failed"],
  ["env-server", "exit 3", 3, "failed"],
])("a %s that ends by `%s` ends the others, and the job with %i", async (role, how, code, reason) => {
  const { ended, end } = await job(`case $1 in ${role}) sleep 0.2; ${how} ;; *) serve ;; esac`);
  expect(await ended).toMatchObject({ code });
  const name = `${role === "env-server" ? "env-worker" : role}-0`;
  expect(await end()).toMatchObject({ reason, role: name, exit_code: code });
});

test("a server that a signal ends is started again in its step, and the job goes on", async () => {
  const once = `[ -e "$RUN/killed" ] || { : >"$RUN/killed"; kill -9 $$; }`;
  const wait = `while [ ! -e "$RUN/again" ]; do sleep 0.05; done`;
  const body = `case $1 in inference) ${once}; : >"$RUN/again"; serve ;; env-server) serve ;; *) ${wait} ;; esac`;
  const { ended, end, slurm, runDir } = await job(body);
  expect(await ended).toMatchObject({ code: 0, log: expect.stringContaining("completed") });
  expect(await end()).toMatchObject({ reason: "completed", role: "", exit_code: 0 });
  expect((await slurm.calls()).filter(({ name }) => name === "srun")).toHaveLength(4);
  const logs = await readdir(join(runDir, "logs/latest"));
  expect(logs).toContain("inference-0.log");
  expect(await readFile(join(runDir, "logs/latest/inference-0.log"), "utf8")).toMatch(
    /ended with code 137 and is started again\n/u,
  );
});

test("a server that is killed again and again ends the job with its code", async () => {
  const { ended, end, runDir } = await job(`case $1 in inference) kill -9 $$ ;; *) serve ;; esac`);
  expect(await ended).toMatchObject({ code: 137 });
  expect(await end()).toMatchObject({ reason: "failed", role: "inference-0", exit_code: 137 });
  const log = await readFile(join(runDir, "logs/latest/inference-0.log"), "utf8");
  expect(log.match(/is started again/gu)).toHaveLength(5);
});

test("a role whose step vanishes is lost, and the nodes that are down are named", async () => {
  // As when the node of the step is gone: its program leaves no exit code.
  const vanish = `case $1 in inference) sleep 0.2; kill -9 0 ;; *) serve ;; esac`;
  const { ended, end } = await job(vanish, { state: { down: ["n2"] } });
  expect(await ended).toMatchObject({ code: 1 });
  expect(await end()).toMatchObject({ reason: "lost", role: "inference-0", exit_code: 1, down_nodes: "n2" });
});

test.each([
  [true, "RUNNING", "requeued", true],
  [true, "COMPLETING", "stopped", false],
  [false, "RUNNING", "stopped", false],
])("a SIGTERM with requeue = %s in state %s: %s", async (requeue, state, reason, again) => {
  const { ended, end, begun, terminate, slurm } = await job("serve", { requeue, state: { state } });
  await begun("orchestrator");
  terminate();
  expect(await ended).toMatchObject({ code: 143 });
  expect(await end()).toMatchObject({ reason, role: "", exit_code: 143 });
  const calls = await slurm.calls();
  expect(calls.some(({ name, args }) => name === "scontrol" && args[0] === "requeue")).toBe(again);
  // The orchestrator gets its signal before the others do.
  const [first, second] = calls.filter(({ name }) => name === "scancel").map(({ args }) => args.at(-1));
  expect([first, second]).toEqual([expect.stringMatching(/^7\.\d+$/u), "7"]);
});

test("a job whose parts Slurm itself has ended writes its end, though scancel does not come back", async () => {
  const { ended, end, begun, terminate } = await job("sleep 6; exit 143", {
    state: { state: "COMPLETING", hangs: true },
  });
  await begun("orchestrator");
  terminate();
  expect(await ended).toMatchObject({ code: 143 });
  expect(await end()).toMatchObject({ reason: "stopped", role: "", exit_code: 143 });
});

test("a job that Slurm has started again goes on from the newest checkpoint, with its servers as at first", async () => {
  const { ended, slurm, end } = await job(DONE, { env: { SLURM_RESTART_COUNT: "2" } });
  expect(await ended).toMatchObject({ code: 0 });
  expect(await end()).toMatchObject({ restarts: 2 });
  const last = (await slurm.calls())
    .filter(({ name }) => name === "srun")
    .map(({ args }) => [
      args.find((arg) => arg.startsWith("--job-name="))?.slice("--job-name=".length),
      args.includes("--resume"),
    ]);
  expect(Object.fromEntries(last)).toEqual({
    "inference-0": false,
    "env-worker-0": false,
    "trainer-0": true,
    "orchestrator-0": true,
  });
});

test("on one node the launcher is the only role, and its code is the job's", async () => {
  const { ended, slurm } = await job(`[ "$1" = rl ] && exit 2`, { nodes: 1 });
  expect(await ended).toMatchObject({ code: 2 });
  expect((await slurm.calls()).filter(({ name }) => name === "srun")).toHaveLength(1);
});

test("a list of nodes that Slurm does not give ends the job before any role", async () => {
  const { ended, slurm } = await job(DONE, { state: { nodes: ["n1"] } });
  expect(await ended).toMatchObject({ code: 1, log: expect.stringContaining("n[1-2]") });
  expect((await slurm.calls()).some(({ name }) => name === "srun")).toBe(false);
});

test("a job has its key from the file that the user alone can read, or from the environment", async () => {
  const keep = `[ "$1" = trainer ] && printf %s "$PRL_TRANSPORT_TOKEN" >"$RUN/seen"\n${DONE}`;
  const filed = await job(keep, { env: { PRL_TRANSPORT_TOKEN: "" } });
  await filed.ended;
  expect(await readFile(join(filed.runDir, "seen"), "utf8")).toBe("secret");
  const given = await job(keep, { env: { PRL_TRANSPORT_TOKEN: "mine" } });
  await given.ended;
  expect(await readFile(join(given.runDir, "seen"), "utf8")).toBe("mine");
});
