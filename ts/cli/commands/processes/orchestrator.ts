/** `prl orchestrator`: the orchestrator of a run, as a process. */

import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { PrlError } from "../../../errors.ts";
import { processStart, releaseLock, takeLock } from "../../../files/run-lock.ts";
import { isMissing } from "../../../files/file-presence.ts";
import { flopModel } from "../../../native/index.ts";
import { joinRun, type ReadyFile, readyFilePath } from "../../../monitors/index.ts";
import {
  connectEnvWorkers,
  EngineDirectory,
  EngineFleet,
  followEnvWorkers,
  readOrchestratorState,
  readyEnvWorkers,
  runEvaluations,
  runOrchestrator,
} from "../../../orchestrator/index.ts";
import { openOrchestratorTransports } from "../../../transports/index.ts";
import { BENCH_OPTION, isBench } from "../../bench/option.ts";
import { asStartedByLauncher, BY_HAND_DETAILS, eitherWay, RESUMABLE_USAGE } from "../../processes/standalone.ts";
import {
  CHILD_OPTIONS,
  openChildMetrics,
  parseChildOptions,
  readChildConfig,
  untilStopped,
} from "../../processes/child.ts";
import { type Command, type CommandIo } from "../../command.ts";
import type { OrchestratorChildConfig } from "../../../launcher/index.ts";

const COMPONENT = "orchestrator";
const READY_DEADLINE_MS = 300_000;
/** A trainer that was started without the launcher trains the warm start first. */
const WARM_START_DEADLINE_MS = 2 * 3_600_000;
const READY_POLL_MS = 20;
/** The launcher starts another env worker for one that died; this covers its longest pause and the start. */
const REPLACED_WITHIN_MS = 60_000;

export const command: Command = {
  name: COMPONENT,
  summary: "Schedule the rollouts of a run, turn them into batches, bring new weights to the engines",
  usage:
    `orchestrator ${RESUMABLE_USAGE}\n       prl orchestrator --config <file.json> --run-dir <dir>\n` +
    "       prl orchestrator --bench [<steps>] <file.toml>... [--key value]...",
  details:
    BY_HAND_DETAILS +
    "With --resume, given to trainer and orchestrator, it continues the run in that directory, as prl rl --resume does.\n" +
    "`prl rl` starts it with --config. Waits for the ready files of the inference servers, env workers and the trainer in <run-dir>/run.\n" +
    "The config file holds what the launcher writes to <run>/configs/orchestrator.json.",
  options: [...eitherWay(CHILD_OPTIONS), BENCH_OPTION],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  if (isBench(args)) return (await import("../../bench/orchestrator.ts")).benchOrchestrator(args, io);
  const { configPath, runDir, index, attempt } = parseChildOptions(
    COMPONENT,
    await asStartedByLauncher(COMPONENT, args, io),
    io.cwd,
  );
  const member = joinRun({ component: COMPONENT, index, runDir });
  const config = await readChildConfig<OrchestratorChildConfig>(configPath);
  const { monitors, start_step: startStep } = config;
  // Under a launcher, the launcher holds the run directory.
  const standalone = member.supervised ? null : await import("../../../launcher/index.ts");
  if (standalone !== null) await takeLock(runDir);
  const metrics = await openChildMetrics(
    COMPONENT,
    { runDir, attempt },
    { monitors, portOffset: 0, startStep, log: io.stderr },
  );
  const work = async (signal: AbortSignal) => {
    const warmsUp = standalone !== null && config.warm_start !== null;
    // Without a launcher an earlier trainer may have left its ready file, whose process is gone; with --resume the file was removed.
    const isThere = async ({ pid }: ReadyFile) =>
      standalone === null || startStep > 0 || (await processStart(pid)) !== null;
    const ready = (component: string, count: number, deadlineMs = READY_DEADLINE_MS) =>
      Promise.all(
        Array.from({ length: count }, (_, i) =>
          waitUntilReady({ runDir, component, index: i, deadlineMs, signal, isThere }),
        ),
      );
    const { client } = config.orchestrator;
    const isOwn = client.base_url.length === 0;
    const replicas = isOwn ? config.inference.replicas : 0;
    const [, , trainers] = await Promise.all([
      ready("inference", replicas),
      ready("env-worker", config.orchestrator.env_workers),
      ready(
        config.evaluate_only === null ? "trainer" : "sft",
        saysWhereTheTrainerIs(config) ? 0 : 1,
        warmsUp ? WARM_START_DEADLINE_MS : READY_DEADLINE_MS,
      ),
    ]);
    const modelName = config.inference.model?.name ?? basename(config.model_dir);
    const cost = flopModel(await readFile(join(config.model_dir, "config.json"), "utf8"));
    const directory = new EngineDirectory(client.api);
    const servers = isOwn ? null : await directory.running(client.base_url, client.patience_s * 1000, signal);
    const engines = new EngineFleet(servers?.placed ?? (await directory.ready(runDir, replicas)), {
      maxMeanAbs: config.orchestrator.canary.max_mean_abs,
      metrics,
      times: { swapMs: client.swap_timeout_s * 1000, patienceMs: client.patience_s * 1000 },
    });
    const workers = connectEnvWorkers(
      await someEnvWorkers(runDir, signal),
      // A group larger than the limit runs, too.
      { connections: 2 * config.orchestrator.max_inflight, replacedWithinMs: REPLACED_WITHIN_MS },
    );
    const ended = new AbortController();
    const { rollouts, weights } = openOrchestratorTransports(
      { runDir, runId: config.run_id, attempt },
      config,
      trainers[0] ?? {},
    );
    try {
      await member.ready();
      const running = AbortSignal.any([signal, ended.signal]);
      const following = Promise.all([
        followEnvWorkers(runDir, workers, running),
        servers === null
          ? directory.follow(runDir, replicas, engines, running)
          : directory.followRunning(servers, engines, metrics, running),
      ]).catch((error: unknown) => ended.abort(error));
      const shared = { runDir, config, engines, workers, weights, metrics, signal: running, modelName };
      if (config.evaluate_only !== null) await runEvaluations({ ...shared, versions: config.evaluate_only });
      else
        await runOrchestrator({
          ...shared,
          modelDir: config.model_dir,
          resume: config.resume_from === null ? null : await readOrchestratorState(config.resume_from),
          checkpoints: { root: config.checkpoints, run: config.run_id, attempt, rules: config.ckpt },
          rollouts,
          trainRanks: { ranks: 1, cost },
        });
      ended.abort();
      await following;
    } finally {
      ended.abort();
      await Promise.allSettled([workers.close(), rollouts.close(), weights.close(), directory.close()]);
      metrics.close();
    }
  };
  try {
    if (standalone === null) return await untilStopped(io, () => work(io.signal));
    const standaloneRun = { config, runDir, runId: config.run_id, attempt, startStep, signal: io.signal };
    return await untilStopped(io, () => standalone.throughItsEnd(standaloneRun, work));
  } finally {
    if (standalone !== null) await releaseLock(runDir);
  }
}

/** Whether the trainer may be on another machine, where its ready file is. */
function saysWhereTheTrainerIs({ rollout_transport: batches, weight_broadcast: broadcast }: OrchestratorChildConfig) {
  return [batches, broadcast].every(({ type, connect }) => type === "grpc" && connect !== null);
}

/** Waits for at least one: those that were ready may have died since, and the launcher starts others. */
async function someEnvWorkers(runDir: string, signal: AbortSignal) {
  const end = Date.now() + REPLACED_WITHIN_MS;
  for (;;) {
    const found = await readyEnvWorkers(runDir);
    if (found.length > 0 || Date.now() > end) return found;
    await sleep(READY_POLL_MS, undefined, { signal });
  }
}

interface AwaitedProcess {
  runDir: string;
  component: string;
  index: number;
  deadlineMs: number;
  signal: AbortSignal;
  /** Whether the process that wrote the file still exists. */
  isThere: (file: ReadyFile) => Promise<boolean>;
}

async function waitUntilReady({
  runDir,
  component,
  index,
  deadlineMs,
  signal,
  isThere,
}: AwaitedProcess): Promise<ReadyFile> {
  const path = readyFilePath(runDir, component, index);
  const end = Date.now() + deadlineMs;
  for (;;) {
    try {
      const file = JSON.parse(await readFile(path, "utf8")) as ReadyFile;
      if (await isThere(file)) return file;
    } catch (error) {
      if (!isMissing(error)) throw error;
    }
    if (Date.now() > end) {
      const seconds = deadlineMs / 1000;
      throw new PrlError(
        "PRL_PROCESS_NOT_READY",
        `${component}-${index} was not ready within ${seconds} s: see its log in logs/`,
      );
    }
    await sleep(READY_POLL_MS, undefined, { signal });
  }
}
