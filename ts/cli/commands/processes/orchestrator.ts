/** `prl orchestrator`: the orchestrator of a run, as a process. */

import { readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import {
  allRolloutsElsewhere,
  allSources,
  batchRanks,
  type ChildConfigs,
  readChildConfig,
  loadedRank,
} from "../../../config/index.ts";
import { workerIdentity } from "../../../environments/records.ts";
import { releaseLock, takeLock } from "../../../files/run-lock.ts";
import { VLLM_KEY } from "../../../inference/internal.ts";
import { apiKeyFrom } from "../../../inference-client/index.ts";
import { flopModel } from "../../../native/index.ts";
import type { Metrics } from "../../../monitors/index.ts";
import {
  connectEnvWorkers,
  EngineDirectory,
  EngineFleet,
  followEnvWorkers,
  type LoggedLines,
  NO_LINES,
  type OrchestratorSnapshot,
  readLoggedLines,
  readOrchestratorState,
  readSnapshot,
  remoteEnvWorkers,
  runEvaluations,
  runOrchestrator,
} from "../../../orchestrator/index.ts";
import { openOrchestratorTransports, orchestratorStop } from "../../../transports/index.ts";
import { BENCH_OPTION, isBench } from "../../bench/option.ts";
import { CHILD_OPTIONS, type ChildInput, openChildMetrics, untilStopped } from "../../processes/child.ts";
import { beginTurns } from "../../processes/gpu-turns.ts";
import { readyTrainer, REPLACED_WITHIN_MS, someEnvWorkers, vllmStartMs } from "../../processes/ready-processes.ts";
import { eitherWay, partInput, RESUMABLE_USAGE, STANDALONE_DETAILS } from "../../processes/standalone.ts";
import { type Command, type CommandIo } from "../../command.ts";

const COMPONENT = "orchestrator";

type Input = ChildInput<ChildConfigs["orchestrator"]>;

export const command: Command = {
  name: COMPONENT,
  summary: "Schedule the rollouts of a run, turn them into batches, bring new weights to the engines",
  usage:
    `orchestrator ${RESUMABLE_USAGE}\n       prl orchestrator --config <file.json> --run-dir <dir>\n` +
    "       prl orchestrator --bench [<steps>] <file.toml>... [--key value]...",
  details:
    STANDALONE_DETAILS +
    "With --resume, given to trainer and orchestrator, it continues the run in that directory, as prl rl --resume does.\n" +
    "`prl rl` starts it with --config. Waits for the ready files of the inference servers, env workers and the trainer in <run-dir>/run.\n" +
    "The config file holds what the launcher writes to <run>/configs/orchestrator.json.",
  options: [...eitherWay(CHILD_OPTIONS), BENCH_OPTION],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  if (isBench(args)) return (await import("../../bench/orchestrator.ts")).benchOrchestrator(args, io);
  const input = await partInput({ component: COMPONENT }, args, io, (path) => readChildConfig(COMPONENT, path));
  const { config, runDir, attempt, member } = input;
  const { monitors } = config;
  const taken = await takenOver(input);
  const startStep = taken.snapshot?.state.step ?? config.start_step;
  // Under a launcher, the launcher holds the run directory.
  const standalone = member.supervised ? null : await import("../../../launcher/index.ts");
  if (standalone !== null) await takeLock(runDir);
  const metrics = await openChildMetrics(COMPONENT, input, { monitors, portOffset: 0, startStep, log: io.stderr });
  try {
    const work = (signal: AbortSignal) => orchestrate(input, taken, metrics, signal);
    if (standalone === null) return await untilStopped(io, () => work(io.signal));
    const alone = { config, runDir, attempt, startStep, signal: io.signal };
    return await untilStopped(io, () => standalone.throughItsEnd(alone, work));
  } finally {
    if (standalone !== null) await releaseLock(runDir);
  }
}

/** Waits for the other processes, connects to them and does the run. */
async function orchestrate(input: Input, taken: TakenOver, metrics: Metrics, signal: AbortSignal): Promise<void> {
  const parts = await connect(input, taken, metrics, signal);
  const { directory, servers, replicas, engines, workers, rollouts, weights } = parts;
  const ended = new AbortController();
  try {
    await input.member.ready();
    const running = AbortSignal.any([signal, ended.signal]);
    const following = Promise.all([
      followEnvWorkers(input.runDir, workers, running),
      servers === null
        ? directory.follow(input.runDir, replicas, engines, running)
        : directory.followRunning(servers, engines, metrics, running),
    ]).catch((error: unknown) => ended.abort(error));
    await doRun(input, parts, { ...taken, metrics }, running);
    ended.abort();
    await following;
  } finally {
    ended.abort();
    await Promise.allSettled([workers.close(), rollouts.close(), weights.close(), directory.close()]);
    metrics.close();
  }
}

type Parts = Awaited<ReturnType<typeof connect>>;

/** Connects to inference servers, env workers and trainer as soon as they are ready. */
async function connect(input: Input, { snapshot }: TakenOver, metrics: Metrics, signal: AbortSignal) {
  const { config, runDir, attempt } = input;
  const { client, canary, max_inflight: mostRollouts } = config.orchestrator;
  const isOwn = client.base_url.length === 0;
  const replicas = isOwn ? config.inference.replicas : 0;
  const adapter = loadedRank(config) === null ? null : modelNameOf(config);
  const directory = new EngineDirectory(client.api, apiKeyFrom(client.api_key_var, VLLM_KEY).apiKey, adapter);
  const turns = await beginTurns(input, { directory, committed: snapshot?.state.step ?? null, metrics, signal });
  const trainer = await readyTrainer(input, replicas, signal);
  // A vLLM that is started again may take longer than the patience with servers of other kinds.
  const patienceMs = Math.max(client.patience_s * 1000, isOwn ? vllmStartMs(config.inference) : 0);
  const servers = isOwn ? null : await directory.running(client.base_url, patienceMs, signal);
  const engines = new EngineFleet(servers?.placed ?? (await directory.ready(runDir, replicas)), {
    maxMeanAbs: canary.max_mean_abs,
    metrics,
    times: { swapMs: client.swap_timeout_s * 1000, patienceMs },
    ...(turns !== null && { turns: { engines: replicas, level: config.deployment.sleep_level } }),
  });
  const { remote_env_workers: elsewhere } = config.orchestrator;
  const sources = allSources(config.orchestrator);
  const remote =
    elsewhere.connect.length === 0
      ? []
      : await remoteEnvWorkers(elsewhere, await workerIdentity({ ...config, sources }), { env: process.env, signal });
  const workers = connectEnvWorkers(
    allRolloutsElsewhere(elsewhere) ? [] : await someEnvWorkers(runDir, signal),
    // A group larger than the limit runs, too.
    { connections: 2 * mostRollouts, replacedWithinMs: REPLACED_WITHIN_MS, remote },
  );
  const place = { runDir, runId: config.run_id, attempt };
  const transports = openOrchestratorTransports(place, config, trainer ?? {});
  return { directory, servers, replicas, engines, turns, workers, ...transports };
}

/** The state that an earlier process of the attempt has left; a process that the launcher started takes it over. */
interface TakenOver {
  snapshot: OrchestratorSnapshot | null;
  logged: LoggedLines;
}

async function takenOver({ config, runDir, attempt, member }: Input): Promise<TakenOver> {
  const isAlone = !member.supervised || config.evaluate_only !== null;
  const snapshot = isAlone ? null : await readSnapshot({ runDir, run: config.run_id, attempt });
  const mayHaveLogged = snapshot !== null || (!isAlone && config.orchestrator.eval !== null);
  return { snapshot, logged: mayHaveLogged ? await readLoggedLines(runDir, attempt) : NO_LINES };
}

/** The name by which requests ask for the policy. */
function modelNameOf({ inference, model_dir: dir }: Input["config"]): string {
  return inference.model?.name ?? basename(dir);
}

/** Trains to the end, or evaluates the versions of a supervised run. */
async function doRun(
  input: Input,
  parts: Parts,
  { snapshot, logged, metrics }: TakenOver & { metrics: Metrics },
  signal: AbortSignal,
): Promise<void> {
  const { config, runDir, attempt } = input;
  const { engines, turns, workers, rollouts, weights } = parts;
  const shared = { runDir, config, engines, workers, weights, metrics, signal, modelName: modelNameOf(config) };
  if (config.evaluate_only !== null) return runEvaluations({ ...shared, attempt, versions: config.evaluate_only });
  const cost = flopModel(await readFile(join(config.model_dir, "config.json"), "utf8"));
  return runOrchestrator({
    ...shared,
    modelDir: config.model_dir,
    resume: config.resume_from === null ? null : await readOrchestratorState(config.resume_from),
    snapshot,
    snapshots: input.member.supervised,
    logged,
    checkpoints: { root: config.checkpoints, run: config.run_id, attempt, rules: config.ckpt },
    stop: orchestratorStop(runDir, { attempt }, input.member.endAsked),
    rollouts,
    turns,
    trainRanks: { ranks: batchRanks(config.trainer), cost },
  });
}
