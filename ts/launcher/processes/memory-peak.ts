/**
 * Measures the peak memory of a run: the sum over its processes of the proportional set size, so that shared pages count once.
 *
 * It reads `/proc` once a second; where that is missing (other systems) or not readable, there is no result. The kernel walks
 * all of a process's pages for its proportional size, so this is read only when the resident sizes, which it keeps anyway, have
 * grown beyond their peak.
 */
import { readdir, readFile } from "node:fs/promises";

const SAMPLE_INTERVAL_MS = 1_000;
const PSS = /^Pss:\s+(\d+) kB$/m;
/** Resident size in `/proc/<pid>/status`. */
const RSS = /^VmRSS:\s+(\d+) kB$/m;

export class MemoryPeak {
  readonly #pids: () => readonly number[];
  readonly #trees: () => readonly number[];
  readonly #timer: NodeJS.Timeout;
  #peak: number | undefined;
  #residentPeak = 0;
  #sampling = false;

  /**
   * Both are called at each sample.
   *
   * @param pids gives the processes to sum over
   * @param trees gives those of them that count with all processes that they started
   */
  constructor(pids: () => readonly number[], trees: () => readonly number[] = () => []) {
    this.#pids = pids;
    this.#trees = trees;
    this.#timer = setInterval(() => void this.#sample(), SAMPLE_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Bytes; undefined when no sample could be taken. */
  get bytes(): number | undefined {
    return this.#peak;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #sample(): Promise<void> {
    if (this.#sampling) return;
    this.#sampling = true;
    const below = await Promise.all(this.#trees().map((pid) => descendants(pid)));
    const pids = [...this.#pids(), ...below.flat()];
    const resident = await sumOver(pids, "status", RSS);
    if (resident !== undefined && resident > this.#residentPeak) {
      this.#residentPeak = resident;
      const proportional = await sumOver(pids, "smaps_rollup", PSS);
      if (proportional !== undefined) this.#peak = Math.max(this.#peak ?? 0, proportional);
    }
    this.#sampling = false;
  }
}

/** The processes that this one started, and those that they started; empty where the system does not list them. */
export async function descendants(pid: number): Promise<number[]> {
  try {
    const threads = await readdir(`/proc/${pid}/task`);
    const lists = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, "utf8")));
    const children = lists.flatMap((list) => list.split(" ").filter((text) => text !== "")).map(Number);
    return [...children, ...(await Promise.all(children.map((child) => descendants(child)))).flat()];
  } catch {
    // The process, or one of its threads, has just ended.
    return [];
  }
}

/** Sum in bytes over the processes whose file can be read; undefined when none can. */
async function sumOver(pids: readonly number[], file: string, pattern: RegExp): Promise<number | undefined> {
  const sizes = await Promise.all(pids.map((pid) => sizeIn(`/proc/${pid}/${file}`, pattern)));
  const known = sizes.filter((size) => size !== null);
  return known.length === 0 ? undefined : known.reduce((total, size) => total + size, 0);
}

async function sizeIn(path: string, pattern: RegExp): Promise<number | null> {
  try {
    const match = pattern.exec(await readFile(path, "utf8"));
    return match === null ? null : Number(match[1]) * 1024;
  } catch {
    // The process has just ended, or this system has no such file.
    return null;
  }
}
