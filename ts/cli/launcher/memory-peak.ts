/**
 * Peak memory of a run: the sum over its processes of the proportional set size, so that shared pages count once.
 *
 * Read once a second from `/proc`; where that is not there (other systems) or not readable, nothing is known.
 */
import { readFile } from "node:fs/promises";

const SAMPLE_INTERVAL_MS = 1_000;
const PSS = /^Pss:\s+(\d+) kB$/m;

export class MemoryPeak {
  readonly #pids: () => readonly number[];
  readonly #timer: NodeJS.Timeout;
  #peak: number | undefined;
  #sampling = false;

  /** @param pids the processes to sum over, asked for at each sample */
  constructor(pids: () => readonly number[]) {
    this.#pids = pids;
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
    const sizes = await Promise.all(this.#pids().map(proportionalSetSize));
    this.#sampling = false;
    const known = sizes.filter((size) => size !== null);
    if (known.length === 0) return;
    const sum = known.reduce((total, size) => total + size, 0);
    this.#peak = Math.max(this.#peak ?? 0, sum);
  }
}

async function proportionalSetSize(pid: number): Promise<number | null> {
  try {
    const match = PSS.exec(await readFile(`/proc/${pid}/smaps_rollup`, "utf8"));
    return match === null ? null : Number(match[1]) * 1024;
  } catch {
    // The process has just ended, or this system has no such file.
    return null;
  }
}
