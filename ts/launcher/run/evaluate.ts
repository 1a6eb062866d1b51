/**
 * Runs an evaluation from config to summary: its directory, its traces, the results of an earlier try, its end.
 *
 * The directory holds `configs/eval.json`, `traces.jsonl`, in `run/` the lock and, written last, `summary.json`.
 */
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { z } from "zod";

import { type EvalConfig, type LoadedConfig, parseProcessConfig, withDefaults } from "../../config/index.ts";
import { keepScored, TracesFile } from "../../environments/records.ts";
import { sandboxSource } from "../../environments/run-start.ts";
import { messageOf, PrlError } from "../../errors.ts";
import { isMissing } from "../../files/file-presence.ts";
import {
  type EvaluationProgress,
  type EvaluationReport,
  type PreparedEvaluation,
  prepareEvaluations,
  readEndpointsFile,
  runEvaluations,
} from "../../evals/index.ts";
import { abortSignal, callback, checkOptions, only, table } from "../../options.ts";
import { atomicWriteJson } from "../../files/atomic-write.ts";
import { releaseLock, takeLock } from "../../files/run-lock.ts";
import { environmentRecord } from "../checks/check-environments.ts";
import { checkUserCode } from "../checks/user-code.ts";
import { lockEnvironments } from "./run-environments.ts";
import { madeUpRunName, prepareRunDirectory, type RunDirectory } from "./run-directory.ts";

export interface EvaluateRunOptions {
  /** Ends the run; a later run can continue from what was scored. */
  signal?: AbortSignal;
  /** Continue in the run's directory; without a name, in the newest one with these environments and this model. */
  resume?: boolean;
  onProgress?: (progress: EvaluationProgress) => void;
  /** Called once, before the first rollout. */
  onDirectory?: (runDir: string, keptRollouts: number) => void;
  /** Environment variables to read keys from. Default: the process's. */
  env?: Readonly<Record<string, string | undefined>>;
}

const optionsSchema = only<EvaluateRunOptions>({
  signal: abortSignal.optional(),
  resume: z.boolean().optional(),
  onProgress: callback.optional(),
  onDirectory: callback.optional(),
  env: table.optional(),
});

/** The contents of `summary.json`, in snake_case as there. */
export interface EvalSummary {
  status: "completed" | "failed" | "interrupted";
  run: string;
  run_dir: string;
  evaluations: EvaluationReport[];
  wall_seconds: number;
  error?: { code: string | null; message: string };
}

/**
 * Runs every evaluation of the config. A run in which rollouts failed is completed as long as something was scored in each evaluation.
 * Errors before the first rollout: those of the config and the run directory, PRL_EVAL_RESUME, PRL_RUN_DRIFT.
 */
export async function evaluate(
  source: EvalConfig | LoadedConfig<"eval">,
  options: EvaluateRunOptions = {},
): Promise<EvalSummary> {
  checkOptions("PRL_RUN_OPTIONS", "evaluate", optionsSchema, options);
  const { config, provenance } = "provenance" in source ? source : { config: source, provenance: undefined };
  const { signal = new AbortController().signal, env = process.env } = options;
  const started = performance.now();
  const endpoints = config.endpoints === null ? [] : await readEndpointsFile(config.endpoints);
  const checks = config.eval.map(
    (one, index) => ({ kind: "environment", at: ["eval", index, "env"], env: one.env }) as const,
  );
  await checkUserCode(checks, { provenance, signal });
  const sandboxes = sandboxSource(config.sandbox, env);
  try {
    const prepared = await prepareEvaluations(config, endpoints, env, sandboxes);
    const directory = options.resume === true ? await earlierDirectory(config) : await newDirectory(config);
    try {
      return await runPrepared(directory, { config, prepared }, { ...options, signal }, started);
    } finally {
      await releaseLock(directory.path);
    }
  } finally {
    await sandboxes.close();
  }
}

async function runPrepared(
  directory: RunDirectory,
  { config, prepared }: { config: EvalConfig; prepared: readonly PreparedEvaluation[] },
  options: EvaluateRunOptions & { signal: AbortSignal },
  started: number,
): Promise<EvalSummary> {
  const { signal } = options;
  const records = prepared.map(({ evaluation, environment, origin }) =>
    environmentRecord(evaluation.name, environment, origin),
  );
  await lockEnvironments(directory.path, records, options.resume === true);
  await atomicWriteJson(join(directory.path, "configs", "eval.json"), { ...config, headers: hidden(config.headers) });
  await atomicWriteJson(join(directory.path, "configs", "environments.json"), records);
  const tracesPath = join(directory.path, "traces.jsonl");
  const kept = await keepScored(tracesPath);
  options.onDirectory?.(directory.path, kept.size);
  const traces = new TracesFile(tracesPath);
  const summary: EvalSummary = {
    status: "completed",
    run: directory.name,
    run_dir: directory.path,
    evaluations: [],
    wall_seconds: 0,
  };
  try {
    const { onProgress } = options;
    const parts = { traces, kept, signal, ...(onProgress === undefined ? {} : { onProgress }) };
    summary.evaluations = await runEvaluations(config, prepared, parts);
    traces.flush();
    checkScored(summary.evaluations);
  } catch (error) {
    summary.status = signal.aborted ? "interrupted" : "failed";
    const code = error instanceof PrlError ? error.code : null;
    summary.error = signal.aborted
      ? { code: "PRL_RUN_INTERRUPTED", message: `interrupted; --resume --run.name ${directory.name} goes on` }
      : { code, message: messageOf(error) };
  } finally {
    traces.close();
  }
  summary.wall_seconds = (performance.now() - started) / 1000;
  await atomicWriteJson(join(directory.path, "summary.json"), summary);
  return summary;
}

/** The headers without their values, of which any may be a key. */
function hidden(headers: EvalConfig["headers"]): EvalConfig["headers"] {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, "***"]));
}

function checkScored(reports: readonly EvaluationReport[]): void {
  const failed = reports.find(({ scored }) => scored === 0);
  if (failed === undefined) return;
  const codes = Object.entries(failed.errors_by_code).map(([code, count]) => `${code} (${count})`);
  throw new PrlError(
    "PRL_EVAL_FAILED",
    `evaluation "${failed.name}": all of its ${failed.errors} rollouts failed: ${codes.join(", ")}; the messages are in traces.jsonl`,
  );
}

function newDirectory(config: EvalConfig): Promise<RunDirectory> {
  return prepareRunDirectory({
    name: config.run.name,
    outputDir: config.output_dir,
    environments: config.eval.map(({ name }) => name),
    model: modelName(config),
    clean: config.clean,
    hold: true,
  });
}

function modelName(config: EvalConfig): string {
  const models = [...new Set(config.eval.map(({ model }) => model.replaceAll("/", "--")))];
  return models.join("-");
}

async function earlierDirectory(config: EvalConfig): Promise<RunDirectory> {
  const outputDir = resolve(config.output_dir);
  const path = config.run.name === null ? await newest(config, outputDir) : join(outputDir, config.run.name);
  const file = join(path, "configs", "eval.json");
  let earlier: unknown;
  try {
    earlier = withDefaults("eval", JSON.parse(await readFile(file, "utf8")));
  } catch (cause) {
    throw new PrlError("PRL_EVAL_RESUME", `--resume: ${path} holds no evaluation run: ${file} cannot be read`, {
      cause,
    });
  }
  checkSame(parseProcessConfig(earlier, earlierSchema, file), config, path);
  await takeLock(path);
  return { name: basename(path), path, attempt: 1 };
}

/** The part of an earlier run's config that a resumed run is compared with. */
const earlierSchema = z.looseObject({
  seed: z.int().describe("Seed of the run"),
  eval: z.array(
    z.looseObject({
      name: z.string(),
      env: z.looseObject({}),
      model: z.string(),
      api: z.string().nullable(),
      split: z.string(),
      sampling: z.looseObject({}),
    }),
  ),
});

/** Numbers of tasks and rollouts, the endpoint and the speed may change; anything that a row depends on may not. */
function checkSame(earlier: z.output<typeof earlierSchema>, config: EvalConfig, path: string): void {
  const differ = (key: string): never => {
    throw new PrlError("PRL_EVAL_RESUME", `--resume: ${key} is another than in ${path}; run it under another name`);
  };
  if (earlier.seed !== config.seed) differ("seed");
  for (const now of config.eval) {
    const before = earlier.eval.find(({ name }) => name === now.name);
    if (before === undefined) continue;
    for (const key of ["env", "model", "api", "split", "sampling"] as const) {
      if (!isDeepStrictEqual(before[key], now[key])) differ(`${key} of evaluation "${now.name}"`);
    }
  }
}

async function newest(config: EvalConfig, outputDir: string): Promise<string> {
  const prefix = madeUpRunName(
    config.eval.map(({ name }) => name),
    modelName(config),
    "",
  );
  const names = (await entries(outputDir)).filter((name) => name.startsWith(prefix));
  const dated = await Promise.all(
    names.map(async (name) => ({ name, time: (await stat(join(outputDir, name))).mtimeMs })),
  );
  const last = dated.toSorted((a, b) => b.time - a.time)[0];
  if (last !== undefined) return join(outputDir, last.name);
  throw new PrlError(
    "PRL_EVAL_RESUME",
    `--resume: no run in ${outputDir} begins with ${prefix}; name it with --run.name`,
  );
}

/** Names in a folder; empty when there is no folder yet. Errors: PRL_EVAL_RESUME. */
async function entries(dir: string): Promise<string[]> {
  try {
    return await readdir(dir);
  } catch (cause) {
    if (isMissing(cause)) return [];
    throw new PrlError("PRL_EVAL_RESUME", `--resume: the folder of runs cannot be read: ${dir}`, { cause });
  }
}
