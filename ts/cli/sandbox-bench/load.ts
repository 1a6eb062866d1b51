/** Many runs at once: how busy sandboxes slow down each other and this process. */

import { readFileSync } from "node:fs";

import { burst, percentile } from "./measure.ts";
import { type Bench, outputOf } from "./context.ts";

const MEMORY_BOMB = "b = [bytearray(b'x' * (1 << 20)) for i in range(400)]";
const FORK_BOMB = ["python3", "-c", "import os\nfor i in range(500):\n  try: os.fork()\n  except OSError: pass"];
const BOMBS: readonly (readonly string[])[] = [
  FORK_BOMB,
  ["python3", "-c", MEMORY_BOMB],
  ["sh", "-c", "yes | head -c 200000000"],
];
const TICK_MS = 1;
const BOMB_LIMITS = { wallMs: 1000, cpuMs: 1000, memoryBytes: 64 << 20, processes: 16, outputKillBytes: 4 << 20 };

/**
 * The longest time that the event loop of this process stood still with 64 runs in flight. Time in which its thread wanted to run and the
 * kernel gave the core to another thread is subtracted, because the machine causes it.
 */
export async function eventLoop({ pool, report, signal, quick }: Bench): Promise<void> {
  const run = async (): Promise<void> =>
    outputOf(await pool.runOnce({ command: ["python3", "-c", "print(1)"] }), "1\n");
  await burst(run, 64, 64, signal);
  const stalls = new Stalls();
  await burst(run, quick ? 300 : 1000, 64, signal);
  const samples = stalls.end();
  const figure = { unit: "ms", better: "lower", rivals: {} } as const;
  report.add({
    ...figure,
    name: "sandbox_event_loop_max",
    ours: Math.max(...samples),
    bars: [{ of: null, factor: 10 }],
  });
  report.add({ ...figure, name: "sandbox_event_loop_p99", ours: percentile(samples, 99), bars: [] });
}

/** How late a timer of a millisecond is, again and again. */
class Stalls {
  readonly #samples: number[] = [];
  #timer: NodeJS.Timeout;
  #last = performance.now();
  #waited = waitedForCore();

  constructor() {
    this.#timer = setTimeout(() => this.#tick(), TICK_MS);
  }

  #tick(): void {
    const [now, waited] = [performance.now(), waitedForCore()];
    this.#samples.push(Math.max(0, now - this.#last - TICK_MS - (waited - this.#waited)));
    [this.#last, this.#waited] = [now, waited];
    this.#timer = setTimeout(() => this.#tick(), TICK_MS);
  }

  end(): number[] {
    clearTimeout(this.#timer);
    return this.#samples;
  }
}

/** Milliseconds that this thread has waited to be put on a core. */
function waitedForCore(): number {
  const [, waited = "0"] = readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ");
  return Number(waited) / 1e6;
}

/** How bombs of all kinds slow down other runs. */
export async function noisyNeighbours(bench: Bench): Promise<void> {
  const { quiet, disturbed } = await besideBombs(bench, BOMBS);
  bench.report.add({
    name: "sandbox_noisy_neighbours_p99",
    unit: "ms",
    better: "lower",
    ours: percentile(disturbed, 99),
    rivals: { quiet: percentile(quiet, 99) },
    bars: [{ of: "quiet", factor: 2 }],
  });
}

/** How fork bombs alone slow down other runs: they hold locks of the kernel for which every fork of the same program waits. */
export async function forkBombs(bench: Bench): Promise<void> {
  const { quiet, disturbed } = await besideBombs(bench, [FORK_BOMB]);
  const figure = { unit: "ms", better: "lower" } as const;
  bench.report.add({
    ...figure,
    name: "sandbox_beside_fork_bombs_p99",
    ours: percentile(disturbed, 99),
    rivals: { quiet: percentile(quiet, 99) },
    bars: [{ of: "quiet", factor: 1.2 }],
  });
  bench.report.add({
    ...figure,
    name: "sandbox_beside_fork_bombs_longest",
    ours: Math.max(...disturbed),
    rivals: { quiet: Math.max(...quiet) },
    bars: [{ of: null, factor: 150 }],
  });
  const late = disturbed.filter((ms) => ms > 150).length;
  bench.report.note(`${late} of ${disturbed.length} runs beside fork bombs took more than 150 ms`);
}

/**
 * Milliseconds of runs beside others of their kind, and of those beside one bomb among ten, 16 at a time. One stall of the kernel delays
 * many of the 16, so a 99th percentile needs thousands of runs: with 900 a single stall decides it.
 */
async function besideBombs(
  { pool, signal, quick, rounds }: Bench,
  bombs: readonly (readonly string[])[],
): Promise<{ quiet: number[]; disturbed: number[] }> {
  const [count, turns] = quick ? [200, 2] : [64 * rounds, 8];
  const ordinary = async (samples: number[]): Promise<void> => {
    const startedAt = performance.now();
    outputOf(await pool.runOnce({ command: ["python3", "-c", "print(sum(range(10000)))"] }), "49995000\n");
    samples.push(performance.now() - startedAt);
  };
  const turn = async (samples: number[], disturb: boolean): Promise<void> => {
    await burst(
      async (index) => {
        const bomb = bombs[Math.floor(index / 10) % bombs.length];
        if (index % 10 !== 0) await ordinary(samples);
        else if (disturb && bomb !== undefined) await pool.runOnce({ command: bomb, limits: BOMB_LIMITS });
        else await ordinary([]);
      },
      Math.ceil(count / turns),
      16,
      signal,
    );
  };
  const quiet: number[] = [];
  const disturbed: number[] = [];
  for (let number = 0; number < turns; number++) {
    await turn(quiet, false);
    await turn(disturbed, true);
  }
  return { quiet, disturbed };
}

/** A program that writes a gigabyte, of which the ends are kept. */
export async function muchOutput({ pool, report, quick, residentBytes }: Bench): Promise<void> {
  const bytes = quick ? 100_000_000 : 1_000_000_000;
  const limits = { outputKillBytes: 2 * bytes, wallMs: 60_000, cpuMs: 60_000 };
  const before = residentBytes();
  let most = before;
  const timer = setInterval(() => (most = Math.max(most, residentBytes())), 5);
  const startedAt = performance.now();
  const result = await pool.runOnce({ command: ["sh", "-c", `yes | head -c ${bytes}`], limits });
  const seconds = (performance.now() - startedAt) / 1000;
  clearInterval(timer);
  if (result.cause !== "EXITED" || result.stdout.length + result.stdoutGap !== bytes) {
    throw new Error(`${bytes} bytes of output ended with ${result.cause}, ${result.stdoutGap} bytes dropped`);
  }
  const figure = { rivals: {}, better: "lower" } as const;
  report.add({
    ...figure,
    name: "sandbox_output_memory",
    unit: "MiB",
    ours: (most - before) / 2 ** 20,
    bars: [{ of: null, factor: 64 }],
  });
  report.add({
    ...figure,
    name: "sandbox_output_rate",
    unit: "MB/s",
    better: "higher",
    ours: bytes / 1e6 / seconds,
    bars: [],
  });
}
