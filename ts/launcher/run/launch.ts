/**
 * Runs a whole run: from a resolved config to a summary.
 *
 * Errors before this run holds the run directory (it exists, the model is missing from the config, ...) reject; after that a failure or an
 * interruption is written to `summary.json` and returned with it.
 */
import { join } from "node:path";

import { evaluationRun, type RlConfig, type SftConfig } from "../../config/index.ts";
import type { RunEvent } from "../../monitors/index.ts";
import { evaluatedVersions } from "../../trainer/supervised.ts";
import { type BaseModel, ensureBaseModel } from "../models/base-model.ts";
import { resolveModelDirs, tokenizerDirs } from "../models/model-dirs.ts";
import { claimCores } from "../processes/core-claims.ts";
import { raisedFileLimitWarning } from "../processes/file-limit.ts";
import { type PreparedRl, type PrepareOptions, prepareRl, prepareSft } from "./prepare.ts";
import { checkpointRoot, clearLaterSteps, type ResumedRun } from "./resume-run.ts";
import {
  restartBudget,
  type RlProcessEvents,
  type RlRun,
  type RunAttempt,
  runRlProcesses,
} from "../processes/rl-processes.ts";
import { logRules } from "../processes/log-rotation.ts";
import { type LostProcess, runStateHolders } from "../processes/state-holders.ts";
import { type BegunRun, Recovery } from "./recovery.ts";
import { type RunDirectory, whileHeld } from "./run-directory.ts";
import { RunSession, type SessionOptions } from "./run-session.ts";
import { runStage, untilInterrupted } from "./stage.ts";
import type { RunSummary } from "./summary.ts";
import { ensureWarmStart, sftProcess } from "../processes/warm-start.ts";
import { newestJoined } from "../../transports/index.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { forbidCoreDumps } from "../../native/index.ts";

/** Aborting `signal` interrupts the run; a string as its reason is named in the error. */
export interface LaunchOptions extends Omit<PrepareOptions, "hold" | "onDownload"> {
  /** Aborting it as well kills the processes that still are stopping. */
  hurry?: AbortSignal;
  onEvent?: (event: RunEvent) => void;
}

/** A finished run: its summary, and the error that ended it early. */
export interface RunEnd {
  summary: RunSummary;
  error: unknown;
}

/** Runs reinforcement learning to its end. */
export async function launchRl(given: RlConfig, options: LaunchOptions = {}): Promise<RunEnd> {
  // The claim comes before threads are counted.
  const claim = await claimCores(given.deployment.num_cores);
  try {
    return await launchRlOnCores(given, options);
  } finally {
    await claim.release();
  }
}

async function launchRlOnCores(given: RlConfig, options: LaunchOptions): Promise<RunEnd> {
  const prepared = await prepareRl(given, { ...options, ...atOnce(options) });
  const { config, warmStart } = prepared;
  const evaluationSources = (config.orchestrator.eval?.source ?? []).map((source) => source.name);
  const sftSteps = warmStart?.max_steps ?? null;
  const disk = stayingOnDisk(config, prepared.directory);
  const kind = { maxSteps: config.max_steps, sftSteps, supervised: false, evaluationSources, disk };
  return launch(prepared, kind, options, async (session, model, begun, recovery) => {
    const dirs = await resolveModelDirs(config, {
      model,
      isNew: begun.resume === null,
      warmStart: warmStart === null ? null : () => warmUp(session, warmStart, model, begun),
    });
    // A checkpoint has the weights; besides them it needs the model as it is named, as `resolveModelDirs` has it.
    const runFrom = (base: BegunRun): RlRun => ({
      config,
      base: { ...base, ...dirs, ...(base.resume !== null && { modelDir: model.dir }) },
    });
    session.enter("starting");
    await runStage(session.stage, async (supervisor) => {
      const onReady = () => session.enter("training");
      const goBack = async (lost: LostProcess) => runFrom(await recovery.goBack(lost));
      await runRlProcesses(supervisor, runFrom(begun), { ...eventsOf(session), onReady, goBack });
      session.enter("stopping");
    });
  });
}

function stayingOnDisk(config: RlConfig, { path, name }: RunDirectory): NonNullable<SessionOptions["disk"]> {
  const { interval, keep_last: newest, keep_interval: forGood, path: elsewhere } = config.ckpt;
  const every = newest === null ? interval : forGood;
  return {
    keptBatches: config.rollout_transport.keep,
    // A folder for the checkpoints of all runs may be on another disk.
    checkpoints:
      every === null || elsewhere !== null ? null : { root: checkpointRoot(config, path, name), interval: every },
  };
}

/** The folder of the warm start, from the cache or trained now. */
async function warmUp(session: RunSession, config: SftConfig, model: BaseModel, run: RunAttempt): Promise<string> {
  session.enter("warm start");
  const stage = { ...session.stage, ...eventsOf(session) };
  const { path, hit, damage } = await ensureWarmStart(config, model, run, stage);
  noteDamage(session, damage, "warm start");
  session.note(`Warm start: ${hit ? "taken from the cache," : "trained,"} ${path}`);
  return path;
}

/** Runs supervised fine-tuning to its end; the checkpoint is `model/` in the run directory. */
export async function launchSft(given: SftConfig, options: LaunchOptions = {}): Promise<RunEnd> {
  const prepared = await prepareSft(given, { ...options, ...atOnce(options) });
  const { config, directory } = prepared;
  const evaluated = evaluationRun(config);
  const evaluationSources = (evaluated?.orchestrator.eval?.source ?? []).map((source) => source.name);
  const kind = { maxSteps: null, sftSteps: config.max_steps, supervised: true, evaluationSources };
  return launch(prepared, kind, options, async (session, model, begun, recovery) => {
    session.enter("training");
    const outDir = join(directory.path, "model");
    const processFrom = ({ checkpoints, resume, ...run }: BegunRun) => {
      makeFolder(outDir, directory.path);
      return sftProcess(config, run, {
        modelDir: model.dir,
        outDir,
        checkpoints,
        resume,
        isEvaluated: evaluated !== null,
      });
    };
    const runFrom = async (from: BegunRun, evaluations: RlConfig): Promise<RlRun> => {
      const process = await processFrom(from);
      const versions = await evaluatedVersions(config, from.resume?.step ?? 0, from.runDir);
      const base = { ...from, ...tokenizerDirs(model), resume: null };
      return { config: evaluations, base, learner: { process, versions } };
    };
    await runStage(session.stage, async (supervisor) => {
      const onReady = () => session.enter("training");
      if (evaluated === null) {
        await runStateHolders(supervisor, [await processFrom(begun)], {
          runDir: begun.runDir,
          budget: restartBudget(config.deployment),
          onReady,
          goBack: async (lost) => [await processFrom(await recovery.goBack(lost))],
        });
      } else {
        const goBack = async (lost: LostProcess) => runFrom(await recovery.goBack(lost), evaluated);
        await runRlProcesses(supervisor, await runFrom(begun, evaluated), { ...eventsOf(session), onReady, goBack });
      }
    });
    session.note(`Trained model: ${outDir}`);
  });
}

/** The options of a preparation that the run follows at once. */
function atOnce({ onEvent }: LaunchOptions): Pick<PrepareOptions, "hold" | "onDownload"> {
  return { hold: true, onDownload: (progress) => onEvent?.({ type: "download", ...progress }) };
}

function eventsOf(session: RunSession): Pick<RlProcessEvents, "note" | "onRestart"> {
  return {
    note: (message) => session.note(message),
    onRestart: (restart) => session.restarted(restart),
  };
}

/** The beginning and end of every run: its session, its base model, the checkpoint that it continues from. */
async function launch(
  prepared: Omit<PreparedRl, "config" | "warmStart"> & { config: AnyConfig },
  kind: Omit<SessionKind, "startStep" | "silenceMs">,
  options: LaunchOptions,
  body: (session: RunSession, model: BaseModel, begun: BegunRun, recovery: Recovery) => Promise<void>,
): Promise<RunEnd> {
  const { config, directory, needsSandboxes, resumed, warnings, notes = [] } = prepared;
  const checkpoints = checkpointRoot(config, directory.path, directory.name);
  const resume = resumed?.checkpoint ?? null;
  const session = await whileHeld(directory.path, async () => {
    if (resumed !== null) await clearLaterSteps(directory.path, checkpoints, resume?.step ?? 0);
    const silenceMs = config.deployment.silence_timeout_s * 1000 || Infinity;
    return openSession(directory, { ...kind, startStep: resume?.step ?? 0, silenceMs }, config, options);
  });
  return endWith(session, async () => {
    session.enter("base model");
    for (const warning of warnings) session.note(`Warning: ${warning}`);
    for (const note of notes) session.note(note);
    await warnOfFileLimit(session);
    if (process.env["PRL_DEBUG"] !== "1") await forbidCoreDumps();
    const model = await untilInterrupted(session.stage.signal, ensureBaseModel(config.model.name, config.seed));
    noteDamage(session, model.damage, "base model");
    session.note(`Base model: ${ORIGIN[model.origin]} ${model.dir}`);
    if (resumed !== null) noteResumed(session, resumed);
    const begun = {
      runId: resumed?.runId ?? directory.name,
      runDir: directory.path,
      logs: session.logs,
      attempt: directory.attempt,
      checkpoints,
      resume,
      needsSandboxes,
    };
    const recovery = new Recovery({ kind: kind.supervised ? "sft" : "rl", config, session }, begun);
    try {
      await body(session, model, begun, recovery);
    } finally {
      await recovery.settled();
    }
  });
}

type AnyConfig = Pick<RlConfig, "ckpt" | "model" | "seed" | "monitors" | "output_dir" | "log"> &
  Pick<SftConfig, "deployment">;

const ORIGIN = {
  given: "the weights in",
  built: "random weights, built in",
  cached: "random weights, from the cache in",
} as const;

/** Where the launcher of a run answers Prometheus; null: nowhere. */
export function launcherPrometheusPort({ monitors }: Pick<AnyConfig, "monitors">): number | null {
  return monitors.prometheus === null ? null : monitors.prometheus.port + 2;
}

function noteResumed(session: RunSession, { checkpoint, attempt, changed }: ResumedRun): void {
  for (const { step, reason } of checkpoint?.skipped ?? [])
    session.note(`Warning: checkpoint ${step} is passed over: ${reason}`);
  const from =
    checkpoint === null
      ? "from step 0, because the run has no whole checkpoint yet"
      : `from the checkpoint of step ${checkpoint.step}`;
  session.note(`Resumed: run ${session.directory.name}, ${from}, attempt ${attempt}`);
  if (changed.length > 0) session.note(`Changed since the last attempt: ${changed.join(", ")}`);
}

function noteDamage(session: RunSession, damage: string | null, what: string): void {
  if (damage !== null) session.note(`Warning: the ${what} in the cache was damaged (${damage}): it was made again`);
}

async function warnOfFileLimit(session: RunSession): Promise<void> {
  const warning = await raisedFileLimitWarning();
  if (warning !== null) session.note(`Warning: ${warning}`);
}

type SessionKind = Pick<
  SessionOptions,
  "startStep" | "maxSteps" | "sftSteps" | "supervised" | "evaluationSources" | "silenceMs" | "disk"
>;

async function openSession(
  directory: RunDirectory,
  kind: SessionKind,
  config: AnyConfig,
  options: LaunchOptions,
): Promise<RunSession> {
  return RunSession.open({
    ...kind,
    prometheusPort: launcherPrometheusPort(config),
    lastCheckpoint: {
      seconds: config.ckpt.stop_deadline_s,
      newest: () => newestJoined(checkpointRoot(config, directory.path, directory.name)),
    },
    logRules: logRules(config.log),
    directory,
    signal: options.signal ?? new AbortController().signal,
    hurry: options.hurry ?? new AbortController().signal,
    onEvent: options.onEvent ?? (() => undefined),
  });
}

/** Does the work of a run and writes its summary, whatever comes of it. */
export async function endWith(session: RunSession, body: () => Promise<void>): Promise<RunEnd> {
  let error: unknown;
  try {
    await body();
  } catch (cause) {
    error = cause ?? new Error("the run failed without a reason");
  }
  const reason = await session.blame(error);
  return { summary: await session.finish(reason), error: reason };
}
