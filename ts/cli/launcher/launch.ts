/**
 * Whole runs: from a resolved config to a summary.
 *
 * Errors before the run directory is ours (it exists, the model is missing from the config, ...) reject; from then on a failure or an
 * interruption is written to `summary.json` and returned with it.
 */
import { mkdir, stat } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";

import {
  evaluationRun,
  loadConfig,
  placeOf,
  type Provenance,
  referenceOf,
  type RlConfig,
  type SftConfig,
  START_REFERENCE,
} from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import type { RunEvent } from "../../monitors/index.ts";
import { type BaseModel, checkModel, ensureBaseModel } from "./base-model.ts";
import { evaluatedVersions } from "../../trainer/index.ts";
import {
  checkEvaluations,
  checkRlEnvironments,
  checkSftEnvironments,
  type EnvironmentRecord,
} from "./check-environments.ts";
import { writeConfig } from "./child-configs.ts";
import { claimCores } from "./core-claims.ts";
import { withThreads } from "./cores.ts";
import { deploymentNote } from "./deployment.ts";
import { raisedFileLimitWarning } from "./file-limit.ts";
import {
  checkpointRoot,
  clearLaterSteps,
  findResumedRun,
  newestRun,
  type ResumedRun,
  type ResumeRequest,
} from "./resume-run.ts";
import { type RlProcessEvents, type RunBase, runRlProcesses } from "./rl-processes.ts";
import { prepareRunDirectory, type RunDirectory, whileHeld } from "./run-directory.ts";
import { assertUnlocked, takeLock } from "./run-lock.ts";
import { RunSession, type SessionOptions } from "./run-session.ts";
import { runStage, untilAborted } from "./stage.ts";
import type { RunSummary } from "./summary.ts";
import { ensureWarmStart, runSftProcess, sftProcess } from "./warm-start.ts";

export interface LaunchOptions {
  /** Aborting it interrupts the run; a string as its reason is named in the error. */
  signal?: AbortSignal;
  /** Aborting it too kills the processes that still are stopping. */
  hurry?: AbortSignal;
  onEvent?: (event: RunEvent) => void;
  /** Where the config's values came from, for messages. */
  provenance?: Provenance | undefined;
  /** Go on with an earlier run. */
  resume?: ResumeRequest | undefined;
}

/** What checking a run before it starts needs of these. */
export type PrepareOptions = Pick<LaunchOptions, "signal" | "provenance" | "resume"> & {
  /** The run follows at once: the directory is its own from now on. */
  hold?: boolean;
};

/** A finished run: its summary, and the error that ended it early. */
export interface RunEnd {
  summary: RunSummary;
  error: unknown;
}

/** A run that may start: named, with a directory of its own. */
export interface PreparedRl {
  config: RlConfig;
  /** The resolved warm start, if there is one. */
  warmStart: SftConfig | null;
  directory: RunDirectory;
  /** An environment of the run requires sandboxes. */
  needsSandboxes: boolean;
  /** What it goes on from. */
  resumed: ResumedRun | null;
}

/**
 * Checks and names the run, makes its directory and writes the resolved config to `configs/rl.json` and which
 * environments these are to `configs/environments.json`: all that `--dry-run` does.
 */
export async function prepareRl(config: RlConfig, options: PrepareOptions = {}): Promise<PreparedRl> {
  const { provenance } = options;
  if (config.trainer.data.fake !== null) {
    const advice = "leave it out, or give the config to prl trainer --bench";
    const place = placeOf(["trainer", "data", "fake"], provenance);
    throw new PrlError("PRL_CONFIG_INVALID", `${place}: a run trains on what it samples: ${advice}`);
  }
  const { warmStart, environments } = await interruptible(options, async () => {
    const sources = await checkRlEnvironments(config, provenance);
    await checkModel(config.model.name, provenance);
    const reference = referenceOf(config.trainer.loss);
    if (reference !== null && reference !== START_REFERENCE) {
      await checkModel(reference, provenance, ["trainer", "loss", "reference"]);
    }
    const warm = config.warm_start === null ? null : await warmStartConfig(config, config.warm_start.sft);
    return { warmStart: warm?.config ?? null, environments: [...sources, ...(warm?.environment ?? [])] };
  });
  const threaded = withThreads(config);
  const names = config.orchestrator.train.source.map((source) => source.name);
  const { directory, resumed } = await directoryOf("rl", threaded, names, options);
  const resolved = { ...threaded, run: { ...config.run, name: directory.name } };
  await whileHeld(directory.path, async () => {
    await writeConfig(directory.path, "rl", resolved);
    await writeConfig(directory.path, "environments", environments);
    if (warmStart !== null) await writeConfig(directory.path, "warm-start", warmStart);
  });
  const needsSandboxes = environments.some(({ sandbox }) => sandbox);
  return { config: resolved, warmStart, directory, needsSandboxes, resumed };
}

/** What naming a run, and finding the one that is resumed, needs of its config. */
type NamedConfig = Pick<RlConfig, "run" | "output_dir" | "model" | "clean" | "ckpt">;

/** The run's directory: a new one, or with `resume` that of the run that is meant. */
async function directoryOf(
  kind: "rl" | "sft",
  config: NamedConfig,
  environments: readonly string[],
  { resume, hold = false }: PrepareOptions,
): Promise<{ directory: RunDirectory; resumed: ResumedRun | null }> {
  const { output_dir: outputDir, clean } = config;
  if (resume === undefined) {
    const place = { name: config.run.name, outputDir, environments, model: config.model.name, clean, hold };
    return { directory: await prepareRunDirectory(place), resumed: null };
  }
  if (clean) throw new PrlError("PRL_CLI_USAGE", "--resume goes on with what --clean would delete: give one of them");
  const name = config.run.name ?? (await newestRun(config, environments));
  const path = resolve(outputDir, name);
  await assertUnlocked(path);
  // Where there is no run there is nothing to lock.
  const isThere = await stat(join(path, "configs")).then(
    () => true,
    () => false,
  );
  const isHeld = hold && isThere;
  if (isHeld) await takeLock(path);
  return whileHeld(path, async () => {
    const resumed = await findResumedRun(kind, config, path, name, resume);
    return { directory: { name, path, attempt: resumed.attempt, isHeld }, resumed };
  });
}

/** A supervised run that may start. */
export interface PreparedSft {
  config: SftConfig;
  directory: RunDirectory;
  /** An environment that it is evaluated on requires sandboxes. */
  needsSandboxes: boolean;
  /** What it goes on from. */
  resumed: ResumedRun | null;
}

/** The same for `prl sft`: `configs/sft-run.json`. */
export async function prepareSft(config: SftConfig, options: PrepareOptions = {}): Promise<PreparedSft> {
  const { provenance } = options;
  const environments = await interruptible(options, async () => {
    const sources = await checkSftEnvironments(config, provenance);
    const evaluated = evaluationRun(config);
    if (evaluated !== null) sources.push(...(await checkEvaluations(["eval"], evaluated, provenance)));
    await checkModel(config.model.name, provenance);
    return sources;
  });
  const { directory, resumed } = await directoryOf("sft", config, ["sft"], options);
  const named = { ...config, run: { ...config.run, name: directory.name } };
  await whileHeld(directory.path, async () => {
    await writeConfig(directory.path, "sft-run", named);
    await writeConfig(directory.path, "environments", environments);
  });
  const needsSandboxes = environments.some(({ sandbox }) => sandbox);
  return { config: named, directory, resumed, needsSandboxes };
}

/** Runs reinforcement learning to its end. */
export async function launchRl(given: RlConfig, options: LaunchOptions = {}): Promise<RunEnd> {
  // Before threads are counted.
  const claim = await claimCores(given.deployment.num_cores);
  try {
    return await launchRlOnCores(given, options);
  } finally {
    await claim.release();
  }
}

async function launchRlOnCores(given: RlConfig, options: LaunchOptions): Promise<RunEnd> {
  const prepared = await prepareRl(given, { ...options, hold: true });
  const { config, warmStart, resumed } = prepared;
  const evaluationSources = (config.orchestrator.eval?.source ?? []).map((source) => source.name);
  const sftSteps = warmStart?.max_steps ?? null;
  const kind = { maxSteps: config.max_steps, sftSteps, supervised: false, evaluationSources };
  return launch(prepared, kind, options, async (session, model, base) => {
    const unused = deploymentNote(config);
    if (unused !== null) session.note(`Warning: ${unused}`);
    const reference = referenceOf(config.trainer.loss);
    if (warmStart !== null && (resumed === null || reference === START_REFERENCE)) {
      session.enter("warm start");
      const { path, hit, damage } = await ensureWarmStart(warmStart, model, { ...base, resume: null }, session.stage);
      noteDamage(session, damage, "warm start");
      session.note(`Warm start: ${hit ? "taken from the cache," : "trained,"} ${path}`);
      if (resumed === null) base.modelDir = path;
      base.referenceDir = path;
    }
    if (reference === null) base.referenceDir = null;
    else if (reference !== START_REFERENCE) base.referenceDir = (await ensureBaseModel(reference, config.seed)).dir;
    session.enter("starting");
    await runStage(session.stage, async (supervisor) => {
      await runRlProcesses(supervisor, config, base, {
        ...eventsOf(session),
        onReady: () => session.enter("training"),
      });
      session.enter("stopping");
    });
  });
}

/** Runs supervised fine-tuning to its end; the checkpoint is `model/` in the run directory. */
export async function launchSft(given: SftConfig, options: LaunchOptions = {}): Promise<RunEnd> {
  const prepared = await prepareSft(given, { ...options, hold: true });
  const { config, directory } = prepared;
  const evaluated = evaluationRun(config);
  const evaluationSources = (evaluated?.orchestrator.eval?.source ?? []).map((source) => source.name);
  const kind = { maxSteps: null, sftSteps: config.max_steps, supervised: true, evaluationSources };
  return launch(prepared, kind, options, async (session, _model, base) => {
    session.enter("training");
    const outDir = join(directory.path, "model");
    await mkdir(outDir, { recursive: true });
    const places = { outDir, checkpoints: base.checkpoints };
    if (evaluated === null) await runSftProcess(config, base, places, session.stage);
    else {
      const process = await sftProcess(config, base, { ...places, isEvaluated: true });
      const versions = await evaluatedVersions(config, base.resume?.step ?? 0, base.runDir);
      const learner = { process, versions };
      await runStage(session.stage, (supervisor) =>
        runRlProcesses(supervisor, evaluated, { ...base, resume: null }, eventsOf(session), learner),
      );
    }
    session.note(`Trained model: ${outDir}`);
  });
}

function eventsOf(session: RunSession): RlProcessEvents {
  return {
    onReady: () => undefined,
    note: (message) => session.note(message),
    onRestart: (restart) => session.restarted(restart),
  };
}

/** What every run begins and ends with: its session, its base model, the checkpoint that it goes on from. */
async function launch(
  { config, directory, needsSandboxes, resumed }: Omit<PreparedRl, "config" | "warmStart"> & { config: AnyConfig },
  kind: Omit<SessionKind, "startStep">,
  options: LaunchOptions,
  body: (session: RunSession, model: BaseModel, base: RunBase) => Promise<void>,
): Promise<RunEnd> {
  const checkpoints = checkpointRoot(config, directory.path, directory.name);
  const resume = resumed?.checkpoint ?? null;
  const session = await whileHeld(directory.path, async () => {
    if (resume !== null) await clearLaterSteps(directory.path, checkpoints, resume.step);
    const port = config.monitors.prometheus?.port ?? null;
    const launcherPort = port === null ? null : port + 2;
    return openSession(directory, { ...kind, startStep: resume?.step ?? 0 }, launcherPort, options);
  });
  return endWith(session, async () => {
    session.enter("base model");
    await warnOfFileLimit(session);
    const model = await untilAborted(session.stage.signal, ensureBaseModel(config.model.name, config.seed));
    noteDamage(session, model.damage, "base model");
    session.note(`Base model: ${ORIGIN[model.origin]} ${model.dir}`);
    if (resumed !== null) noteResumed(session, resumed);
    await body(session, model, {
      runId: directory.name,
      runDir: directory.path,
      logs: session.logs,
      attempt: directory.attempt,
      modelDir: model.dir,
      referenceDir: model.dir,
      checkpoints,
      resume,
      needsSandboxes,
    });
  });
}

type AnyConfig = Pick<RlConfig, "ckpt" | "model" | "seed" | "monitors">;

/** Checks import modules of the user, which may take for ever. */
function interruptible<T>({ signal }: PrepareOptions, checks: () => Promise<T>): Promise<T> {
  return signal === undefined ? checks() : untilAborted(signal, checks());
}

const ORIGIN = {
  given: "the weights in",
  built: "random weights, built in",
  cached: "random weights, from the cache in",
} as const;

/** The stage's own file, with the model and the seed of the run; environment keys are meant for the run's config, not for this one. */
async function warmStartConfig(
  config: RlConfig,
  file: string,
): Promise<{ config: SftConfig; environment: EnvironmentRecord[] }> {
  const overrides = { model: config.model, seed: config.seed };
  const { config: sft, provenance } = await loadConfig([file], overrides, { kind: "sft", env: {} });
  const environment = await checkSftEnvironments(sft, provenance);
  return {
    config: { ...sft, threads: sft.threads ?? availableParallelism() },
    environment,
  };
}

function noteResumed(session: RunSession, { checkpoint, attempt, changed }: ResumedRun): void {
  for (const { step, reason } of checkpoint.skipped)
    session.note(`Warning: checkpoint ${step} is passed over: ${reason}`);
  session.note(
    `Resumed: run ${session.directory.name}, from the checkpoint of step ${checkpoint.step}, attempt ${attempt}`,
  );
  if (changed.length > 0) session.note(`Changed since the last attempt: ${changed.join(", ")}`);
}

function noteDamage(session: RunSession, damage: string | null, what: string): void {
  if (damage !== null) session.note(`Warning: the ${what} in the cache was damaged (${damage}): it was made again`);
}

async function warnOfFileLimit(session: RunSession): Promise<void> {
  const warning = await raisedFileLimitWarning();
  if (warning !== null) session.note(`Warning: ${warning}`);
}

type SessionKind = Pick<SessionOptions, "startStep" | "maxSteps" | "sftSteps" | "supervised" | "evaluationSources">;

async function openSession(
  directory: RunDirectory,
  kind: SessionKind,
  prometheusPort: number | null,
  options: LaunchOptions,
): Promise<RunSession> {
  return RunSession.open({
    ...kind,
    prometheusPort,
    directory,
    signal: options.signal ?? new AbortController().signal,
    hurry: options.hurry ?? new AbortController().signal,
    onEvent: options.onEvent ?? (() => undefined),
  });
}

async function endWith(session: RunSession, body: () => Promise<void>): Promise<RunEnd> {
  let error: unknown;
  try {
    await body();
  } catch (cause) {
    error = cause ?? new Error("the run failed without a reason");
  }
  return { summary: await session.finish(error), error };
}
