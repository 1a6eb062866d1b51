/** Latency of single runs, ours and those of the rivals. */

import { spawnSync } from "node:child_process";

import { PrlError } from "../../errors.ts";
import { SandboxPool } from "../../sandbox/index.ts";
import { burst, type Contender, interleaved, percentile } from "./measure.ts";
import { type Bench, outputOf } from "./context.ts";
import { proportionalBytes, settled } from "./memory.ts";
import { ableRivals, Floor, PYTHON, rarity, rivalCommand, runRival } from "./rivals.ts";

const PRINT = "print(1)";
/** The largest sum of neighbours. */
const BEST_SUM =
  "best, ending = -10**9, 0\nfor value in map(int, input().split()):\n  ending = max(value, ending + value)\n" +
  "  best = max(best, ending)\nprint(best)";
const SUM = "import numpy\nprint(int(numpy.arange(10).sum()))";

/** A Python one-liner in a new sandbox; every other contender runs the same. */
export async function pythonPrint({ pool, floor, rivals, rounds, report, signal }: Bench): Promise<void> {
  const contenders: Contender[] = [
    { name: "ours", run: async () => outputOf(await pool.runOnce({ command: ["python3", "-c", PRINT] }), "1\n") },
    { name: "floor", run: async () => floor.run(PRINT, "", "1\n") },
    ...rivals.map((name) => ({
      name,
      every: rarity(name),
      run: async () => runRival(name, [PYTHON, "-c", PRINT], "", "1\n"),
    })),
  ];
  const samples = await interleaved(contenders, rounds, signal);
  const bars = [
    { of: "floor", factor: 1.5 },
    { of: "bubblewrap", factor: 1 / 3 },
  ];
  quantiles("sandbox_python", samples, bars, report);
}

/** The shortest program there is, executed. */
export async function shortestProgram({ pool, rivals, rounds, report, signal }: Bench): Promise<void> {
  const contenders: Contender[] = [
    { name: "ours", run: async () => outputOf(await pool.runOnce({ command: ["/bin/true"] }), "") },
    ...rivals.map((name) => ({ name, every: rarity(name), run: async () => runRival(name, ["/bin/true"], "", "") })),
  ];
  quantiles("sandbox_true", await interleaved(contenders, rounds, signal), [], report);
}

/** The machine's speed varies by a tenth: with this many bursts of each the ratio can be reproduced. */
const BURSTS = 4;
/** Half of them wait for code, half for a file. */
const NODES = 8;

/** A line of JavaScript, on a waiting Node and on a new one. A waiting Node has paid for its
 * start before the request, and takes memory while it waits. */
export async function nodePrint({ rivals, rounds, report, signal }: Bench): Promise<void> {
  const pool = await SandboxPool.start({ warm: { node: NODES / 2 } });
  try {
    const { facilities } = await pool.capabilities();
    const { available = false, detail = "" } = facilities.find(({ name }) => name === "runtime.node") ?? {};
    if (!available) return report.note(`sandbox_node: not measured: ${detail}`);
    const command = ["node", "-e", "console.log(1)"];
    const on = async (runtime: string): Promise<void> => outputOf(await pool.runOnce({ command, runtime }), "1\n");
    const contenders: Contender[] = [
      { name: "ours", run: async () => on("node") },
      { name: "executed", run: async () => on("exec") },
      ...rivals.map((name) => ({
        name,
        every: rarity(name),
        run: async () => runRival(name, [process.execPath, ...command.slice(1)], "", "1\n"),
      })),
    ];
    quantiles("sandbox_node", await interleaved(contenders, rounds, signal), [], report);
    const without = await SandboxPool.start();
    try {
      const [plain, parked] = await Promise.all(
        [without, pool].map(async (one) => settled(() => proportionalBytes(one.daemonPid))),
      );
      const ours = ((parked ?? 0) - (plain ?? 0)) / NODES / 1e6;
      report.add({ name: "sandbox_node_memory", unit: "MB", better: "lower", ours, rivals: {}, bars: [] });
    } finally {
      await without.close();
    }
  } finally {
    await pool.close();
  }
}

/** A library that takes long to load. */
export async function numpySum({ python, rivals, rounds, report, signal }: Bench): Promise<void> {
  if (spawnSync(python, ["-c", "import numpy"], { stdio: "ignore" }).status !== 0) {
    report.note(`sandbox_numpy: not measured, ${python} has no numpy; see --python`);
    return;
  }
  const command = [python, "-c", SUM];
  const able = ableRivals(rivals, command, (text) => report.note(text));
  const pool = await SandboxPool.start({ warm: { numpy: 8 }, python });
  let floor: Floor | undefined;
  const ours = async (): Promise<void> => {
    const result = await pool.runOnce({ command: ["python3", "-c", SUM], runtime: "numpy" });
    outputOf(result, "45\n");
  };
  try {
    const server = (floor = await Floor.start(["numpy"], signal, python));
    const contenders: Contender[] = [
      { name: "ours", run: ours },
      { name: "floor", run: async () => server.run(SUM, "", "45\n") },
      ...able.map((name) => ({ name, every: rarity(name), run: async () => runRival(name, command, "", "45\n") })),
    ];
    const samples = await interleaved(contenders, rounds, signal);
    quantiles("sandbox_numpy", samples, [{ of: "bubblewrap", factor: 0.1 }], report);
  } finally {
    await Promise.all([pool.close(), floor?.close()]);
  }
}

/** One program tested on ten inputs: one request for us, ten runs for the rivals. */
export async function tenTests({ pool, floor, rivals, rounds, report, signal }: Bench): Promise<void> {
  const lists = Array.from({ length: 10 }, (_, test) =>
    Array.from({ length: 500 }, (_number, index) => ((index * 7919 + test * 104_729) % 2001) - 1000),
  );
  const inputs = lists.map((list) => list.join(" "));
  const outputs = lists.map((list) => `${bestSum(list)}\n`);
  const each = async (run: (stdin: string, output: string) => Promise<void>): Promise<void> => {
    for (const [index, stdin] of inputs.entries()) await run(stdin, outputs[index] ?? "");
  };
  const ours = async (): Promise<void> => {
    const cases = inputs.map((stdin) => ({ stdin }));
    const { results } = await pool.runTests({ program: ["python3", "-c", BEST_SUM], cases });
    results.forEach((result, index) => {
      if (result === null) throw new PrlError("PRL_SANDBOX_BENCH", `test ${index} was not begun`);
      outputOf(result, outputs[index] ?? "");
    });
  };
  const contenders: Contender[] = [
    { name: "ours", run: ours },
    { name: "floor", run: async () => each(async (stdin, output) => floor.run(BEST_SUM, stdin, output)) },
    ...rivals.map((name) => ({
      name,
      every: rarity(name),
      run: async () => each(async (stdin, output) => runRival(name, [PYTHON, "-c", BEST_SUM], stdin, output)),
    })),
  ];
  const samples = await interleaved(contenders, Math.ceil(rounds / 4), signal);
  quantiles("sandbox_ten_tests", samples, [{ of: "bubblewrap", factor: 1 / 8 }], report);
}

function bestSum(list: readonly number[]): number {
  let [best, ending] = [-Infinity, 0];
  for (const value of list) best = Math.max(best, (ending = Math.max(value, ending + value)));
  return best;
}

/**
 * A thousand runs, 64 at once, again and again in turn. The rivals are driven by xargs, which costs them less than this process would. Slow
 * rivals do a part of the runs.
 */
export async function burstOfRuns({ pool, floor, rivals, report, signal, quick }: Bench): Promise<void> {
  const count = quick ? 200 : 1000;
  const rates = new Map<string, { runs: number; wallMs: number }>();
  const add = (name: string, runs: number, wallMs: number): void => {
    const before = rates.get(name) ?? { runs: 0, wallMs: 0 };
    rates.set(name, { runs: before.runs + runs, wallMs: before.wallMs + wallMs });
  };
  const ours: number[] = [];
  for (let round = 0; round < BURSTS; round++) {
    const mine = await burst(
      async (index) => outputOf(await pool.runOnce({ command: ["python3", "-c", `print(${index})`] }), `${index}\n`),
      count,
      64,
      signal,
    );
    ours.push(...mine.samples);
    add("ours", count, mine.wallMs);
    const bare = await burst((index) => floor.run(`print(${index})`, "", `${index}\n`), count, 64, signal);
    add("floor", count, bare.wallMs);
    for (const name of rivals) {
      signal.throwIfAborted();
      const runs = count / rarity(name);
      const command = rivalCommand(name, [PYTHON, "-c", PRINT], `prl-burst-${round}-{}`).map((word) => `'${word}'`);
      const startedAt = performance.now();
      const script = `seq ${runs} | xargs -P 64 -I {} ${command.join(" ")} | grep -c '^1$'`;
      await runRival("plain", ["/bin/sh", "-c", script], "", `${runs}\n`);
      add(name, runs, performance.now() - startedAt);
    }
  }
  const perSecond = [...rates].map(([name, { runs, wallMs }]) => [name, (1000 * runs) / wallMs] as const);
  report.add({
    name: "sandbox_burst",
    unit: "runs/s",
    better: "higher",
    ours: perSecond.find(([name]) => name === "ours")?.[1] ?? Number.NaN,
    rivals: Object.fromEntries(perSecond.filter(([name]) => name !== "ours")),
    bars: [
      { of: "bubblewrap", factor: 2.5 },
      { of: "floor", factor: 0.85 },
    ],
  });
  report.add({
    name: "sandbox_burst_p99",
    unit: "ms",
    better: "lower",
    ours: percentile(ours, 99),
    rivals: {},
    bars: [],
  });
}

/** Adds the median, which has the bars, and the 99th percentile. */
export function quantiles(
  name: string,
  samples: ReadonlyMap<string, readonly number[]>,
  bars: readonly { of: string; factor: number }[],
  report: Bench["report"],
): void {
  for (const percent of [50, 99]) {
    const at = (contender: string): number => percentile(samples.get(contender) ?? [], percent);
    const rivals = [...samples.keys()].filter((contender) => contender !== "ours");
    report.add({
      name: `${name}_p${percent}`,
      unit: "ms",
      better: "lower",
      ours: at("ours"),
      rivals: Object.fromEntries(rivals.map((contender) => [contender, at(contender)])),
      bars: percent === 50 ? bars : [],
    });
  }
}
