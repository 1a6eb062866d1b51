/**
 * `prl sandbox bench`: compares the sandboxes with other tools, in one run on two cores.
 *
 * Every figure is measured in turn with its rivals, and every sample checks its outcome. Only ratios inside one run are reliable on a noisy
 * machine; absolute times are printed beside them. The sandboxes have every namespace, limits, filter and accounting; the rivals have the
 * namespaces; `plain` has nothing.
 */

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { availableParallelism, cpus, release } from "node:os";
import { join } from "node:path";

import { PrlError } from "../../errors.ts";
import { SandboxPool } from "../../sandbox/index.ts";
import type { CommandIo } from "../command.ts";
import type { Bench } from "./context.ts";
import { burstOfRuns, nodePrint, numpySum, pythonPrint, shortestProgram, tenTests } from "./latency.ts";
import { execInHeld, idleBoxes, manyBoxes, manyExecs } from "./held.ts";
import { eventLoop, forkBombs, muchOutput, noisyNeighbours } from "./load.ts";
import { Report } from "./report.ts";
import { Floor, forgetRivals, installedRivals } from "./rivals.ts";

const SCENARIOS: Readonly<Record<string, (bench: Bench) => Promise<void>>> = {
  python: pythonPrint,
  true: shortestProgram,
  node: nodePrint,
  numpy: numpySum,
  "ten-tests": tenTests,
  held: execInHeld,
  burst: burstOfRuns,
  "event-loop": eventLoop,
  neighbours: noisyNeighbours,
  "fork-bombs": forkBombs,
  output: muchOutput,
  execs: manyExecs,
  idle: idleBoxes,
  boxes: manyBoxes,
};
export const SCENARIO_NAMES = Object.keys(SCENARIOS);
const CORES = 2;

export interface BenchOptions {
  /** Empty: all of them. */
  readonly scenarios: readonly string[];
  readonly rounds: number;
  readonly quick: boolean;
  /** The interpreter whose numpy is measured. */
  readonly python: string;
}

/** Returns the names of the figures that missed a bar. */
export async function runBench(options: BenchOptions, io: CommandIo): Promise<readonly string[]> {
  const cores = takeCores();
  const rivals = installedRivals();
  const pool = await SandboxPool.start({ warm: { python: 50 } });
  const floors: Floor[] = [];
  try {
    const { isolation, cgroups, facilities } = await pool.capabilities();
    const lacks = facilities.filter(({ available }) => !available).map(({ name }) => name);
    const machine = { cpu: cpus()[0]?.model, kernel: release(), cores, isolation, cgroups, lacks, rivals };
    const out = io.json ? io.stderr : io.stdout;
    const report = new Report(out, join(process.cwd(), "target", "prl-bench"), machine);
    report.note(JSON.stringify(machine));
    const floor = await Floor.start([], io.signal);
    floors.push(floor);
    const { rounds, quick, python } = options;
    const daemon = pool.daemonPid;
    const { signal } = io;
    const bench: Bench = {
      pool,
      floor,
      python,
      rivals,
      rounds,
      quick,
      report,
      signal,
      residentBytes: () => residentBytes(daemon),
    };
    for (const [name, scenario] of Object.entries(SCENARIOS)) {
      if (options.scenarios.length > 0 && !options.scenarios.includes(name)) continue;
      try {
        await scenario(bench);
      } catch (error) {
        if (!(error instanceof PrlError && error.code.endsWith("_UNSUPPORTED"))) throw error;
        report.note(`${name}: not measured: ${error.message}`);
        report.missed.push(name);
      }
    }
    if (io.json) io.writeJson({ machine, figures: report.figures, missed: report.missed });
    return report.missed;
  } finally {
    await Promise.all([pool.close(), ...floors.map((floor) => floor.close())]);
    forgetRivals();
  }
}

/** Keeps this process, and what it starts from now on, to two of its cores. Returns how many it has. */
function takeCores(): number {
  const allowed = /^Cpus_allowed_list:\s*(.*)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "";
  const list = allowed.split(",").flatMap((range) => {
    const [first = 0, last = first] = range.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  const taken = list.slice(0, CORES);
  const pinned = spawnSync("taskset", ["-a", "-c", "-p", taken.join(","), String(process.pid)], { stdio: "ignore" });
  return pinned.status === 0 ? taken.length : availableParallelism();
}

function residentBytes(pid: number | null): number {
  const status = readFileSync(`/proc/${pid ?? "self"}/status`, "utf8");
  return Number(/^VmRSS:\s*(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
}
