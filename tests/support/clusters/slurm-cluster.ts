/**
 * A Slurm of two nodes on this machine, n1 and n2, for one test: its own munged, slurmctld and two slurmd, in a temporary folder, on free
 * ports of loopback. Every process is one that it started or that these started, and is ended by its number.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";

import { freePorts } from "../free-ports.ts";

const run = promisify(execFile);
const PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "squeue", "scontrol", "sinfo"];
/** Daemons are in sbin, which not every PATH has. */
const PATH = [process.env["PATH"] ?? "", "/usr/sbin", "/usr/local/sbin"].join(delimiter);
const DEADLINE_MS = 120_000;

/** The programs that are missing here; empty: a cluster can be started. */
export const missingSlurm: readonly string[] = PROGRAMS.filter((name) => find(name) === null);

export interface SlurmCluster {
  /** For the programs of Slurm, and for prl, which calls them. */
  readonly env: Record<string, string>;
  /** What a program of Slurm prints. */
  readonly ask: (program: string, ...args: string[]) => Promise<string>;
  /** Kills a node's daemon and all of its steps at once, as when its machine loses power. */
  readonly kill: (node: "n1" | "n2") => Promise<void>;
  readonly stop: () => Promise<void>;
}

export async function slurmCluster(): Promise<SlurmCluster> {
  const dir = await mkdtemp(join(tmpdir(), "prl-slurm-"));
  for (const name of ["state", "log", "munge"]) await mkdir(join(dir, name), { mode: 0o755 });
  const conf = join(dir, "slurm.conf");
  await writeFile(conf, configuration(dir, await freePorts(4)));
  await writeFile(join(dir, "munge/key"), Buffer.alloc(128, dir), { mode: 0o400 });
  const env = { SLURM_CONF: conf, PATH };
  const daemons = new Map<string, ChildProcess>();
  const start = (name: string, program: string, ...args: string[]) => {
    const child = spawn(find(program) ?? program, args, { env: { ...process.env, ...env }, stdio: "ignore", cwd: dir });
    daemons.set(name, child);
  };
  const ask = async (program: string, ...args: string[]) =>
    (await run(program, args, { env: { ...process.env, ...env }, timeout: DEADLINE_MS })).stdout;
  const kill = async (node: string) => {
    const steps = (await processesWith(`SLURM_CONF=${conf}`)).filter(({ env: own }) =>
      own.has(`SLURMD_NODENAME=${node}`),
    );
    // The daemon of a step is the parent of its first process.
    const pids = new Set(
      steps.flatMap(({ pid, parent, parentName }) => (parentName.startsWith("slurmstepd") ? [parent, pid] : [pid])),
    );
    daemons.get(node)?.kill("SIGKILL");
    for (const pid of pids) killIfThere(pid);
  };
  const stop = async () => {
    await ask("scancel", `--user=${userInfo().username}`).catch(() => "");
    await until(async () => (await ask("squeue", "--noheader").catch(() => "")).trim() === "").catch(() => undefined);
    for (const name of ["n1", "n2"]) await kill(name);
    await Promise.all([...daemons.values()].map((child) => ended(child)));
    await rm(dir, { recursive: true, force: true });
  };
  try {
    const munge = (name: string) => `--${name}-file=${join(dir, "munge", name)}`;
    start(
      "munged",
      "munged",
      "--foreground",
      "--force",
      munge("key"),
      munge("pid"),
      munge("log"),
      munge("seed"),
      `--socket=${join(dir, "munge/socket")}`,
    );
    await until(async () => (await readdir(join(dir, "munge"))).includes("socket"));
    start("ctld", "slurmctld", "-D", "-f", conf);
    for (const node of ["n1", "n2"]) start(node, "slurmd", "-D", "-f", conf, "-N", node);
    await until(
      async () => (await ask("sinfo", "--noheader", "--states=idle", "--format=%D").catch(() => "")).trim() === "2",
    );
  } catch (error) {
    const log = await readFile(join(dir, "log/ctld.log"), "utf8").catch(() => "it wrote no log");
    await stop();
    throw new Error(`slurmctld did not come up: ${log.slice(-2000)}`, { cause: error });
  }
  return { env, ask, kill, stop };
}

/** Waits for something that takes seconds. */
export async function until(isSo: () => Promise<boolean>, deadlineMs = DEADLINE_MS): Promise<void> {
  for (const end = Date.now() + deadlineMs; Date.now() < end; await sleep(100)) if (await isSo()) return;
  throw new Error(`not so within ${deadlineMs} ms: ${isSo.toString()}`);
}

function configuration(dir: string, [controller, other, first, second]: readonly number[]): string {
  const host = hostname().split(".")[0];
  const user = userInfo().username;
  const node = (name: string, port: number | undefined) =>
    `NodeName=${name} NodeHostname=${host} NodeAddr=127.0.0.1 Port=${port} CPUs=4 State=UNKNOWN`;
  return `ClusterName=prl
SlurmctldHost=${host}(127.0.0.1)
SlurmUser=${user}
SlurmdUser=${user}
AuthType=auth/munge
AuthInfo=socket=${dir}/munge/socket
CryptoType=crypto/munge
SlurmctldPort=${controller}
SlurmdPort=${other}
StateSaveLocation=${dir}/state
SlurmdSpoolDir=${dir}/spool-%n
SlurmctldPidFile=${dir}/ctld.pid
SlurmdPidFile=${dir}/slurmd-%n.pid
SlurmctldLogFile=${dir}/log/ctld.log
SlurmdLogFile=${dir}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
SchedulerType=sched/backfill
MpiDefault=none
ReturnToService=2
SlurmdTimeout=10
${node("n1", first)}
${node("n2", second)}
PartitionName=main Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
`;
}

function find(program: string): string | null {
  for (const folder of PATH.split(delimiter)) {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return join(folder, program);
    } catch {
      // The next folder may have it.
    }
  }
  return null;
}

interface FoundProcess {
  pid: number;
  parent: number;
  parentName: string;
  env: ReadonlySet<string>;
}

/** Live processes of this user that have `variable` in their environment. */
async function processesWith(variable: string): Promise<FoundProcess[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/u.test(name));
  const found = await Promise.all(
    pids.map(async (pid): Promise<FoundProcess[]> => {
      try {
        const env = new Set((await readFile(`/proc/${pid}/environ`, "utf8")).split("\0"));
        if (!env.has(variable)) return [];
        const parent = /^PPid:\s*(\d+)/mu.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1] ?? "0";
        const parentName = await readFile(`/proc/${parent}/cmdline`, "utf8");
        return [{ pid: Number(pid), parent: Number(parent), parentName, env }];
      } catch {
        return []; // It has ended, or is of another user.
      }
    }),
  );
  return found.flat();
}

function killIfThere(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** Ends a daemon in order, and by force when it takes too long. */
async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const timer = setTimeout(() => void child.kill("SIGKILL"), 10_000);
  await gone;
  clearTimeout(timer);
}
