/** The RL stage: inference servers, env workers, trainer and orchestrator, from their start to the end of training. */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";

import type { RlConfig } from "../../config/index.ts";
import type { ChildSpec } from "./child-process.ts";
import { rlChildConfigs, writeConfig } from "./child-configs.ts";
import { Fleet } from "./fleet.ts";
import { selfCommand } from "./self-command.ts";
import type { Supervisor } from "./supervisor.ts";

/** Loading a large model takes a while; a process that is not there after this long will not come. */
export const READY_DEADLINE_MS = 180_000;

/** Where a run is and what it runs on. */
export interface RunBase {
  runId: string;
  runDir: string;
  logs: string;
  attempt: number;
  /** The model that the run began with: its tokenizer and its architecture. */
  modelDir: string;
  /** Where checkpoints go. */
  checkpoints: string;
  /** The checkpoint to go on from; null for a new run. */
  resume: { step: number; dir: string } | null;
  /** An environment of the run requires them. */
  needsSandboxes: boolean;
}

const ENV_WORKER = "env-worker";
const SANDBOXD = "sandboxd";

/** Processes whose command has another name. */
const COMMAND_OF: Readonly<Record<string, string>> = { [ENV_WORKER]: "env-server" };

/** How `prl <component>` is started as a process of the run. */
export function childSpec(
  base: Pick<RunBase, "runDir" | "logs" | "attempt">,
  component: string,
  index: number,
  configPath: string,
  finishes: boolean,
): ChildSpec {
  const self = selfCommand();
  const args = [
    "--config",
    configPath,
    "--run-dir",
    base.runDir,
    "--index",
    String(index),
    "--attempt",
    String(base.attempt),
  ];
  return {
    component,
    index,
    command: self.command,
    args: [...self.args, COMMAND_OF[component] ?? component, ...args],
    logs: base.logs,
    finishes,
  };
}

/** Starts everything at once, waits until it is ready, then until trainer and orchestrator are done. */
export async function runRlProcesses(
  supervisor: Supervisor,
  config: RlConfig,
  base: RunBase,
  { onReady, note }: { onReady: () => void; note: (message: string) => void },
): Promise<void> {
  // The run directory's path may be too long for a socket.
  const socketDir = base.needsSandboxes && config.sandbox.addresses.length === 0 ? await newSocketDir() : null;
  const socket = socketDir === null ? null : join(socketDir, "sandboxd.sock");
  const configs = rlChildConfigs(config, base, socket);
  const paths = {
    inference: await writeConfig(base.runDir, "inference", configs.inference),
    [ENV_WORKER]: await writeConfig(base.runDir, ENV_WORKER, configs[ENV_WORKER]),
    [SANDBOXD]: await writeConfig(base.runDir, SANDBOXD, configs[SANDBOXD]),
    trainer: await writeConfig(base.runDir, "trainer", configs.trainer),
    orchestrator: await writeConfig(base.runDir, "orchestrator", configs.orchestrator),
  };
  const start = (component: keyof typeof paths, count: number, finishes: boolean) =>
    Array.from({ length: count }, (_, index) =>
      supervisor.start(childSpec(base, component, index, paths[component], finishes)),
    );
  const fleetOf = (component: keyof typeof paths, least: number, most: number, rolloutsPerWorker: number): Fleet => {
    const spec = (index: number): ChildSpec => childSpec(base, component, index, paths[component], false);
    return new Fleet(supervisor, { runDir: base.runDir, component, least, most, rolloutsPerWorker, spec, note });
  };
  const { env_workers: least, max_env_workers: most, rollouts_per_env_worker: perWorker } = config.orchestrator;
  const fleets = [
    fleetOf(ENV_WORKER, least, most ?? Math.max(least, availableParallelism()), perWorker),
    ...(socket === null ? [] : [fleetOf(SANDBOXD, 1, 1, Infinity)]),
  ];
  try {
    const trainers = start("trainer", 1, true);
    const servers = start("inference", config.inference.replicas, false);
    const replaceable = fleets.flatMap((fleet) => fleet.start());
    const orchestrators = start("orchestrator", 1, true);
    await supervisor.ready([...trainers, ...servers, ...replaceable], READY_DEADLINE_MS);
    onReady();
    await Promise.all([...trainers, ...orchestrators].map((child) => supervisor.finished(child)));
  } finally {
    for (const fleet of fleets) fleet.stop();
    if (socketDir !== null) await rm(socketDir, { recursive: true, force: true });
  }
}

function newSocketDir(): Promise<string> {
  return mkdtemp(join(tmpdir(), "prl-run-"));
}
