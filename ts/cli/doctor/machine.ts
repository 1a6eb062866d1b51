/** Checks of the machine: cores, memory, open files, disks, shared and locked memory. */
import { access, constants, readFile, statfs } from "node:fs/promises";
import { availableParallelism, totalmem } from "node:os";
import { dirname } from "node:path";
import { bytesText, ok, problem, warning, type Check } from "./check.ts";

const GIB = 1024 ** 3;
const MEMORY_WANTED = 2 * GIB;
const DISK_WANTED = 5 * GIB;
const DISK_NEEDED = GIB / 4;
const OPEN_FILES_WANTED = 4096;
const SHARED_MEMORY_WANTED = GIB / 16;
/** NCCL and the workers of a vLLM exchange data of several GPUs there; a container has 64 MiB unless it is given more. */
const SHARED_BY_GPUS = GIB;

export async function machineChecks(cwd: string, cache: string): Promise<Check[]> {
  return Promise.all([
    coresCheck(),
    memoryCheck(),
    openFilesCheck(),
    diskCheck("Disk of the current folder", cwd, "run in another folder, or set output_dir to one with more room"),
    diskCheck("Disk of the cache", cache, "set PRL_CACHE_DIR to a folder with more room"),
  ]);
}

async function coresCheck(): Promise<Check> {
  const cores = availableParallelism();
  const quota = await cpuQuota();
  if (quota !== null && quota < cores) {
    const fix =
      "set trainer.threads and inference.threads so that their sum is at most this, or raise the container's limit";
    return warning("Cores", `${cores}, but a control group allows the time of ${quota.toFixed(1)}`, fix);
  }
  if (cores < 2) return warning("Cores", String(cores), "trainer and inference share one core; two or more are better");
  return ok("Cores", String(cores));
}

/** Processor time that the control group allows, in cores; null when it is not limited. */
async function cpuQuota(): Promise<number | null> {
  const v2 = (await readOrNull("/sys/fs/cgroup/cpu.max"))?.trim().split(" ");
  if (v2 !== undefined) return v2[0] === "max" ? null : Number(v2[0]) / Number(v2[1]);
  const quota = Number(await readOrNull("/sys/fs/cgroup/cpu/cpu.cfs_quota_us"));
  const period = Number(await readOrNull("/sys/fs/cgroup/cpu/cpu.cfs_period_us"));
  return quota > 0 && period > 0 ? quota / period : null;
}

async function memoryCheck(): Promise<Check> {
  const constrained = process.constrainedMemory();
  const total = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem();
  const available =
    Number(/MemAvailable:\s+(\d+) kB/.exec((await readOrNull("/proc/meminfo")) ?? "")?.[1] ?? Number.NaN) * 1024;
  const free = Number.isNaN(available) ? total : Math.min(available, total);
  const detail = `${bytesText(free)} available of ${bytesText(total)}`;
  if (free < MEMORY_WANTED)
    return warning("Memory", detail, `free some: runs of small models need about ${bytesText(MEMORY_WANTED)}`);
  return ok("Memory", detail);
}

async function openFilesCheck(): Promise<Check> {
  const limits = await readOrNull("/proc/self/limits");
  const match = /Max open files\s+(\S+)\s+(\S+)/.exec(limits ?? "");
  if (match === null) return warning("Open files", "the limit is not known here", 'check it with "ulimit -n"');
  const [soft, hard] = [match[1], match[2]].map((text) =>
    text === "unlimited" ? Number.POSITIVE_INFINITY : Number(text),
  );
  const detail = `soft limit ${match[1]}, hard limit ${match[2]}`;
  if ((hard ?? 0) < OPEN_FILES_WANTED) {
    const fix = `raise the hard limit to ${OPEN_FILES_WANTED} or more (limits.conf, or the container's ulimit)`;
    return warning("Open files", detail, fix);
  }
  return ok(
    "Open files",
    (soft ?? 0) < (hard ?? 0) ? `${detail}; the launcher raises the soft one to the hard one` : detail,
  );
}

async function diskCheck(name: string, folder: string, fix: string): Promise<Check> {
  const existing = await nearestExisting(folder);
  const where = existing === folder ? folder : `${folder} (will be made in ${existing})`;
  try {
    await access(existing, constants.W_OK);
  } catch {
    return problem(name, `${where} is not writable`, fix);
  }
  const { bavail, bsize } = await statfs(existing);
  const free = bavail * bsize;
  const detail = `${bytesText(free)} free in ${where}`;
  if (free < DISK_NEEDED) return problem(name, detail, fix);
  return free < DISK_WANTED ? warning(name, detail, fix) : ok(name, detail);
}

/** The folder, or the nearest one above it that is there. */
export async function nearestExisting(folder: string): Promise<string> {
  for (let at = folder; ; at = dirname(at)) {
    try {
      await access(at);
      return at;
    } catch (error) {
      if (dirname(at) === at) throw error;
    }
  }
}

export async function sharedMemoryCheck(gpus: number, folder = "/dev/shm"): Promise<Check> {
  const name = "Shared memory";
  const wanted = gpus > 1 ? SHARED_BY_GPUS : SHARED_MEMORY_WANTED;
  try {
    const { bavail, bsize } = await statfs(folder);
    const free = bavail * bsize;
    const detail = `${bytesText(free)} free in ${folder}`;
    if (free >= wanted) return ok(name, detail);
    const why = gpus > 1 ? `${gpus} GPUs want ${bytesText(wanted)}: ` : "";
    return warning(name, detail, `${why}give the container more (--shm-size, or --ipc=host)`);
  } catch {
    const user = gpus > 1 ? "NCCL and vLLM need it" : "only sandboxes will use it";
    return warning(name, `${folder} is not there`, `mount a tmpfs on ${folder}; ${user}`);
  }
}

/** Devices of a network register memory, which locks it. `limits`: the text of `/proc/self/limits`. */
export function lockedMemoryCheck(limits: string | null): Check {
  const name = "Locked memory";
  const soft = /Max locked memory\s+(\S+)/u.exec(limits ?? "")?.[1];
  if (soft === "unlimited") return ok(name, soft);
  const fix = "set memlock to unlimited (limits.conf, LimitMEMLOCK of sshd's service, or the container's ulimit)";
  return warning(name, soft === undefined ? "the limit is not known here" : `at most ${soft} bytes`, fix);
}

/** A kernel file's text, null when it is missing or not readable. */
export async function readOrNull(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch {
    return null;
  }
}
