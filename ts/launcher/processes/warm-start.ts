/**
 * The supervised stage that may come before RL, and `prl sft` itself: one child process that trains and writes a checkpoint folder.
 *
 * A warm start takes model and seed from its run and is cached by everything that its weights depend on; paths, names, threads, log
 * levels, checkpoints, monitors and evaluations are left out of the key.
 */
import { rm } from "node:fs/promises";
import { join } from "node:path";

import { type ChildConfigs, demonstrators, type SftConfig } from "../../config/index.ts";
import { sourceFiles } from "../../datasets/index.ts";
import { contentDigest } from "../../environments/run-start.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { dataSource } from "../../trainer/supervised.ts";
import type { BaseModel } from "../models/base-model.ts";
import { packageManifest } from "../../version.ts";
import { cached, type CacheEntry, cacheKey, fileKey } from "../models/cache.ts";
import { environmentFacts } from "../checks/check-environments.ts";
import type { ChildSpec } from "./child-process.ts";
import { type RunStart, writeConfig } from "./child-configs.ts";
import { childSpec, restartBudget, type RlProcessEvents, type RunAttempt } from "./rl-processes.ts";
import { runStateHolders } from "./state-holders.ts";
import { runStage, type StageOptions } from "../run/stage.ts";

/** Where a supervised stage begins and what it writes. */
export interface SftStage {
  /** The model that it begins with. */
  readonly modelDir: string;
  /** Folder for the trained model. */
  readonly outDir: string;
  /** Folder for the checkpoints; null: none are written. */
  readonly checkpoints: string | null;
  /** The checkpoint to continue from. */
  readonly resume: RunStart["resume"];
  /** An orchestrator evaluates the versions that it publishes. */
  readonly isEvaluated: boolean;
}

/** The stage of a warm start, and what hears of its restarts. */
export type WarmStartStage = StageOptions & Pick<RlProcessEvents, "note" | "onRestart">;

/** Trains `config` in a child process, which begins again when it is lost: a warm start has no checkpoints. */
async function runWarmStart(config: SftConfig, run: RunAttempt, sft: SftStage, stage: WarmStartStage): Promise<void> {
  const spec = await sftProcess(config, run, sft);
  await runStage(stage, (supervisor) =>
    runStateHolders(supervisor, [spec], {
      runDir: run.runDir,
      budget: restartBudget(config.deployment),
      onReady: () => undefined,
      async goBack({ component, index, exit, losses }) {
        await rm(sft.outDir, { recursive: true, force: true });
        makeFolder(sft.outDir);
        stage.note(`${component}-${index} ended (${exit}): the warm start begins again`);
        stage.onRestart({ component, index, exit, deaths: losses });
        return [spec];
      },
    }),
  );
}

/** The spec of that process, which is not started yet. */
export async function sftProcess(config: SftConfig, run: RunAttempt, sft: SftStage): Promise<ChildSpec> {
  const { modelDir, outDir, checkpoints, resume, isEvaluated } = sft;
  const child: ChildConfigs["sft"] = {
    run_id: run.runId,
    model_dir: resume === null ? modelDir : join(resume.dir, "trainer"),
    base_dir: modelDir,
    out_dir: outDir,
    start_step: resume?.step ?? 0,
    checkpoints,
    is_evaluated: isEvaluated,
    config,
  };
  const configPath = await writeConfig(run.runDir, "sft", child);
  return childSpec(run, { component: "sft", index: 0, configPath, finishes: true, checkpoints: checkpoints !== null });
}

/** The checkpoint folder of a warm start; it is trained when the cache does not have it. */
export async function ensureWarmStart(
  config: SftConfig,
  model: BaseModel,
  run: RunAttempt,
  stage: WarmStartStage,
): Promise<CacheEntry> {
  const sft = { modelDir: model.dir, checkpoints: null, resume: null, isEvaluated: false };
  const key = await warmStartKey(config, model);
  return cached("warm-starts", key, (outDir) => runWarmStart(config, run, { ...sft, outDir }, stage));
}

/** A key of config, base model and data code; equal keys mean equal weights. */
export async function warmStartKey(config: SftConfig, model: BaseModel): Promise<string> {
  const { run: _run, output_dir: _out, clean: _clean, threads: _threads, log: _log, model: _model, ...given } = config;
  const { python: _python, deployment: _deployment, ...others } = given;
  const { ckpt: _ckpt, monitors: _monitors, eval: _eval, inference: _inference, sandbox: _sandbox, ...rest } = others;
  const { env: _env, mix: _mix, source: _source, ...data } = config.data;
  const environments = demonstrators(config.data).map(({ env: { path: _path, ...named }, ratio }) => [named, ratio]);
  const settings = { ...rest, dtype: config.model.dtype, data, environments };
  return cacheKey({ settings, model: model.key, data: await dataKey(config), version: packageManifest().version });
}

/** Identifies the environments' code by name and version, those by path also by the digest of their file or folder, and data by their files' digests. */
async function dataKey({ data }: SftConfig): Promise<unknown> {
  if (data.source !== null) return Promise.all((await sourceFiles(dataSource(data))).map((file) => fileKey(file)));
  const checks = demonstrators(data).map(({ key, env }) => ({ kind: "environment", at: key, env }) as const);
  const facts = await environmentFacts(checks, { provenance: undefined });
  return Promise.all(
    facts.map(async ({ name, version, origin }, index) => {
      const path = checks[index]?.env.path ?? null;
      if (path === null) return { name, version, file: null };
      const isFolder = origin.kind === "package";
      const file = await (isFolder ? contentDigest(origin.dir) : fileKey(path.replace(/#[^#/]*$/, "")));
      return { name, version, file };
    }),
  );
}
