/** Runs the RL stage: inference servers, env workers, trainer and orchestrator, from their start to the end of training. */
import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";

import { allRolloutsElsewhere, type RlConfig, type SftConfig } from "../../config/index.ts";
import type { ChildSpec } from "./child-process.ts";
import { rlChildConfigs, type RunStart, writeConfig } from "./child-configs.ts";
import { samplesElsewhere } from "./cores.ts";
import { Fleet, FLEET_TIMES, type FleetOptions, type FleetTimes, type Restart } from "./fleet.ts";
import { runKeyVariables } from "./run-key.ts";
import { gpuTurnPath } from "../../transports/index.ts";
import { makeSocketFolder } from "../../files/socket-folder.ts";
import { selfCommand } from "../../self-command.ts";
import { RestartBudget } from "./restarts/restart-budget.ts";
import { type LostProcess, runStateHolders } from "./state-holders.ts";
import { type Supervisor, SUPERVISOR_TIMES } from "./supervisor.ts";
import { takeOver } from "./take-over.ts";

/** Loading a large model takes a while; a process that is not ready after this long will not become ready. */
const READY_DEADLINE_MS = SUPERVISOR_TIMES.startMs;
/** A vLLM that is late reports it itself, with its last words, before the launcher does. */
const OWN_REPORT_MS = 30_000;

/** The attempt of a run that a process belongs to. */
export interface RunAttempt {
  readonly runId: string;
  readonly runDir: string;
  readonly logs: string;
  readonly attempt: number;
}

/** The attempt, and the state that its processes begin with. */
export interface RunBase extends RunAttempt, RunStart {
  /** An environment of the run requires sandboxes. */
  readonly needsSandboxes: boolean;
}

const INFERENCE = "inference";
const ENV_WORKER = "env-worker";
const SANDBOXD = "sandboxd";
const SANDBOX_SOCKET = "sandboxd.sock";
/** Processes without the run's state: they stay when trainer and orchestrator are started again. */
export const REPLACEABLE_COMPONENTS = [INFERENCE, ENV_WORKER, SANDBOXD] as const;

/** The environment of processes that run code of environments or programs. They need no key of the run: a rollout brings that of its server. */
const WITHOUT_KEYS = { PRL_TRANSPORT_TOKEN: undefined, PRL_ENV_WORKER_TOKEN: undefined };
/** Commands of processes whose command has another name. */
const COMMAND_OF: Readonly<Record<string, string>> = { [ENV_WORKER]: "env-server" };

/**
 * Options of Node for a component. Objects of thousands of rollouts survive the young collections of the orchestrator: with half of Node's
 * young generation each collection takes half as long, and all together take no longer.
 */
export const NODE_OPTIONS_OF: Readonly<Record<string, readonly string[]>> = {
  orchestrator: ["--max-semi-space-size=8"],
};

/** One process of a run. */
export interface RunProcess {
  component: string;
  index: number;
  configPath: string;
  /** It ends by itself when its work is done. */
  finishes: boolean;
  /** As in `ChildSpec`. */
  checkpoints?: boolean;
}

/** How `prl <component>` is started as a process of the run. */
export function childSpec(
  run: Pick<RunAttempt, "runDir" | "logs" | "attempt">,
  { component, index, configPath, finishes, checkpoints = false }: RunProcess,
): ChildSpec {
  const self = selfCommand();
  const place = ["--run-dir", run.runDir, "--index", String(index), "--attempt", String(run.attempt)];
  const args = ["--config", configPath, ...place];
  return {
    component,
    index,
    command: self.command,
    args: [...(NODE_OPTIONS_OF[component] ?? []), ...self.args, COMMAND_OF[component] ?? component, ...args],
    logs: run.logs,
    finishes,
    checkpoints,
  };
}

export interface RlProcessEvents {
  onReady: () => void;
  note: (message: string) => void;
  onRestart: (restart: Restart) => void;
  /** Goes back to the newest checkpoint when trainer or orchestrator is lost and nothing can take its place. */
  goBack: (lost: LostProcess) => Promise<RlRun>;
}

/** In a supervised run with evaluations: the process that learns in place of the trainer, and its versions that are evaluated. */
export interface EvaluatedLearner {
  process: ChildSpec;
  versions: number[];
}

/** The processes of a run, before they are started. */
export interface RlRun {
  config: RlConfig;
  base: RunBase;
  learner?: EvaluatedLearner;
}

/** Starts everything at once, waits until it is ready, then until trainer and orchestrator are done. */
export async function runRlProcesses(supervisor: Supervisor, run: RlRun, events: RlProcessEvents): Promise<void> {
  const { config } = run;
  // Processes that are started later belong to the attempt of then.
  let { base } = run;
  // The run directory's path may be too long for a socket, so sockets get a temporary folder.
  const socketDir =
    base.needsSandboxes && config.sandbox.addresses.length === 0
      ? await makeSocketFolder("prl-run-", SANDBOX_SOCKET)
      : null;
  const socket = socketDir === null ? null : join(socketDir, SANDBOX_SOCKET);
  // Until the orchestrator gives a turn, neither trainer nor servers take the GPU that they share.
  await rm(gpuTurnPath(base.runDir), { force: true });
  const paths = await writeConfigs(run, socket);
  const env = await runKeyVariables(config);
  const fleets = fleetSizes(config, socket !== null).map((size) => {
    const spec = (index: number): ChildSpec => ({
      ...childSpec(base, { component: size.component, index, configPath: paths[size.component], finishes: false }),
      env: size.component === INFERENCE ? env : WITHOUT_KEYS,
    });
    const { note, onRestart } = events;
    return new Fleet(supervisor, {
      runDir: base.runDir,
      ...size,
      spec,
      note,
      onRestart,
      times: fleetTimes(config, size),
    });
  });
  try {
    const replaceable = fleets.flatMap((fleet) => fleet.start());
    let current = { run, specs: stateHolders(run, paths, env) };
    let wasReady = false;
    await runStateHolders(supervisor, current.specs, {
      runDir: base.runDir,
      takeOver: async (lost, others) => {
        const spec = await takeOver(current.run, current.specs, { lost, others, wasReady, note: events.note });
        const { component, index, exit, losses } = lost;
        if (spec !== null) events.onRestart({ component, index, exit, deaths: losses });
        return spec;
      },
      budget: restartBudget(config.deployment),
      ready: async ([trainer]) => {
        const all = trainer === undefined ? replaceable : [trainer, ...replaceable];
        await supervisor.ready(all, readyMs(config));
      },
      onReady: () => {
        wasReady = true;
        events.onReady();
      },
      goBack: async (lost) => {
        wasReady = false;
        const next = await events.goBack(lost);
        base = next.base;
        current = { run: next, specs: stateHolders(next, await writeConfigs(next, socket), env) };
        return current.specs;
      },
    });
  } finally {
    for (const fleet of fleets) fleet.stop();
    if (socketDir !== null) await rm(socketDir, { recursive: true, force: true });
  }
}

/** The learner, which is the trainer of most runs, and the orchestrator. */
function stateHolders(
  { base, learner }: RlRun,
  paths: ConfigPaths,
  env: Readonly<Record<string, string>>,
): ChildSpec[] {
  const part = (component: "trainer" | "orchestrator") =>
    childSpec(base, {
      component,
      index: 0,
      configPath: paths[component],
      finishes: true,
      // Beside a learner the orchestrator evaluates, and holds no state.
      checkpoints: learner === undefined,
    });
  return [learner?.process ?? part("trainer"), part("orchestrator")].map((spec) => ({ ...spec, env }));
}

/** The budget that a config sets. */
export function restartBudget({
  max_restarts: most,
  restart_window_s: seconds,
}: SftConfig["deployment"]): RestartBudget {
  return new RestartBudget({ most, windowMs: seconds * 1000 });
}

type Replaceable = (typeof REPLACEABLE_COMPONENTS)[number];
type ConfigPaths = Record<Replaceable | "trainer" | "orchestrator", string>;

/** Writes the config of each process; returns their paths. */
async function writeConfigs({ config, base, learner }: RlRun, socket: string | null): Promise<ConfigPaths> {
  const configs = rlChildConfigs(config, base, socket);
  const orchestrator = { ...configs.orchestrator, evaluate_only: learner?.versions ?? null };
  return {
    [INFERENCE]: await writeConfig(base.runDir, INFERENCE, configs.inference),
    [ENV_WORKER]: await writeConfig(base.runDir, ENV_WORKER, configs[ENV_WORKER]),
    [SANDBOXD]: await writeConfig(base.runDir, SANDBOXD, configs[SANDBOXD]),
    trainer: learner === undefined ? await writeConfig(base.runDir, "trainer", configs.trainer) : "",
    orchestrator: await writeConfig(base.runDir, "orchestrator", orchestrator),
  };
}

type FleetSize = Pick<FleetOptions, "least" | "most" | "rolloutsPerWorker"> & { component: Replaceable };

/** How many processes there are of each kind that is started again when one dies. */
function fleetSizes(config: RlConfig, hasSandboxDaemon: boolean): FleetSize[] {
  const { env_workers: least, max_env_workers: most, rollouts_per_env_worker: perWorker } = config.orchestrator;
  const { replicas } = config.inference;
  const fixed = (component: Replaceable, count: number): FleetSize => ({
    component,
    least: count,
    most: count,
    rolloutsPerWorker: Infinity,
  });
  return [
    ...(samplesElsewhere(config) ? [] : [fixed(INFERENCE, replicas)]),
    ...(allRolloutsElsewhere(config.orchestrator.remote_env_workers)
      ? []
      : [
          {
            component: ENV_WORKER as Replaceable,
            least,
            most: most ?? Math.max(least, availableParallelism()),
            rolloutsPerWorker: perWorker,
          },
        ]),
    ...(hasSandboxDaemon ? [fixed(SANDBOXD, 1)] : []),
  ];
}

/** How long a vLLM of the run may take to start; 0 without one. */
function vllmStartMs({ inference: { backend, vllm } }: RlConfig): number {
  return backend === "vllm" ? vllm.start_timeout_s * 1000 + OWN_REPORT_MS : 0;
}

/** How long everything may take to start; servers that share their GPU with the trainer start after it. */
function readyMs(config: RlConfig): number {
  const servers = Math.max(READY_DEADLINE_MS, vllmStartMs(config));
  return config.deployment.type === "colocated" ? READY_DEADLINE_MS + servers : servers;
}

/** A vLLM that ends before it could answer has died early, however long its start takes. */
function fleetTimes(config: RlConfig, { component }: FleetSize): FleetTimes {
  const startMs = component === INFERENCE ? vllmStartMs(config) : 0;
  return { ...FLEET_TIMES, longLifeMs: Math.max(FLEET_TIMES.longLifeMs, startMs) };
}
