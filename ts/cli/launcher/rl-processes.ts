/** The RL stage: inference servers, env workers, trainer and orchestrator, from their start to the end of training. */
import { availableParallelism } from "node:os";

import type { RlConfig } from "../../config/index.ts";
import type { ChildSpec } from "./child-process.ts";
import { rlChildConfigs, writeConfig } from "./child-configs.ts";
import { COMPONENT as ENV_WORKER, EnvWorkerFleet } from "./env-worker-fleet.ts";
import { ATTEMPT } from "./run-directory.ts";
import { selfCommand } from "./self-command.ts";
import type { Supervisor } from "./supervisor.ts";

/** Loading a large model takes a while; a process that is not there after this long will not come. */
export const READY_DEADLINE_MS = 180_000;

/** Where a run is and what it runs on. */
export interface RunBase {
  runId: string;
  runDir: string;
  logs: string;
  modelDir: string;
}

/** Processes whose command has another name. */
const COMMAND_OF: Readonly<Record<string, string>> = { [ENV_WORKER]: "env-server" };

/** How `prl <component>` is started as a process of the run. */
export function childSpec(
  base: Pick<RunBase, "runDir" | "logs">,
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
    String(ATTEMPT),
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
  const configs = rlChildConfigs(config, base.runId, base.modelDir);
  const paths = {
    inference: await writeConfig(base.runDir, "inference", configs.inference),
    "env-worker": await writeConfig(base.runDir, "env-worker", configs["env-worker"]),
    trainer: await writeConfig(base.runDir, "trainer", configs.trainer),
    orchestrator: await writeConfig(base.runDir, "orchestrator", configs.orchestrator),
  };
  const start = (component: keyof typeof paths, count: number, finishes: boolean) =>
    Array.from({ length: count }, (_, index) =>
      supervisor.start(childSpec(base, component, index, paths[component], finishes)),
    );
  const trainers = start("trainer", 1, true);
  const servers = start("inference", config.inference.replicas, false);
  const { env_workers: least, max_env_workers: most, rollouts_per_env_worker: rolloutsPerWorker } = config.orchestrator;
  const fleet = new EnvWorkerFleet(supervisor, {
    runDir: base.runDir,
    least,
    most: most ?? Math.max(least, availableParallelism()),
    rolloutsPerWorker,
    spec: (index) => childSpec(base, ENV_WORKER, index, paths[ENV_WORKER], false),
    note,
  });
  try {
    const workers = fleet.start();
    const orchestrators = start("orchestrator", 1, true);
    await supervisor.ready([...trainers, ...servers, ...workers], READY_DEADLINE_MS);
    onReady();
    await Promise.all([...trainers, ...orchestrators].map((child) => supervisor.finished(child)));
  } finally {
    fleet.stop();
  }
}
