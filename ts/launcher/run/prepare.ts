/**
 * Prepares a run: checks its config and its environments, gives it its name and its directory, and for `--resume` finds the checkpoint to
 * continue from. Nothing is started here, and an error leaves nothing behind except `configs/`.
 */
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
import { messageOf, PrlError } from "../../errors.ts";
import { visibleGpus } from "../../inference/internal.ts";
import { isThere } from "../../files/file-presence.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { assertSameData, readSftPosition } from "../../trainer/supervised.ts";
import { refuseCheckpoints } from "../../transports/index.ts";
import type { DownloadProgress, PullOptions } from "../../models/index.ts";
import { samplesElsewhere } from "../processes/cores.ts";
import { checkModel } from "../models/base-model.ts";
import { checkGpuCount } from "../checks/gpu-count.ts";
import { checkInferenceBackend } from "../checks/inference-backend.ts";
import { checkGpuShare } from "../checks/gpu-share.ts";
import { checkInferenceHost } from "../checks/check-inference-host.ts";
import {
  checkEvaluations,
  checkRlEnvironments,
  checkSftEnvironments,
  type EnvironmentRecord,
} from "../checks/check-environments.ts";
import { writeConfig } from "../processes/child-configs.ts";
import { withThreads } from "../processes/cores.ts";
import { withInterpreter } from "../checks/trainer-backend.ts";
import { checkServerParallel } from "../checks/server-parallel.ts";
import { checkTrainerParallel } from "../checks/trainer-parallel.ts";
import {
  assertSameReference,
  checkpointRoot,
  findResumedRun,
  newestRun,
  type ResumedRun,
  type ResumeRequest,
} from "./resume-run.ts";
import { lockEnvironments } from "./run-environments.ts";
import { prepareRunDirectory, type RunDirectory, whileHeld } from "./run-directory.ts";
import { assertUnlocked, takeLock } from "../../files/run-lock.ts";
import { checkListeners } from "../checks/listen-check.ts";
import { checkRemoteEnvWorkers, refuseListen } from "../checks/remote-env-workers.ts";
import { checkRouter } from "../checks/router.ts";
import { checkEngineMemory, rlWarnings, sftWarnings } from "../checks/start-checks.ts";
import { untilInterrupted } from "./stage.ts";

/** How a run is checked before it starts. */
export interface PrepareOptions {
  /** Aborting it ends the checks. */
  signal?: AbortSignal;
  /** Where the config's values came from, for messages. */
  provenance?: Provenance | undefined;
  /** Continue an earlier run. */
  resume?: ResumeRequest | undefined;
  /** The run follows at once, so it takes the lock of its directory now, and its models are downloaded. */
  hold?: boolean;
  /** Called while a model is downloaded. */
  onDownload?: (progress: DownloadProgress) => void;
}

/** A run that may start: it has a name and a directory. */
export interface PreparedRl {
  config: RlConfig;
  /** The resolved warm start, if there is one. */
  warmStart: SftConfig | null;
  directory: RunDirectory;
  /** An environment of the run requires sandboxes. */
  needsSandboxes: boolean;
  /** The state that it goes on from. */
  resumed: ResumedRun | null;
  /** Warnings about values that are allowed and most likely not meant. */
  warnings: string[];
  /** The values that were worked out, in words. */
  notes?: string[];
}

/**
 * Checks and names the run, makes its directory and writes the resolved config to `configs/rl.json` and which
 * environments these are to `configs/environments.json` and `configs/environments.lock`: all that `--dry-run` does.
 */
export async function prepareRl(config: RlConfig, options: PrepareOptions = {}): Promise<PreparedRl> {
  const { provenance } = options;
  if (config.trainer.data.fake !== null) {
    const advice = "leave it out, or give the config to prl trainer --bench";
    const place = placeOf(["trainer", "data", "fake"], provenance);
    throw new PrlError("PRL_CONFIG_INVALID", `${place}: a run trains on what it samples: ${advice}`);
  }
  refuseListen(config, provenance);
  await checkInferenceHost(config, provenance);
  const code = { provenance, signal: options.signal };
  const { warmStart, environments, absent } = await interruptible(options, async () => {
    const sources = await checkRlEnvironments(config, code);
    const trains = config.trainer.backend === "engine";
    const serves = config.inference.backend === "engine" && !samplesElsewhere(config);
    const engine = [...(trains ? (["train"] as const) : []), ...(serves ? (["serve"] as const) : [])];
    const check = { provenance, pull: pullOf(options), engine };
    const model = await checkModel(config.model.name, check);
    const reference = referenceOf(config.trainer.loss);
    const isOther = reference !== null && reference !== START_REFERENCE;
    const other = isOther ? await checkModel(reference, { ...check, key: ["trainer", "loss", "reference"] }) : null;
    const models = [config.model.name, ...(isOther ? [reference] : [])];
    await checkTrainerParallel({ trainer: config.trainer, models }, ["trainer"], provenance);
    if (!samplesElsewhere(config)) {
      await checkServerParallel({ inference: config.inference, model: config.model.name }, provenance);
    }
    const warm =
      config.warm_start === null ? null : await warmStartConfig(config, config.warm_start.sft, options.signal);
    if (model === null) {
      await checkEngineMemory(config, provenance);
      await checkRouter(config, provenance);
    }
    await checkListeners(config, provenance);
    makePlaces(config, provenance);
    // A check alone asks no other machine.
    if (options.hold === true) await checkRemoteEnvWorkers(config, code);
    return {
      warmStart: warm?.config ?? null,
      environments: [...sources, ...(warm?.environment ?? [])],
      absent: [model, other].filter((text) => text !== null),
    };
  });
  const trainer = await withInterpreter(config.trainer, ["trainer"], provenance);
  const { inference: found, onGpus, warning } = await checkInferenceBackend(config, provenance);
  // A check alone may be made on another machine than the one that the run gets.
  if (options.hold === true) {
    const gpus = { onGpus, visible: await visibleGpus(process.env) };
    await checkGpuCount({ ...config, trainer, inference: found }, gpus, provenance);
  }
  const sharing = { onGpus, provenance, signal: options.signal };
  const { inference, note } = await checkGpuShare({ ...config, inference: found }, sharing);
  const threaded = withThreads({ ...config, trainer, inference }, onGpus);
  const names = config.orchestrator.train.source.map((source) => source.name);
  const { directory, resumed } = await directoryOf("rl", threaded, names, options);
  const resolved = { ...threaded, run: { ...config.run, name: directory.name } };
  await whileHeld(directory.path, async () => {
    const checkpoint = resumed?.checkpoint ?? null;
    if (checkpoint !== null) await interruptible(options, () => assertSameReference(config, checkpoint));
    await lockEnvironments(directory.path, environments, resumed !== null);
    await writeConfig(directory.path, "rl", resolved);
    await writeConfig(directory.path, "environments", environments);
    if (warmStart !== null) await writeConfig(directory.path, "warm-start", warmStart);
  });
  const needsSandboxes = environments.some(({ sandbox }) => sandbox);
  const warnings = [...absent, ...rlWarnings(config, provenance), ...(warning === null ? [] : [warning])];
  const notes = note === null ? [] : [note];
  return { config: resolved, warmStart, directory, needsSandboxes, resumed, warnings, notes };
}

/** The part of the config that names a run and finds the one to resume. */
type NamedConfig = Pick<RlConfig, "run" | "output_dir" | "model" | "clean" | "ckpt">;

/** The run's directory: a new one, or with `resume` that of the earlier run. */
async function directoryOf(
  kind: "rl" | "sft",
  config: NamedConfig,
  environments: readonly string[],
  options: PrepareOptions,
): Promise<{ directory: RunDirectory; resumed: ResumedRun | null }> {
  const { resume, hold = false } = options;
  const { output_dir: outputDir, clean } = config;
  if (resume === undefined) {
    const place = { name: config.run.name, outputDir, environments, model: config.model.name, clean, hold };
    const directory = await prepareRunDirectory(place);
    const { path, name } = directory;
    if (config.ckpt.path !== null) await whileHeld(path, () => refuseCheckpoints(checkpointRoot(config, path, name)));
    return { directory, resumed: null };
  }
  if (clean) throw new PrlError("PRL_CLI_USAGE", "--resume goes on with what --clean would delete: give one of them");
  const name = config.run.name ?? (await newestRun(config, environments));
  const path = resolve(outputDir, name);
  await assertUnlocked(path);
  // A directory without a run is not locked.
  const isHeld = hold && (await isThere(join(path, "configs")));
  if (isHeld) await takeLock(path);
  return whileHeld(path, async () => {
    const resumed = await interruptible(options, () => findResumedRun(kind, config, path, resume));
    return { directory: { name, path, attempt: resumed.attempt, isHeld }, resumed };
  });
}

/** A supervised run that may start. */
export interface PreparedSft {
  config: SftConfig;
  directory: RunDirectory;
  /** An environment that it is evaluated on requires sandboxes. */
  needsSandboxes: boolean;
  /** The state that it goes on from. */
  resumed: ResumedRun | null;
  /** Warnings about values that are allowed and most likely not meant. */
  warnings: string[];
}

/** The same for `prl sft`: `configs/sft-run.json`. */
export async function prepareSft(config: SftConfig, options: PrepareOptions = {}): Promise<PreparedSft> {
  const { provenance } = options;
  const code = { provenance, signal: options.signal };
  const { environments, noted } = await interruptible(options, async () => {
    const sources = await checkSftEnvironments(config, code);
    const evaluated = evaluationRun(config);
    const remarks: (string | null)[] = [];
    if (evaluated !== null) {
      remarks.push((await checkInferenceBackend(evaluated, provenance)).warning);
      sources.push(...(await checkEvaluations(["eval"], evaluated, code)));
    }
    const model = await checkModel(config.model.name, {
      provenance,
      pull: pullOf(options),
      engine: config.backend === "engine" ? ["train"] : [],
    });
    await checkTrainerParallel({ trainer: config, models: [config.model.name] }, [], provenance);
    if (evaluated !== null) {
      if (model === null) await checkEngineMemory(evaluated, provenance, ["eval"]);
      await checkListeners(evaluated, provenance);
    }
    makePlaces(config, provenance);
    return { environments: sources, noted: [model, ...remarks].filter((text) => text !== null) };
  });
  const ready = await withInterpreter(config, [], provenance);
  const { directory, resumed } = await directoryOf("sft", ready, ["sft"], options);
  const named = { ...ready, run: { ...config.run, name: directory.name } };
  await whileHeld(directory.path, async () => {
    const checkpoint = resumed?.checkpoint ?? null;
    if (checkpoint !== null) {
      const { signal = new AbortController().signal } = options;
      const position = await readSftPosition(join(checkpoint.dir, "trainer"));
      await untilInterrupted(signal, assertSameData(named, position, signal));
    }
    await lockEnvironments(directory.path, environments, resumed !== null);
    await writeConfig(directory.path, "sft-run", named);
    await writeConfig(directory.path, "environments", environments);
  });
  const needsSandboxes = environments.some(({ sandbox }) => sandbox);
  const warnings = [...noted, ...sftWarnings(config, provenance)];
  return { config: named, directory, resumed, needsSandboxes, warnings };
}

/** Makes the folders that the config names when they are missing. */
function makePlaces({ ckpt, monitors }: Pick<RlConfig, "ckpt" | "monitors">, provenance: Provenance | undefined): void {
  const places = [
    { key: ["ckpt", "path"], path: ckpt.path },
    { key: ["monitors", "tensorboard", "path"], path: monitors.tensorboard?.path ?? null },
  ];
  for (const { key, path } of places) {
    try {
      if (path !== null) makeFolder(path);
    } catch (cause) {
      const text = messageOf(cause);
      throw new PrlError("PRL_CONFIG_INVALID", `${placeOf(key, provenance)}: ${text}`, { cause });
    }
  }
}

/** The config in the stage's file, with the model and the seed of the run; PRL_ environment variables apply to the run's config, not to this one. */
export async function warmStartConfig(
  config: RlConfig,
  file: string,
  signal?: AbortSignal,
): Promise<{ config: SftConfig; environment: EnvironmentRecord[] }> {
  const overrides = { model: config.model, seed: config.seed };
  const { config: sft, provenance } = await loadConfig([file], overrides, { kind: "sft", env: {} });
  const environment = await checkSftEnvironments(sft, { provenance, signal });
  await checkTrainerParallel({ trainer: sft, models: [sft.model.name] }, [], provenance);
  const ready = await withInterpreter(sft, [], provenance);
  return {
    config: { ...ready, threads: ready.threads ?? availableParallelism() },
    environment,
  };
}

/** Models are downloaded for a run that follows, not for a check. */
function pullOf({ hold, signal, onDownload }: PrepareOptions): PullOptions | null {
  return hold === true ? { signal, onProgress: onDownload } : null;
}

/** Makes checks interruptible: they import modules of the user, which may never return, or read a whole checkpoint. */
function interruptible<T>({ signal }: PrepareOptions, checks: () => Promise<T>): Promise<T> {
  return signal === undefined ? checks() : untilInterrupted(signal, checks());
}
