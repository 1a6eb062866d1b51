/**
 * Stands in for Slurm's programs, on this machine, in the folder FAKE_SLURM: `node fake-slurm-programs.mjs <program> <argument>...`.
 *
 * It refuses options that it does not know, runs steps as child processes, and signals them by their process groups. Each call is a line
 * of `calls.jsonl`. `state.json` says what it answers: {state, restarts, exit, down, jobs, hangs}.
 */
import { spawn } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { constants } from "node:os";
import { join } from "node:path";

const [name, ...args] = process.argv.slice(2);
const dir = process.env["FAKE_SLURM"] ?? "";
const steps = join(dir, "steps");
mkdirSync(steps, { recursive: true });
appendFileSync(join(dir, "calls.jsonl"), `${JSON.stringify({ name, args, cwd: process.cwd() })}\n`);
const stateFile = join(dir, "state.json");
const state = JSON.parse(readFileSync(stateFile, "utf8"));

function refuse(text) {
  process.stderr.write(`${name}: ${text}\n`);
  process.exit(1);
}

/** Options before the first other argument, which must be among `known`; the rest. */
function options(known) {
  const at = args.findIndex((arg) => !arg.startsWith("--"));
  const given = at < 0 ? args : args.slice(0, at);
  for (const option of given) {
    if (!known.includes(option.replace(/=.*$/su, ""))) refuse(`unrecognized option '${option}'`);
  }
  const values = Object.fromEntries(
    given.map((option) => [option.replace(/=.*$/su, ""), option.replace(/^[^=]*=/su, "")]),
  );
  return { values, rest: at < 0 ? [] : args.slice(at) };
}

/** Steps that run; one that ends meanwhile is left out. */
function running() {
  return readdirSync(steps).flatMap((role) => {
    try {
      return [{ role, ...JSON.parse(readFileSync(join(steps, role), "utf8")) }];
    } catch {
      return [];
    }
  });
}

const PROGRAMS = {
  sbatch() {
    const { values, rest } = options(["--parsable"]);
    if (!("--parsable" in values) || rest.length !== 1) refuse(`unexpected ${JSON.stringify(args)}`);
    if (!existsSync(rest[0])) refuse(`Unable to open file ${rest[0]}`);
    if (state.refuses !== undefined) refuse(state.refuses);
    process.stdout.write(`${state.submits ?? "7"}\n`);
  },
  srun() {
    const known = ["--overlap", "--nodes", "--ntasks", "--nodelist", "--cpu-bind", "--job-name"];
    const { values, rest } = options([...known, "--container-image", "--container-mounts"]);
    const role = values["--job-name"];
    const child = spawn(rest[0], rest.slice(1), {
      detached: true,
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, SLURMD_NODENAME: values["--nodelist"] },
    });
    const file = join(steps, role);
    // Whole as soon as it is there.
    writeFileSync(join(dir, `${role}.new`), JSON.stringify({ pid: child.pid, step: `7.${process.pid}` }));
    renameSync(join(dir, `${role}.new`), file);
    child.on("exit", (code, signal) => {
      rmSync(file, { force: true });
      process.exit(signal === null ? code : 128 + constants.signals[signal]);
    });
  },
  scancel() {
    const { values, rest } = options(["--signal", "--clusters"]);
    const signal = values["--signal"];
    if (signal === undefined) {
      if (!(rest[0] in state.jobs)) refuse("error: Kill job error: Invalid job id specified");
      writeFileSync(
        stateFile,
        JSON.stringify({ ...state, jobs: { ...state.jobs, [rest[0]]: state.cancelled ?? "CANCELLED" } }),
      );
      return;
    }
    // As for a job that Slurm is ending: it tries again and again.
    if (state.hangs) setTimeout(() => undefined, 3_600_000);
    for (const { pid, step } of running()) {
      if (rest[0] !== "7" && rest[0] !== step) continue;
      try {
        process.kill(-pid, `SIG${signal}`);
      } catch {
        // It has ended.
      }
    }
  },
  squeue() {
    const { values } = options(["--noheader", "--steps", "--jobs", "--format"]);
    if ("--steps" in values) for (const { role, step } of running()) process.stdout.write(`${step} ${role}\n`);
    else process.stdout.write(`${state.state}\n`);
  },
  sinfo() {
    options(["--noheader", "--Node", "--nodes", "--states", "--format"]);
    process.stdout.write((state.down ?? []).map((node) => `${node}\n`).join(""));
  },
  scontrol() {
    const [verb, what, third, ...more] = args;
    if (verb === "requeue" && what !== undefined && third === undefined) return;
    if (verb !== "show") refuse(`unexpected ${JSON.stringify(args)}`);
    if (what === "hostnames") process.stdout.write(state.nodes.map((node) => `${node}\n`).join(""));
    else if (what === "-o" && third === "node") {
      process.stdout.write(`NodeName=${more[0]} Arch=x86_64 NodeAddr=127.0.0.1 NodeHostName=here Version=22.05\n`);
    } else if (what === "job" && third === "--oneliner") {
      const id = more.at(-1);
      if (!(id in state.jobs)) refuse("slurm_load_jobs error: Invalid job id specified");
      const facts = `JobState=${state.jobs[id]} Reason=${state.reason ?? "None"} Restarts=${state.restarts ?? 0} ExitCode=${state.exit ?? "0:0"}`;
      process.stdout.write(
        `JobId=${id} JobName=prl-x ${facts} RunTime=00:00:12 TimeLimit=UNLIMITED ReqNodeList=(null) NodeList=n[1-2] Command=/a b/job.sh\n`,
      );
    } else refuse(`unexpected ${JSON.stringify(args)}`);
  },
};
PROGRAMS[name]();
