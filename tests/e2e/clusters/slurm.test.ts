/** Runs as jobs of a real Slurm with two nodes: to the end, stopped and started again, on a node that is killed, cancelled. */
import { join } from "node:path";
import { readdir, readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { argumentsWith, filesWith, keyOf } from "../../support/hidden-key.ts";
import { childPids, type Finished, isAlive, prl, readJson, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/runs/run-result.ts";
import { missingSlurm, type SlurmCluster, slurmCluster, until } from "../../support/clusters/slurm-cluster.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const STEPS = 12;
const JOB_MS = 200_000;
/** More than the kernel gives. */
const NO_PROCESS = 2 ** 30;
const isMissing = missingSlurm.length > 0;

interface Status {
  job_id: string;
  facts: { state: string; restarts: number; exitCode: number; nodes: string | null };
  end: { reason: string; role: string; exit_code: number; down_nodes: string } | null;
  steps: number;
}

describe.skipIf(isMissing)(
  `a Slurm of two nodes${isMissing ? ` (not installed: ${missingSlurm.join(", ")})` : ""}`,
  () => {
    let place: Awaited<ReturnType<typeof workspace>>;
    let cluster: SlurmCluster;
    beforeEach(async () => {
      place = await workspace();
      cluster = await slurmCluster();
    });
    afterEach(async () => {
      await cluster.stop();
      await place.remove();
    });

    const runDir = (name: string) => join(place.dir, "outputs", name);
    const call = (...args: string[]): Promise<Finished> =>
      prl(args, { cwd: place.dir, cache: place.cache, env: cluster.env });
    const args = (name: string, steps = STEPS) =>
      ["rl", SYNC, "--orchestrator.eval", "None", "--run.name", name, "--max-steps", String(steps)].concat([
        "--warm-start",
        "None",
        "--ckpt.recovery_interval",
        "1",
      ]);
    async function submit(...given: string[]): Promise<string> {
      const { code, stdout, stderr } = await call(...given, "--slurm", "--json");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      return (JSON.parse(stdout) as { job_id: string }).job_id;
    }
    async function status(name: string): Promise<Status> {
      const { stdout, stderr } = await call("slurm", "status", name, "--json");
      expect(stderr).toBe("");
      return JSON.parse(stdout) as Status;
    }
    const stateOf = async (job: string) =>
      /JobState=(\S+)/u.exec(await cluster.ask("scontrol", "show", "job", "-o", job))?.[1] ?? "";
    const reached = (name: string, step: number) =>
      until(async () => {
        const versions = await readdir(join(runDir(name), "weights")).catch((): string[] => []);
        return versions.some((version) => Number(version.replace("step_", "")) >= step);
      }, JOB_MS);
    const over = (job: string) =>
      until(async () => !/^(PENDING|RUNNING|COMPLETING|CONFIGURING|REQUEUED)$/u.test(await stateOf(job)), JOB_MS);
    /**
     * Slurm lets a job that was requeued wait for two minutes, counted from when it has cleaned up. The wait is shortened, but not to nothing: a
     * node refuses a job that comes back within the second in which it was revoked ("Job credential revoked"), and Slurm then ends it.
     */
    async function startAgain(job: string, restarts: number): Promise<void> {
      await until(async () => {
        const shown = await cluster.ask("scontrol", "show", "job", "-o", job);
        if (!shown.includes(` Restarts=${restarts} `)) return false;
        if (/JobState=(RUNNING|COMPLETED|FAILED) /u.test(shown)) return true;
        const eligible = Date.parse(/ EligibleTime=(\S+)/u.exec(shown)?.[1] ?? "");
        // It may begin meanwhile.
        if (shown.includes("JobState=PENDING ") && eligible - Date.now() > 20_000)
          await cluster.ask("scontrol", "update", `JobId=${job}`, "StartTime=now+5").catch(() => "");
        return false;
      });
    }
    const log = async (name: string, job: string) => readFile(join(runDir(name), "slurm", `job-${job}.log`), "utf8");

    test("a job that is requeued goes on from its checkpoint, and comes to what prl rl comes to", async () => {
      expect((await call(...args("launched"))).code).toBe(0);
      const job = await submit(...args("two"), "--slurm.nodes", "2");
      await reached("two", 3);
      await cluster.ask("scontrol", "requeue", job);
      await startAgain(job, 1);
      await over(job);
      const { facts, end, steps } = await status("two");
      expect({ facts, end, steps, log: await log("two", job) }).toMatchObject({
        facts: { state: "COMPLETED", restarts: 1, exitCode: 0, nodes: "n[1-2]" },
        end: { reason: "completed", exit_code: 0 },
        steps: STEPS,
      });
      expect(await runResult(runDir("two"), STEPS)).toEqual(await runResult(runDir("launched"), STEPS));
      expect(await readJson(join(runDir("two"), "summary.json"))).toMatchObject({ status: "completed" });
      expect((await call("slurm", "logs", "two", "inference")).stdout).toContain("at http://127.0.0.1:");
    });

    test("a server that is killed is started again on its node, and the job comes to what prl rl comes to", async () => {
      expect((await call(...args("launched"))).code).toBe(0);
      const job = await submit(...args("again", STEPS), "--slurm.nodes", "2");
      await reached("again", 2);
      const { "inference-0": pid = NO_PROCESS } = await childPids(runDir("again"));
      process.kill(pid, "SIGKILL");
      await over(job);
      const { facts, end } = await status("again");
      expect({ facts, end, log: await log("again", job) }).toMatchObject({
        facts: { state: "COMPLETED", restarts: 0, exitCode: 0 },
        end: { reason: "completed" },
      });
      expect((await call("slurm", "logs", "again", "inference-0")).stdout).toContain("is started again");
      expect(await runResult(runDir("again"), STEPS)).toEqual(await runResult(runDir("launched"), STEPS));
    });

    test("a killed node is named, and the job has an exit code of a failure", async () => {
      const job = await submit(...args("killed", 5000), "--slurm.nodes", "2", "--no-slurm.requeue");
      await reached("killed", 1);
      await cluster.kill("n2");
      await over(job);
      const { facts, end } = await status("killed");
      expect(["NODE_FAIL", "FAILED"]).toContain(facts.state);
      expect(end).toMatchObject({ reason: "lost", role: "inference-0", exit_code: 1 });
      // Slurm may end the step before it counts the node as down.
      if (facts.state === "NODE_FAIL") expect(end?.down_nodes).toBe("n2");
      expect((await call("slurm", "status", "killed")).stdout).toContain("inference-0");
      expect(await log("killed", job)).toContain("inference-0 ended: lost");
    });

    test("a job goes back into the queue at its time limit, and prl slurm cancel ends every process of it", async () => {
      const job = await submit(...args("cancelled", 5000), "--slurm.nodes", "2");
      await reached("cancelled", 1);
      // As Slurm does before the time limit.
      await cluster.ask("scancel", "--batch", "--signal=TERM", job);
      await startAgain(job, 1);
      expect(await log("cancelled", job)).toContain("the job ends: requeued");
      const roles = ["inference-0", "env-worker-0", "trainer-0", "orchestrator-0"];
      let pids: Record<string, number> = {};
      await until(async () => {
        pids = await childPids(runDir("cancelled"));
        return roles.every((role) => isAlive(pids[role] ?? NO_PROCESS));
      }, JOB_MS);
      const { code, stdout } = await call("slurm", "cancel", "cancelled");
      expect([code, stdout]).toEqual([0, `Job ${job} has ended: CANCELLED\n`]);
      expect(roles.filter((role) => isAlive(pids[role] ?? NO_PROCESS))).toEqual([]);
      expect(await cluster.ask("squeue", "--noheader", "--steps")).toBe("");
    });

    test("servers on all addresses of their nodes sample for the job alone, and its key is in one file of the user", async () => {
      const host = ["--inference.server.host", "0.0.0.0"];
      const job = await submit(...args("open", 8), "--slurm.nodes", "2", ...host);
      let ready: { pid: number; url: string } | null = null;
      await until(async () => {
        ready = await readJson<{ pid: number; url: string }>(join(runDir("open"), "run/inference-0.json")).catch(
          () => null,
        );
        return ready !== null;
      }, JOB_MS);
      const { pid, url } = ready ?? { pid: NO_PROCESS, url: "" };
      const key = (await keyOf(pid)) ?? "";
      expect(await readFile(join(runDir("open"), "slurm/key"), "utf8")).toBe(key);
      const shown = await argumentsWith(key);
      for (const path of ["/v1/models", "/metrics", "/is_paused"])
        expect([path, (await fetch(url + path)).status]).toEqual([path, 401]);
      expect((await fetch(`${url}/health`)).status).toBe(200);
      await over(job);
      expect(await status("open")).toMatchObject({ facts: { state: "COMPLETED", exitCode: 0 }, steps: 8 });
      expect(shown).toEqual([]);
      expect(await filesWith(runDir("open"), key)).toEqual([
        { path: join(runDir("open"), "slurm/key"), isPrivate: true },
      ]);
    });

    test("on one node the launcher runs as it does without Slurm, and its exit code is the job's", async () => {
      const good = await submit(...args("one", 2));
      const bad = await submit(...args("bad", 2), "--orchestrator.train.source.0.env.id", "reverse-texd");
      await Promise.all([over(good), over(bad)]);
      expect(await status("one")).toMatchObject({ facts: { state: "COMPLETED", exitCode: 0 }, steps: 2 });
      expect(await status("bad")).toMatchObject({
        facts: { state: "FAILED", exitCode: 2 },
        end: { reason: "failed", role: "rl-0", exit_code: 2 },
      });
      expect((await call("slurm", "logs", "bad", "rl-0")).stdout).toContain("reverse-texd");
    });
  },
);
