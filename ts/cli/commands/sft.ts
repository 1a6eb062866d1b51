/**
 * `prl sft`: supervised fine-tuning on rows of data or an environment's demonstrations.
 *
 * With config files it is a whole run: directory, progress, summary. With `--config <file.json>` it is the process that such a run,
 * or the warm start of an RL run, consists of.
 */

import { join, resolve } from "node:path";

import { type ChildConfigs, loadConfig, parseConfigArguments, readChildConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { lastLoggedStep, metricsAfter } from "../../monitors/index.ts";
import { PROFILE_FOLDER, runSft, SftPublisher } from "../../trainer/supervised.ts";
import { type ChildInput, joinAsChild, openChildMetrics } from "../processes/child.ts";
import { type Command, type CommandIo, EXIT } from "../command.ts";
import { checkOptions, numberOption } from "../arguments/args.ts";
import { RULES } from "../arguments/option-rule.ts";
import { stopExit } from "../../stop-signal.ts";
import { prepareSft, sft } from "../../launcher/index.ts";
import { resumeRequest, RUN_OPTIONS, showRun } from "../processes/show-run.ts";

const CHILD_OPTIONS = [
  { flag: "--config", value: "<file>", summary: "Resolved config, written by the launcher: be a process of its run" },
  { flag: "--run-dir", value: "<dir>", summary: "Run directory, with --config" },
  { flag: "--index", value: "<i>", rule: RULES.index, summary: "Number of this process, with --config" },
  { flag: "--attempt", value: "<n>", rule: RULES.count, summary: "Launch of the run, with --config" },
] as const;
const OPTIONS = [...RUN_OPTIONS, ...CHILD_OPTIONS];

export const command: Command = {
  name: "sft",
  summary: "Train a policy on demonstrations: rows of data, or an environment's",
  usage: "sft [@] <file.toml>... [--key value]...",
  details: "The trained checkpoint is model/ in the run directory.",
  options: OPTIONS,
  config: "sft",
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { files, overrides, options } = parseConfigArguments("sft", args, OPTIONS);
  checkOptions(CHILD_OPTIONS, options);
  const childConfig = options.get("--config");
  if (childConfig !== undefined) return runChild(childConfig, options, io);
  const resume = resumeRequest(options);
  const loaded = await loadConfig(files, overrides, { kind: "sft", env: io.env, cwd: io.cwd });
  if (options.has("--dry-run")) {
    const { directory, warnings } = await prepareSft(loaded.config, {
      provenance: loaded.provenance,
      signal: io.signal,
      resume,
    });
    for (const warning of warnings) io.stderr.write(`Warning: ${warning}\n`);
    const written = `${directory.path}/configs/sft-run.json`;
    if (io.json) io.writeJson({ run: directory.name, run_dir: directory.path, config: written });
    else io.stdout.write(`The resolved config is in ${written}\n`);
    return EXIT.done;
  }
  return showRun(io, loaded.config.run.name ?? "sft", (onEvent) =>
    sft(loaded, { signal: io.signal, hurry: io.hurry, onEvent, ...(resume !== undefined && { resume }) }),
  );
}

/** The process of a run: trains and writes the checkpoint where the launcher wants it. */
async function runChild(configPath: string, options: ReadonlyMap<string, string>, io: CommandIo): Promise<number> {
  const given = options.get("--run-dir");
  if (given === undefined) throw new PrlError("PRL_CLI_USAGE", "--config: needs --run-dir");
  const [index, attempt] = [numberOption(options, "--index", 0), numberOption(options, "--attempt", 1)];
  const place = { configPath: resolve(io.cwd, configPath), runDir: resolve(io.cwd, given), index, attempt };
  const input = await joinAsChild("sft", place, (path) => readChildConfig("sft", path));
  const { runDir, member } = input;
  const { config, start_step: startStep, is_evaluated: isEvaluated } = input.config;
  // With evaluations it takes the trainer's place beside an orchestrator.
  const portOffset = isEvaluated ? 1 : 0;
  const { monitors } = config;
  // A warm start that was lost begins again within the attempt.
  const logged = member.supervised ? await lastLoggedStep(runDir, "sft", attempt) : null;
  const opened = await openChildMetrics("sft", input, { monitors, portOffset, startStep, log: io.stderr });
  const metrics = metricsAfter(logged, opened);
  await member.ready();
  const signal = AbortSignal.any([io.signal, member.launcherGone]);
  const publisher = isEvaluated ? await SftPublisher.open(runDir, config, startStep) : undefined;
  try {
    await runSft({ ...jobOf(input), metrics, endAsked: member.endAsked, signal, publisher });
  } catch (error) {
    if (signal.aborted) return stopExit(io.signal.reason);
    throw error;
  } finally {
    await publisher?.close();
    metrics.close();
    member.leave();
  }
  return EXIT.done;
}

function jobOf({ config: child, runDir, attempt }: ChildInput<ChildConfigs["sft"]>) {
  const { run_id: runId, model_dir: modelDir, start_step: step, checkpoints: root, config } = child;
  return {
    modelDir,
    baseDir: child.base_dir,
    outDir: child.out_dir,
    profileDir: join(runDir, PROFILE_FOLDER),
    config,
    checkpoints: root === null ? undefined : { root, run: runId, attempt, rules: config.ckpt, runDir },
    start: step === 0 ? undefined : { step, dir: modelDir },
  };
}
