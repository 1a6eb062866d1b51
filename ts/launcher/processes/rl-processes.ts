/** Runs the RL stage: inference servers, env workers, trainer and orchestrator, from their start to the end of training. */
import { mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";

import type { RlConfig } from "../../config/index.ts";
import type { ChildSpec } from "./child-process.ts";
import { rlChildConfigs, writeConfig } from "./child-configs.ts";
import { samplesElsewhere } from "./cores.ts";
import { Fleet, type Restart } from "./fleet.ts";
import { selfCommand } from "../../self-command.ts";
import { type Supervisor, SUPERVISOR_TIMES } from "./supervisor.ts";

/** Loading a large model takes a while; a process that is not ready after this long will not become ready. */
const READY_DEADLINE_MS = SUPERVISOR_TIMES.startMs;

/** The folders of a run, and its state at the start. */
export interface RunBase {
  runId: string;
  runDir: string;
  logs: string;
  attempt: number;
  /** The model that the run began with: its tokenizer and its architecture. */
  modelDir: string;
  /** Digest of the weights under the model's name. */
  baseWeights: string;
  /** The model that a KL term of the loss pulls towards; null: none. */
  referenceDir: string | null;
  /** Folder of the checkpoints. */
  checkpoints: string;
  /** The checkpoint to continue from; null for a new run. */
  resume: { step: number; dir: string } | null;
  /** An environment of the run requires sandboxes. */
  needsSandboxes: boolean;
}

const INFERENCE = "inference";
const ENV_WORKER = "env-worker";
const SANDBOXD = "sandboxd";

/** Commands of processes whose command has another name. */
const COMMAND_OF: Readonly<Record<string, string>> = { [ENV_WORKER]: "env-server" };

/**
 * Options of Node for a component. Objects of thousands of rollouts survive the young collections of the orchestrator: with half of Node's
 * young generation each collection takes half as long, and all together take no longer.
 */
export const NODE_OPTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  orchestrator: ["--max-semi-space-size=8"],
};

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
    args: [...(NODE_OPTIONS_OF[component] ?? []), ...self.args, COMMAND_OF[component] ?? component, ...args],
    logs: base.logs,
    finishes,
  };
}

/** Trainer and orchestrator hold the run's state, so they cannot be replaced while the run goes on. */
const RESUME_ADVICE = "go on with --resume, from the newest checkpoint, or from step 0 when there is none yet";

export interface RlProcessEvents {
  onReady: () => void;
  note: (message: string) => void;
  onRestart: (restart: Restart) => void;
}

/** In a supervised run with evaluations: the process that learns in place of the trainer, and its versions that are evaluated. */
export interface EvaluatedLearner {
  process: ChildSpec;
  versions: number[];
}

/** Starts everything at once, waits until it is ready, then until trainer and orchestrator are done. */
export async function runRlProcesses(
  supervisor: Supervisor,
  config: RlConfig,
  base: RunBase,
  { onReady, note, onRestart }: RlProcessEvents,
  learner?: EvaluatedLearner,
): Promise<void> {
  // The run directory's path may be too long for a socket, so sockets get a temporary folder.
  const socketDir = base.needsSandboxes && config.sandbox.addresses.length === 0 ? await newSocketDir() : null;
  const socket = socketDir === null ? null : join(socketDir, "sandboxd.sock");
  const configs = rlChildConfigs(config, base, socket);
  const paths = {
    [INFERENCE]: await writeConfig(base.runDir, INFERENCE, configs.inference),
    [ENV_WORKER]: await writeConfig(base.runDir, ENV_WORKER, configs[ENV_WORKER]),
    [SANDBOXD]: await writeConfig(base.runDir, SANDBOXD, configs[SANDBOXD]),
    trainer: learner === undefined ? await writeConfig(base.runDir, "trainer", configs.trainer) : "",
    orchestrator: await writeConfig(base.runDir, "orchestrator", {
      ...configs.orchestrator,
      evaluate_only: learner?.versions ?? null,
    }),
  };
  const start = (component: "trainer" | "orchestrator") => {
    const spec = childSpec(base, component, 0, paths[component], true);
    return supervisor.start({ ...spec, advice: RESUME_ADVICE });
  };
  const fleetOf = (component: keyof typeof paths, least: number, most: number, rolloutsPerWorker: number): Fleet => {
    const spec = (index: number): ChildSpec => childSpec(base, component, index, paths[component], false);
    const { runDir } = base;
    return new Fleet(supervisor, { runDir, component, least, most, rolloutsPerWorker, spec, note, onRestart });
  };
  const { env_workers: least, max_env_workers: most, rollouts_per_env_worker: perWorker } = config.orchestrator;
  const { replicas } = config.inference;
  const fleets = [
    ...(samplesElsewhere(config) ? [] : [fleetOf(INFERENCE, replicas, replicas, Infinity)]),
    fleetOf(ENV_WORKER, least, most ?? Math.max(least, availableParallelism()), perWorker),
    ...(socket === null ? [] : [fleetOf(SANDBOXD, 1, 1, Infinity)]),
  ];
  try {
    const trainer =
      learner === undefined ? start("trainer") : supervisor.start({ ...learner.process, advice: RESUME_ADVICE });
    const replaceable = fleets.flatMap((fleet) => fleet.start());
    const orchestrator = start("orchestrator");
    await supervisor.ready([trainer, ...replaceable], READY_DEADLINE_MS);
    onReady();
    await Promise.all([trainer, orchestrator].map((child) => supervisor.finished(child)));
  } finally {
    for (const fleet of fleets) fleet.stop();
    if (socketDir !== null) await rm(socketDir, { recursive: true, force: true });
  }
}

function newSocketDir(): Promise<string> {
  return mkdtemp(join(tmpdir(), "prl-run-"));
}
