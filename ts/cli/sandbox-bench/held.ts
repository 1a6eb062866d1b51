/** Measures boxes: what one costs, what an exec in one costs, and how many there can be. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { PrlError } from "../../errors.ts";
import { sandboxDaemonPath } from "../../native/index.ts";
import { type Box, SandboxPool } from "../../sandbox/index.ts";
import { type Bench, outputOf } from "./context.ts";
import { quantiles } from "./latency.ts";
import { burst, interleaved, percentile } from "./measure.ts";
import { proportionalBytes, settled } from "./memory.ts";
import { runRival } from "./rivals.ts";

const LABELS = { purpose: "bench" };
const AT_ONCE = 32;

/** The shortest program, in a box that exists already. */
export async function execInHeld({ pool, report, rounds, signal }: Bench): Promise<void> {
  const box = await pool.create({ labels: LABELS });
  const contenders = [
    { name: "ours", run: async () => outputOf(await box.exec(["/bin/true"]), "") },
    { name: "plain", run: async () => runRival("plain", ["/bin/true"], "", "") },
  ];
  quantiles("sandbox_held_true", await interleaved(contenders, rounds, signal), [{ of: "plain", factor: 2 }], report);
  await box.close();
}

/** Many execs over many boxes; one that fails is an error of the bench. */
export async function manyExecs({ pool, report, signal, quick }: Bench): Promise<void> {
  const [held, execs] = quick ? [20, 200] : [200, 2000];
  const boxes = await create(pool, held, {}, signal);
  const run = async (index: number): Promise<void> => {
    const command = ["sh", "-c", `echo ${index} >> log; echo ${index}`];
    outputOf(await (boxes[index % held] as Box).exec(command), `${index}\n`);
  };
  const { wallMs, samples } = await burst(run, execs, AT_ONCE, signal);
  await pool.closeAll({ labels: LABELS });
  const figure = { rivals: {}, bars: [] } as const;
  report.add({
    ...figure,
    name: "sandbox_held_execs",
    unit: "execs/s",
    better: "higher",
    ours: (execs * 1000) / wallMs,
  });
  report.add({ ...figure, name: "sandbox_held_execs_p99", unit: "ms", better: "lower", ours: percentile(samples, 99) });
}

/** Idle Python boxes: the memory of each, and how they slow down an exec beside them. */
export async function idleBoxes({ pool, report, signal, quick, rounds }: Bench): Promise<void> {
  const held = quick ? 50 : 500;
  const samples = async (): Promise<number[]> => {
    const [box] = await create(pool, 1, { profile: "python" }, signal);
    const run = async (): Promise<void> => printWarm(box as Box);
    const taken = await interleaved([{ name: "ours", run }], rounds, signal);
    await box?.close();
    return taken.get("ours") ?? [];
  };
  const empty = await samples();
  const before = await proportionalBytes(pool.daemonPid);
  const boxes = await create(pool, held, { profile: "python" }, signal);
  await burst((index) => printWarm(boxes[index] as Box), held, AT_ONCE, signal);
  const after = await settled(() => proportionalBytes(pool.daemonPid));
  const full = await samples();
  await pool.closeAll({ labels: LABELS });
  const figure = { better: "lower", rivals: {} } as const;
  const each = (after - before) / held / 1e6;
  report.add({ ...figure, name: "sandbox_idle_memory", unit: "MB", ours: each, bars: [{ of: null, factor: 2.5 }] });
  report.add({
    ...figure,
    name: "sandbox_exec_beside_idle_p50",
    unit: "ms",
    ours: percentile(full, 50),
    rivals: { "empty daemon": percentile(empty, 50) },
    bars: [{ of: "empty daemon", factor: 1.5 }],
  });
}

async function printWarm(box: Box): Promise<void> {
  const result = await box.exec(["python3", "-c", "print(1)"]);
  outputOf(result, "1\n");
  if (result.runtime !== "python") throw new PrlError("PRL_SANDBOX_BENCH", "an exec of a Python box was not warm");
}

/** Two thousand boxes over four daemons. */
export async function manyBoxes({ report, signal, quick }: Bench): Promise<void> {
  const count = quick ? 200 : 2000;
  const directory = await mkdtemp(join(tmpdir(), "prl-bench-"));
  const sockets = Array.from({ length: 4 }, (_, index) => join(directory, `${index}.sock`));
  const daemons = sockets.map((socket) =>
    spawn(sandboxDaemonPath(), ["--socket", socket, "--max-held", String(count), "--stop-with-stdin"], {
      stdio: ["pipe", "pipe", "inherit"],
    }),
  );
  try {
    await Promise.all(daemons.map(async ({ stdout }) => once(stdout, "data")));
    const pool = await SandboxPool.connect({ addresses: sockets.map((socket) => `unix:${socket}`) });
    const startedAt = performance.now();
    const boxes = await create(pool, count, {}, signal);
    const seconds = (performance.now() - startedAt) / 1000;
    const some = boxes.filter((_, index) => index % 20 === 0);
    await Promise.all(some.map(async (box) => outputOf(await box.exec(["echo", "there"]), "there\n")));
    report.add({
      name: "sandbox_many_boxes",
      unit: "s",
      better: "lower",
      ours: seconds,
      rivals: {},
      bars: [{ of: null, factor: 10 }],
    });
    await pool.closeAll({ labels: LABELS });
    await pool.close();
  } finally {
    for (const daemon of daemons) daemon.stdin.end();
    await Promise.all(daemons.map(async (daemon) => daemon.exitCode ?? once(daemon, "close")));
    await rm(directory, { recursive: true, force: true });
  }
}

async function create(
  pool: SandboxPool,
  count: number,
  options: { profile?: "python" },
  signal: AbortSignal,
): Promise<Box[]> {
  const boxes: Box[] = [];
  const one = async (): Promise<void> => void boxes.push(await pool.create({ ...options, labels: LABELS }));
  await burst(one, count, AT_ONCE, signal);
  return boxes;
}
