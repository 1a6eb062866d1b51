/**
 * One run in virtual time, from a seed: its config, the order of all events, its faults. What the launcher, the orchestrator, the trainer's loop and their
 * files do is the product's own code; engines, environments, weights, the network and time are simulated.
 */
import { rmSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { resultOf } from "../../ts/cli/chaos/history.ts";
import { violations } from "../../ts/cli/chaos/invariants.ts";
import { rlConfigSchema, type RlConfig } from "../../ts/config/schema/rl.ts";
import { describeError } from "../../ts/errors.ts";
import { stopExit } from "../../ts/stop-signal.ts";
import { FAULTS, inject } from "./faults.ts";
import { launcher } from "./parts/launcher.ts";
import { type Defect, type Machine, type Place, placeOf } from "./parts/machine.ts";
import { Network } from "./parts/network.ts";
import { orchestrator } from "./parts/orchestrator.ts";
import { envWorker, inferenceServer } from "./parts/serving.ts";
import { trainer } from "./parts/trainer.ts";
import { patchNode, type Program } from "./world/patched-node.ts";
import { type SimulatedProcess, World } from "./world/world.ts";

export interface Shape {
  readonly level: number;
  readonly steps: number;
  readonly servers: number;
  readonly groupSize: number;
  readonly interval: number;
}

export interface Outcome {
  readonly shape: Shape;
  readonly violations: readonly string[];
  readonly log: readonly string[];
  /** What the run came to. */
  readonly result: ReadonlyMap<string, string>;
  /** Faults that were injected, by their names. */
  readonly faults: readonly string[];
  readonly events: number;
  /** Starts of the launcher. */
  readonly starts: number;
}

export interface SimulateOptions {
  /** Default: from the seed. */
  readonly shape?: Shape;
  /** Kinds of faults; none: an undisturbed run. Default: all. */
  readonly faults?: readonly string[];
  /** Default: none. */
  readonly defect?: Defect;
  /** Default: 1. */
  readonly pace?: number;
  /** Steps whose batches stay; default: all. */
  readonly keptBatches?: number;
  /** Called from time to time (`Watch.everyMs`) while the run goes on. */
  readonly watch?: Watch;
}

export interface Watch {
  /** Virtual milliseconds. */
  readonly everyMs: number;
  readonly look: (runDir: string) => void;
}

const MOST_FAULTS = 8;
/** Lines of the log in an error. */
const MOST_SHOWN = 60;
const MOST_STARTS = 12;
/** Virtual time that a run may take: for each step, and in all. */
const LONGEST_STEP_MS = 20_000;
const LONGEST_MS = 1_200_000;

/** Runs the seed to its end. Errors: the run hangs, or something went wrong that no process of it reported. */
export async function simulate(seed: number, options: SimulateOptions = {}): Promise<Outcome> {
  const world = new World(seed);
  const shape = options.shape ?? shapeOf(world);
  const kinds = options.faults ?? Object.keys(FAULTS);
  const machine: Machine = {
    world,
    network: new Network(world),
    contract: [],
    garbage: 0,
    pace: options.pace ?? 1,
    defect: options.defect ?? null,
  };
  const runDir = join(await mkdtemp(join(tmpdir(), "prl-control-plane-")), "run");
  await mkdir(runDir);
  const unpatch = patchNode(world, programOf(machine));
  Reflect.set(globalThis, "observeNative", <Result>(work: Promise<Result>) => world.native(work));
  try {
    if (options.watch !== undefined) watch(world, options.watch, runDir);
    if (kinds.length > 0) inject(machine, kinds, 1 + world.rng.integer(MOST_FAULTS));
    const starts = await toItsEnd(world, configOf(shape, options.keptBatches ?? null), runDir);
    const expected = { steps: shape.steps, maxStaleness: shape.level, result: null, killed: null };
    return {
      shape,
      violations: [...machine.contract, ...(await violations(runDir, expected))],
      log: world.log,
      result: await resultOf(runDir, shape.steps),
      faults: world.log.flatMap((line) => / fault: (.*)/u.exec(line)?.[1] ?? []),
      events: world.events,
      starts,
    };
  } catch (cause) {
    const last = world.log.slice(-MOST_SHOWN).join("\n");
    throw new Error(`seed ${seed}: ${cause instanceof Error ? cause.message : String(cause)}\n${last}`, { cause });
  } finally {
    Reflect.deleteProperty(globalThis, "observeNative");
    for (const process of world.processes) world.signal(process, "SIGKILL");
    unpatch();
    await rm(join(runDir, ".."), { recursive: true, force: true });
  }
}

function watch(world: World, { everyMs, look }: Watch, runDir: string): void {
  world.schedule(everyMs, null, () => {
    look(runDir);
    watch(world, { everyMs, look }, runDir);
  });
}

/** Starts the launcher until the run is completed; returns how often. */
async function toItsEnd(world: World, config: RlConfig, runDir: string): Promise<number> {
  const longestMs = Math.max(LONGEST_MS, (config.max_steps ?? 0) * LONGEST_STEP_MS);
  for (let start = 1; start <= MOST_STARTS; start++) {
    let code: number | null = null;
    const process = world.spawn(
      "launcher",
      (own) => launcher(world, own, config, runDir),
      (exit) => (code = exit.code),
    );
    await world.run(() => process.state === "dead", longestMs);
    if (code === 0) return start;
    // The user makes room before the run goes on.
    await world.run(() => !world.isDiskFull, longestMs);
    // A user who stopped a process and killed its launcher kills it, too.
    for (const one of world.processes) world.signal(one, "SIGCONT");
    await world.run(() => world.processes.every(({ state }) => state === "dead"), longestMs);
  }
  throw new Error(`the run was not completed in ${MOST_STARTS} starts`);
}

function programOf(machine: Machine): Program {
  const programs: Record<string, Program> = {
    orchestrator: orchestrator(machine),
    trainer: trainer(machine),
    "env-server": envWorker(machine),
    inference: inferenceServer(machine),
  };
  return async (args, process) => {
    const program = programs[args[args.indexOf("--config") - 1] ?? ""];
    if (program === undefined) throw new Error(`there is no program for ${args.join(" ")}`);
    return withNote(process, placeOf(args), () => program(args, process));
  };
}

/** The exit code of a program, whose failure is noted as the product's processes note theirs. */
async function withNote(
  process: SimulatedProcess,
  { runDir, index }: Place,
  work: () => Promise<number>,
): Promise<number> {
  const component = process.name.replace(/-\d+$/u, "").replace("env-server", "env-worker");
  const path = join(runDir, "run", `failure-${component}-${index}.json`);
  rmSync(path, { force: true });
  try {
    return await work();
  } catch (error) {
    if (process.stopping.signal.aborted) return stopExit(process.stopping.signal.reason);
    // Its room was reserved at the start.
    writeFileSync(path, JSON.stringify({ pid: process.pid, ...describeError(error) }));
    return 1;
  }
}

function configOf({ level, steps, servers, groupSize, interval }: Shape, keptBatches: number | null): RlConfig {
  return rlConfigSchema.parse({
    seed: 5,
    max_steps: steps,
    max_async_level: level,
    seq_len: 64,
    model: { name: "m" },
    weight_broadcast: { keep: level + 2 },
    rollout_transport: { keep: keptBatches },
    ckpt: { interval, keep_last: 2 },
    inference: { replicas: servers },
    deployment: { max_restarts: 20 },
    orchestrator: {
      batch_size: 8,
      group_size: groupSize,
      max_off_policy_steps: level,
      max_env_workers: 3,
      max_inflight: 32,
      request_timeout_s: 20,
      train: { source: [{ name: "source", env: { id: "reverse-text" } }] },
    },
  });
}

function shapeOf({ rng }: World): Shape {
  return {
    level: rng.integer(3),
    steps: 3 + rng.integer(4),
    servers: 1 + rng.integer(2),
    groupSize: rng.pick([2, 4]),
    interval: 1 + rng.integer(3),
  };
}
