/**
 * Runs over ssh on two hosts, which are two sshd on loopback: to the end, refused, killed, stopped. The long form (`PRL_TEST_LONG=1`) has the cases in
 * which something is killed.
 */
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { argumentsWith, filesWith } from "../../support/hidden-key.ts";
import { certificates, hasOpenssl } from "../../support/certificates.ts";
import { missingSsh, type SshHosts, sshHosts } from "../../support/clusters/ssh-hosts.ts";
import { type Finished, prl, readJson, readJsonLines, type Running, start, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/runs/run-result.ts";
import { IS_LONG } from "../../support/form.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const STEPS = 2;
const FOREVER = 5000;
/** Everything of a failed run has ended within this time. */
const ENDED_MS = 60_000;
/** A part ends this long after its session, at most; with room for a loaded machine. */
const LEFT_MS = 20_000;
const START_MS = 120_000;
const isMissing = missingSsh.length > 0;
const HEAD = { a: ["trainer", "orchestrator"], b: ["inference"] } as const;
const PARTS = ["inference-0", "env-worker-0", "trainer-0", "orchestrator-0"];

interface MetricsRow {
  component: string;
  step: number;
  attempt: number;
}

interface Summary {
  status: string;
  steps: number;
  error?: { code: string; message: string };
}

describe.skipIf(isMissing)(`two hosts over ssh${isMissing ? ` (not installed: ${missingSsh.join(", ")})` : ""}`, () => {
  let place: Awaited<ReturnType<typeof workspace>>;
  let hosts: SshHosts;
  beforeEach(async () => {
    place = await workspace("empty");
    hosts = await sshHosts(place.cache);
  });
  afterEach(async () => {
    await hosts.stop();
    await place.remove();
  });

  const runDir = (name: string) => join(place.dir, "outputs", name);
  const run = (...args: string[]): Promise<Finished> => prl(args, { cwd: place.dir, cache: place.cache });
  const config = (name: string, steps: number, ...more: string[]) =>
    [
      SYNC,
      "--run.name",
      name,
      "--max-steps",
      String(steps),
      "--orchestrator.eval",
      "None",
      "--warm-start",
      "None",
    ].concat(["--ckpt.recovery_interval", "1"], more);
  const launch = async (name: string, steps: number, ...more: string[]): Promise<Running> => {
    const file = await hosts.file(HEAD);
    return start(["launch", "ssh", file, ...config(name, steps, ...more)], { cwd: place.dir, cache: place.cache });
  };
  const summary = (name: string) => readJson<Summary>(join(runDir(name), "summary.json"));
  /** The processes of the parts themselves, by the command of prl. */
  const partOf = async (command: string) =>
    (await hosts.processes()).filter(({ args }) => args.includes(`main.js ${command} `));
  async function until(isSo: () => Promise<boolean>, ms: number, what: string): Promise<void> {
    const end = performance.now() + ms;
    while (!(await isSo())) {
      if (performance.now() > end) throw new Error(`${what} took more than ${ms / 1000} s`);
      await sleep(100);
    }
  }
  const trained = (name: string) =>
    until(
      async () => (await readFile(join(runDir(name), "metrics.jsonl"), "utf8").catch(() => "")).includes('"step":1,'),
      START_MS,
      "the first step",
    );
  const nothingLeft = (ms: number) =>
    until(async () => (await hosts.processes()).length === 0, ms, "the end of the parts on the hosts");

  test("a run on two hosts comes to what prl rl comes to, and its logs and metrics come back", async () => {
    expect((await run("rl", ...config("local", STEPS))).code).toBe(0);
    const { finished } = await launch("far", STEPS);
    await trained("far");
    const key = await readFile(join(runDir("far"), "ssh/key"), "utf8");
    expect(await argumentsWith(key)).toEqual([]);
    expect(await finished).toMatchObject({ code: 0, stderr: "" });
    expect(await hosts.processes()).toEqual([]);
    const dir = runDir("far");
    expect(await runResult(hosts.runDir("a", "far"), STEPS)).toEqual(await runResult(runDir("local"), STEPS));
    expect(await summary("far")).toMatchObject({ status: "completed", steps: STEPS });
    const there = await readFile(join(hosts.runDir("a", "far"), "metrics.jsonl"), "utf8");
    expect(await readFile(join(dir, "metrics.jsonl"), "utf8")).toBe(there);
    const logs = await Promise.all(PARTS.map((part) => readFile(join(dir, `logs/latest/${part}.log`), "utf8")));
    expect(logs.every((log) => log !== "")).toBe(true);
    expect((await run("logs", "far", "inference-0")).stdout).toContain("at http://127.0.0.1:");
    expect(await filesWith(dir, key)).toEqual([{ path: join(dir, "ssh/key"), isPrivate: true }]);
    for (const host of ["a", "b"] as const) expect(await filesWith(hosts.runDir(host, "far"), key)).toEqual([]);
  });

  test.runIf(IS_LONG && hasOpenssl())(
    "env workers on a host with their role, over TLS and with a token, come to the same result",
    async () => {
      expect((await run("rl", ...config("local", STEPS))).code).toBe(0);
      const { ca, cert, key } = await certificates(hosts.dir);
      const roles = { a: ["trainer", "orchestrator"], b: ["inference", "env-worker"] };
      const file = await hosts.file(roles, { change: { b: { tls_cert: cert, tls_key: key } } });
      const trusted = ["--orchestrator.remote_env_workers.tls_ca", ca];
      const { code, stderr } = await run("launch", "ssh", file, ...config("placed", STEPS, ...trusted));
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(await runResult(hosts.runDir("a", "placed"), STEPS)).toEqual(await runResult(runDir("local"), STEPS));
      const plan = await readJson<{ part: string; host: string }[]>(join(runDir("placed"), "ssh/plan.json"));
      expect(plan.map(({ part, host }) => `${part} ${host}`)).toContain("env-worker-0 b");
      expect(await readFile(join(runDir("placed"), "logs/latest/env-worker-0.log"), "utf8")).toContain(
        "at https://127.0.0.1:",
      );
    },
  );

  test("a wrong key and a host that cannot be reached are named, and nothing is started or made", async () => {
    const change = { a: { port: 1 }, b: { identity: join(hosts.dir, "a/host_key") } };
    const { code, stderr } = await run(
      "launch",
      "ssh",
      await hosts.file(HEAD, { change }),
      ...config("refused", STEPS),
    );
    expect(code).toBe(1);
    expect(stderr).toContain("[PRL_SSH] 2 hosts cannot take part:");
    expect(stderr).toMatch(/\n {2}a \(.*127\.0\.0\.1\): .*Connection refused/u);
    expect(stderr).toMatch(/\n {2}b \(.*127\.0\.0\.1\): .*Permission denied.*authorized_keys/u);
    expect(await readdir(place.dir)).toEqual([]);
    expect(await readdir(join(hosts.dir, "a"))).not.toContain("a");
  });

  test("trainer and orchestrator on two hosts are refused without a checkpoint folder that both see, by key", async () => {
    const file = await hosts.file({ a: ["trainer"], b: ["orchestrator", "inference"] });
    const { code, stderr } = await run("launch", "ssh", file, ...config("apart", STEPS));
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /\[PRL_CONFIG_INVALID\] .*ckpt\.path: is unset, and the trainer \(a\) and the orchestrator \(b\)/u,
    );
  });

  describe.runIf(IS_LONG)("in the long form", () => {
    test("trainer and orchestrator on two hosts come to the same result, resumed too", async () => {
      expect((await run("rl", ...config("local", STEPS))).code).toBe(0);
      const shared = [hosts.dir];
      const roles = { a: ["trainer"], b: ["orchestrator", "inference"] };
      const file = await hosts.file(roles, { shared });
      const path = ["--ckpt.path", join(hosts.dir, "checkpoints")];
      for (const steps of [STEPS - 1, STEPS]) {
        const resume = steps === STEPS ? ["--resume"] : [];
        const { code, stderr } = await run("launch", "ssh", file, ...config("apart", steps, ...path, ...resume));
        expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      }
      const rows = await readJsonLines<MetricsRow>(join(runDir("apart"), "metrics.jsonl"));
      const ofTrainer = rows.filter(({ component }) => component === "trainer");
      expect(ofTrainer.map(({ step, attempt }) => [attempt, step])).toEqual([
        [1, 1],
        [2, 2],
      ]);
      const weights = (dir: string) => readJson<{ digest: string }>(join(dir, `weights/step_${STEPS}/manifest.json`));
      expect((await weights(hosts.runDir("a", "apart"))).digest).toBe((await weights(runDir("local"))).digest);
      expect(await summary("apart")).toMatchObject({ status: "completed", steps: STEPS });
    });

    test("a part that is killed is named, and everything has ended within a minute", async () => {
      const { finished } = await launch("killed", FOREVER);
      await trained("killed");
      const [trainer] = await partOf("trainer");
      process.kill(trainer?.pid ?? 0, "SIGKILL");
      const began = performance.now();
      const { code, stderr } = await finished;
      await nothingLeft(ENDED_MS);
      expect(performance.now() - began).toBeLessThan(ENDED_MS);
      expect(code).toBe(1);
      expect(stderr).toMatch(/\[PRL_PROCESS_DIED\].*trainer-0/su);
      expect((await summary("killed")).error?.message).toContain("trainer-0");
    });

    test("a server that is killed is started again on its host, and the run comes to its result", async () => {
      expect((await run("rl", ...config("local", 8))).code).toBe(0);
      const { finished } = await launch("again", 8);
      await trained("again");
      const [server] = await partOf("inference");
      process.kill(server?.pid ?? 0, "SIGKILL");
      expect(await finished).toMatchObject({ code: 0, stderr: "" });
      expect(await summary("again")).toMatchObject({ status: "completed", restarts: { inference: 1 } });
      expect(await runResult(hosts.runDir("a", "again"), 8)).toEqual(await runResult(runDir("local"), 8));
    });

    test("a host that is gone is named, and everything has ended within a minute", async () => {
      const { finished } = await launch("lost", FOREVER);
      await trained("lost");
      await hosts.kill("b");
      const { code, stderr } = await finished;
      expect(code).toBe(1);
      expect(stderr).toMatch(/\[PRL_SSH\] inference-0 on b: the connection was lost/u);
      await nothingLeft(ENDED_MS);
    });

    test("a killed prl host-part leaves no part behind", async () => {
      const { finished } = await launch("orphan", FOREVER);
      await trained("orphan");
      const [trainer] = await partOf("trainer");
      process.kill(trainer?.parent ?? 0, "SIGKILL");
      const { code, stderr } = await finished;
      expect(code).toBe(1);
      expect(stderr).toContain("trainer-0 on a");
      await nothingLeft(LEFT_MS);
    });

    test("a killed launcher leaves nothing on the hosts", async () => {
      const { child, finished } = await launch("left", FOREVER);
      await trained("left");
      child.kill("SIGKILL");
      await finished;
      await nothingLeft(LEFT_MS);
    });

    test("a run whose directory is removed ends, on the hosts too", async () => {
      const { finished } = await launch("gone", FOREVER);
      await trained("gone");
      await rm(runDir("gone"), { recursive: true });
      const { code, stderr } = await finished;
      expect(code).toBe(1);
      expect(stderr).toContain("[PRL_RUN_GONE]");
      expect(await hosts.processes()).toEqual([]);
    });

    test("Ctrl-C stops the run, which then goes on from its checkpoint", async () => {
      const { child, finished } = await launch("stopped", FOREVER);
      await trained("stopped");
      child.kill("SIGINT");
      const { code } = await finished;
      expect(code).toBe(130);
      expect(await hosts.processes()).toEqual([]);
      const { status, steps } = await summary("stopped");
      expect(status).toBe("interrupted");
      const more = await (await launch("stopped", steps + 2, "--resume")).finished;
      expect(more).toMatchObject({ code: 0, stderr: "" });
      expect(await summary("stopped")).toMatchObject({ status: "completed", steps: steps + 2 });
    });
  });
});
