/** `prl rl --slurm` and `prl slurm` against programs of Slurm that check their arguments. */
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

import { runCommandLine } from "../../../ts/cli/dispatch.ts";
import { loadConfig } from "../../../ts/config/index.ts";
import { parseJob } from "../../../ts/launcher/slurm/slurm-programs.ts";
import { type FakeSlurm, fakeSlurm } from "../../support/clusters/fake-slurm.ts";
import { step, temporaryFolder, writeRun } from "./runs/run-fixture.ts";
import { prl } from "./run.ts";

const CONFIG = `max_steps = 3
[run]
name = "mine"
[model]
name = "./model"
[[orchestrator.train.source]]
env = { id = "reverse-text", args = { text = "\\u0007 'a' $(touch gone) 🙂" } }
`;

interface Place {
  readonly folder: string;
  readonly slurm: FakeSlurm;
  readonly runDir: string;
  readonly run: (...args: string[]) => ReturnType<typeof prl>;
}

async function place(): Promise<Place> {
  const folder = await temporaryFolder();
  await mkdir(join(folder, "model"));
  await writeFile(join(folder, "rl.toml"), CONFIG);
  const slurm = await fakeSlurm(folder);
  return {
    folder,
    slurm,
    runDir: join(folder, "outputs/mine"),
    run: (...args) => prl(args, folder, slurm.env),
  };
}

describe("prl rl --slurm", () => {
  test("writes script and config, and submits them from the folder of the job", async () => {
    const { run, runDir, slurm, folder } = await place();
    await slurm.answer({ submits: "4711;west" });
    const { code, stdout, stderr } = await run("rl", "rl.toml", "--slurm", "--slurm.partition", "gpu");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe(`Submitted job 4711; its run directory is ${runDir}\n`);
    expect(await slurm.calls()).toEqual([
      { name: "sbatch", args: ["--parsable", "job.sh"], cwd: join(runDir, "slurm") },
    ]);
    expect(await readFile(join(runDir, "slurm/job.sh"), "utf8")).toContain("\n#SBATCH --partition=gpu\n");
    const job = JSON.parse(await readFile(join(runDir, "slurm/job.json"), "utf8")) as object;
    expect(job).toEqual({ id: "4711", cluster: "west", submitted: expect.any(Number) as number });
    // What the job reads is what was given, resolved.
    const given = await loadConfig(["rl.toml"], { "slurm.partition": "gpu" }, { kind: "rl", env: {}, cwd: folder });
    const read = await loadConfig([join(runDir, "slurm/rl.toml")], [], { kind: "rl", env: {}, cwd: "/" });
    expect(read.config).toEqual(given.config);
    expect(await readdir(folder)).not.toContain("gone");
  });

  test("with --dry-run writes the files and calls no program; the job may then be submitted", async () => {
    const { run, runDir, slurm } = await place();
    const dry = await run("rl", "rl.toml", "--slurm", "--dry-run", "--json");
    expect(JSON.parse(dry.stdout)).toMatchObject({ run: "mine", script: join(runDir, "slurm/job.sh"), job_id: null });
    expect(await slurm.calls()).toEqual([]);
    expect((await stat(join(runDir, "slurm/job.sh"))).mode & 0o777).toBe(0o755);
    expect((await readdir(join(runDir, "slurm"))).toSorted()).toEqual(["job.sh", "rl.toml"]);
    expect((await run("rl", "rl.toml", "--slurm")).code).toBe(0);
  });

  test("on several nodes leaves a key that the user alone can read, and none in the script", async () => {
    const { run, runDir } = await place();
    expect((await run("rl", "rl.toml", "--slurm", "--dry-run", "--slurm.nodes", "2")).code).toBe(0);
    const file = join(runDir, "slurm/key");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const key = await readFile(file, "utf8");
    expect(key).toMatch(/^[0-9a-f]{64}$/u);
    for (const name of ["job.sh", "rl.toml"]) {
      expect(await readFile(join(runDir, "slurm", name), "utf8")).not.toContain(key);
    }
  });

  test("is refused while a job of the directory is not over, and may go on with --resume when it is", async () => {
    const { run, slurm, runDir } = await place();
    expect((await run("rl", "rl.toml", "--slurm")).code).toBe(0);
    await slurm.answer({ jobs: { 7: "PENDING" } });
    for (const more of [[], ["--resume"]]) {
      const refused = await run("rl", "rl.toml", "--slurm", ...more);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining("PRL_RUN_LOCKED")]);
    }
    await slurm.answer({ jobs: { 7: "TIMEOUT" }, submits: "8" });
    expect((await run("rl", "rl.toml", "--slurm", "--resume", "2")).code).toBe(0);
    const script = await readFile(join(runDir, "slurm/job.sh"), "utf8");
    expect(script).toContain("resume=(--resume 2)");
    expect(await slurm.calls()).toContainEqual(expect.objectContaining({ name: "sbatch" }));
  });

  test.each<[string, string[], number, string]>([
    ["a run that is not there", ["--resume", "--run.name", "other"], 2, "PRL_RUN_UNKNOWN"],
    ["--resume and --clean", ["--resume", "--clean"], 2, "PRL_CLI_USAGE"],
    ["vLLM on several nodes", ["--slurm.nodes", "2", "--inference.backend", "vllm"], 2, "inference.backend"],
    ["weights by grpc", ["--slurm.nodes", "2", "--weight_broadcast.type", "grpc"], 2, "weight_broadcast.type"],
    ["nodes without a server", ["--slurm.nodes", "3"], 2, "inference.replicas"],
    ["servers that share cores", ["--slurm.nodes", "2", "--inference.replicas", "2"], 2, "inference.threads"],
    ["cores of the launcher", ["--slurm.nodes", "2", "--deployment.num_cores", "2"], 2, "deployment.num_cores"],
    ["turns on one GPU", ["--slurm.nodes", "2", "--deployment.type", "colocated"], 2, "deployment.type"],
    [
      "running servers on several nodes",
      ["--slurm.nodes", "2", "--orchestrator.client.base_url", "http://a:1"],
      2,
      "base_url",
    ],
    [
      "a container that cannot see the run",
      ["--output_dir", "a:b", "--slurm.container_image", "i", "--slurm.command", "prl"],
      2,
      "container_image",
    ],
  ])("refuses %s by name, and submits nothing", async (_, more, code, text) => {
    const { run, slurm } = await place();
    const refused = await run("rl", "rl.toml", "--slurm", ...more);
    expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(text)]);
    expect(await slurm.calls()).toEqual([]);
  });

  test("says which program is missing, and what Slurm refused", async () => {
    const { folder, slurm, run, runDir } = await place();
    const missing = await prl(["rl", "rl.toml", "--slurm"], folder, { PATH: folder });
    expect([missing.code, missing.stderr]).toEqual([
      1,
      expect.stringContaining("[PRL_SLURM] there is no program sbatch"),
    ]);
    await slurm.answer({ refuses: "error: invalid partition specified: gpu" });
    const refused = await run("rl", "rl.toml", "--slurm");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("invalid partition specified: gpu")]);
    expect(await readdir(join(runDir, "slurm"))).not.toContain("job.json");
    await slurm.answer({ submits: "sbatch: lua: hello" });
    expect((await run("rl", "rl.toml", "--slurm")).stderr).toContain("no number of a job");
  });

  test.each([
    ["is cancelled", "exec true", "it was cancelled"],
    ["is named, where it cannot be cancelled", "exit 1", "end it by scancel 77"],
  ])("a job that cannot be noted %s", async (_, scancel, then) => {
    const { folder, run } = await place();
    const noted = join(folder, "cancelled");
    // Nothing can be written in the place of a folder that is not empty.
    await writeFile(join(folder, "bin/sbatch"), "#!/bin/sh\nmkdir -p job.json/in-the-way\necho 77\n");
    await writeFile(join(folder, "bin/scancel"), `#!/bin/sh\necho "$@" >'${noted}'\n${scancel}\n`);
    const refused = await run("rl", "rl.toml", "--slurm");
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("[PRL_IO] job 77 was submitted")]);
    expect(refused.stderr).toContain(then);
    expect(await readFile(noted, "utf8")).toBe("77\n");
  });
});

/** A run that was submitted as job 7. */
async function submitted(files: Record<string, unknown> = {}): Promise<Place> {
  const made = await place();
  await writeRun(join(made.folder, "outputs"), "mine", {
    "slurm/job.json": { id: "7", cluster: null, submitted: 1_000 },
    "configs/rl.json": { max_steps: 3 },
    "metrics.jsonl": [...step(1, 0.5), ...step(2, 0.75)],
    ...files,
  });
  return made;
}

const END = { job: "7", restarts: 1, reason: "lost", role: "inference-0", exit_code: 1, down_nodes: "n2", time: 2_000 };

describe("prl slurm status", () => {
  test("shows the job, and the step that the run has come to", async () => {
    const { run, slurm } = await submitted();
    await slurm.answer({ jobs: { 7: "RUNNING" }, restarts: 1 });
    const { code, stdout, stderr } = await run("slurm", "status", "mine");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const rows = stdout.trim().split("\n");
    const shown = Object.fromEntries(rows.map((row) => row.split(/ {2,}/u) as [string, string]));
    expect(shown).toMatchObject({ state: "RUNNING", nodes: "n[1-2]", restarts: "1", "exit code": "0", steps: "2" });
  });

  test("has all of it as JSON, the node that was down too", async () => {
    const { run, slurm } = await submitted({ "slurm/end.json": END });
    await slurm.answer({ jobs: { 7: "NODE_FAIL" }, reason: "NodeDown", exit: "1:0" });
    const { stdout } = await run("slurm", "status", "mine", "--json");
    const facts = { state: "NODE_FAIL", reason: "NodeDown", restarts: 0, exitCode: 1, signal: 0 };
    expect(JSON.parse(stdout)).toMatchObject({ job_id: "7", facts, end: END, steps: 2 });
    expect((await run("slurm", "status", "mine")).stdout).toContain(
      "lost (inference-0), exit code 1; nodes that were down: n2",
    );
  });

  test("of a job that Slurm has forgotten shows how it ended by its own account", async () => {
    const { run } = await submitted({ "slurm/end.json": { ...END, reason: "completed", role: "", exit_code: 0 } });
    const { stdout } = await run("slurm", "status", "mine");
    expect(stdout).toContain("Slurm knows the job no longer");
    expect(stdout).toContain("completed, exit code 0");
  });

  test.each([
    ["a run that was not submitted", "slurm/other", {}, 2, "PRL_RUN_UNKNOWN"],
    ["a damaged note of the job", "slurm/job.json", "{", 1, "job.json is damaged: squeue shows"],
    [
      "a note with another program's id",
      "slurm/job.json",
      { id: "7; reboot", cluster: null, submitted: 1 },
      1,
      "PRL_IO",
    ],
    ["a damaged note of the end", "slurm/end.json", "]", 1, "PRL_IO"],
  ])("of %s is an error", async (_, file, content, code, text) => {
    const made = await place();
    const job = file === "slurm/end.json" ? { "slurm/job.json": { id: "7", cluster: null, submitted: 1 } } : {};
    await writeRun(join(made.folder, "outputs"), "mine", { ...job, [file]: content });
    await made.slurm.answer({ jobs: { 7: "RUNNING" } });
    const failed = await made.run("slurm", "status", "mine");
    expect([failed.code, failed.stderr]).toEqual([code, expect.stringContaining(text)]);
  });
});

describe("prl slurm logs", () => {
  const LOGS = {
    "slurm/job-7.log": "the job begins\n",
    "slurm/start_7_0/rl-0.log": "Step 1/3\n",
    "logs/attempt_1/trainer-0.log": "a\u001b[31mred\n",
    "logs/attempt_1/inference-0.log": "listening\n",
  };
  async function logged(): Promise<Place> {
    const made = await submitted(LOGS);
    await symlink("start_7_0", join(made.runDir, "slurm/latest"));
    await symlink("attempt_1", join(made.runDir, "logs/latest"));
    return made;
  }

  test("prints those of the job, its roles and their processes, or of one, and nothing that a terminal obeys", async () => {
    const { run } = await logged();
    const { stdout } = await run("slurm", "logs", "mine");
    const lines = [
      "job         | the job begins",
      "rl-0        | Step 1/3",
      "inference-0 | listening",
      "trainer-0   | a\ufffd[31mred",
    ];
    expect(stdout.trim().split("\n")).toEqual(lines);
    expect((await run("slurm", "logs", "mine", "inference")).stdout).toBe("inference-0 | listening\n");
    const unknown = await run("slurm", "logs", "mine", "trainr");
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("trainer-0")]);
  });

  test("leave Ctrl-C to the system where they are not followed", async () => {
    const { folder, slurm } = await logged();
    const listeners = process.listenerCount("SIGINT");
    const seen: number[] = [];
    const stdout = { write: () => seen.push(process.listenerCount("SIGINT")) };
    await runCommandLine(["slurm", "logs", "mine"], { stdout, stderr: stdout, env: slurm.env, cwd: folder });
    expect(seen).toEqual(seen.map(() => listeners));
    expect(seen).toHaveLength(4);
  });

  test("with --follow ends when the job has ended", async () => {
    const { run, slurm } = await logged();
    await slurm.answer({ jobs: { 7: "COMPLETED" } });
    const { code, stdout } = await run("slurm", "logs", "-f", "mine", "job");
    expect([code, stdout]).toEqual([0, "job         | the job begins\n"]);
  });
});

describe("prl slurm cancel", () => {
  test("cancels the job and says how it ended", async () => {
    const { run, slurm } = await submitted();
    await slurm.answer({ jobs: { 7: "RUNNING" } });
    const { code, stdout } = await run("slurm", "cancel", "mine");
    expect([code, stdout]).toEqual([0, "Job 7 has ended: CANCELLED\n"]);
    expect((await slurm.calls()).filter(({ name }) => name === "scancel").map(({ args }) => args)).toEqual([["7"]]);
    expect((await run("slurm", "cancel", "mine")).stdout).toBe("Job 7 had ended before: CANCELLED\n");
  });

  test("of a job that is not there any more cancels nothing", async () => {
    const { run, slurm } = await submitted();
    expect(await run("slurm", "cancel", "mine")).toMatchObject({ code: 0, stdout: "Job 7 had ended before\n" });
    expect((await slurm.calls()).some(({ name }) => name === "scancel")).toBe(false);
  });

  test("needs one run", async () => {
    const { run } = await place();
    expect(await run("slurm", "cancel")).toMatchObject({ code: 2 });
    expect(await run("slurm", "cancle", "mine")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("cancel") as string,
    });
  });
});

describe("scontrol's line of a job", () => {
  test("has the fields of the job itself, not those that they end like", () => {
    const line =
      "JobId=7 JobName=x JobState=FAILED Reason=NonZeroExitCode Dependency=(null) Restarts=3 ExitCode=0:9 ReqNodeList=a ExcNodeList=b NodeList=n[1-2] TimeLimit=1-00:00:00 RunTime=00:01:02 Command=/a JobState=RUNNING";
    expect(parseJob(line)).toEqual({
      state: "FAILED",
      reason: "NonZeroExitCode",
      nodes: "n[1-2]",
      restarts: 3,
      exitCode: 0,
      signal: 9,
      runTime: "00:01:02",
      timeLimit: "1-00:00:00",
    });
    expect(() => parseJob("nothing")).toThrow("without a state");
  });
});
