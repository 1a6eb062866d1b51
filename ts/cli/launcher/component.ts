/**
 * A process of a run started by hand, from the run's own config: `prl trainer @ rl.toml --run-dir <dir>`.
 *
 * Makes of the config what the launcher would have made of it, writes that where the launcher would have written it, and gives the arguments
 * that the launcher would have started the process with. Whoever starts processes so sees to what the launcher does beside: one config
 * for all of them, a folder of its own for each run, the end of those that serve.
 */
import { mkdir, readdir } from "node:fs/promises";
import { basename, join, resolve } from "node:path";

import { loadConfig, parseConfigArguments, referenceOf, type RlConfig, START_REFERENCE } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { ifThere } from "../../file-presence.ts";
import type { Component } from "../by-hand.ts";
import type { CommandIo } from "../command.ts";
import { ensureBaseModel } from "./base-model.ts";
import { rlChildConfigs, writeConfig } from "./child-configs.ts";
import { withThreads } from "./cores.ts";
import { type HandResume, type ResumablePart, resumeByHand } from "./resume-by-hand.ts";
import { checkpointRoot, type ResumeRequest } from "./resume-run.ts";
import { RESUME_OPTION, resumeRequest } from "./show-run.ts";

const RUN_DIR = { flag: "--run-dir", value: "dir" } as const;
const INDEX = { flag: "--index", value: "i" } as const;
const ATTEMPT = { flag: "--attempt", value: "n" } as const;

/**
 * The arguments that the launcher would give, for a config as `prl rl` takes it.
 *
 * @throws PrlError `PRL_CLI_USAGE`, those of the config, `PRL_RUN_EXISTS` when the directory holds an earlier run
 */
export async function launcherArguments(
  component: Component,
  args: readonly string[],
  io: CommandIo,
): Promise<readonly string[]> {
  const { files, overrides, options } = parseConfigArguments("rl", args, [RUN_DIR, INDEX, ATTEMPT, RESUME_OPTION]);
  const given = options.get(RUN_DIR.flag);
  if (given === undefined)
    throw new PrlError("PRL_CLI_USAGE", "a part of a run needs --run-dir <dir>, the run's directory");
  const runDir = resolve(io.cwd, given);
  const { config } = await loadConfig(files, overrides, { kind: "rl", env: io.env, cwd: io.cwd });
  const request = resumeRequest(options.get(RESUME_OPTION.flag));
  const resumed = await resumedOf(component, { ...config, run: { ...config.run, name: basename(runDir) } }, runDir, {
    request,
    attempt: attemptOf(options.get(ATTEMPT.flag)),
  });
  if (component === "orchestrator" && resumed === null) await refuseEarlierRun(runDir);
  const index = options.get(INDEX.flag) ?? "0";
  const child = await childConfig(component, config, runDir, resumed?.checkpoint ?? null);
  const path = await writeConfig(runDir, `${component}-${index}`, child);
  // What a later attempt is compared with.
  if (isResumable(component)) await writeConfig(runDir, "rl", config);
  await mkdir(join(runDir, "run"), { recursive: true });
  const attempt = resumed === null ? [] : ["--attempt", String(resumed.attempt)];
  return ["--config", path, "--run-dir", runDir, "--index", index, ...attempt];
}

async function resumedOf(
  component: Component,
  config: RlConfig,
  runDir: string,
  { request, attempt }: { request: ResumeRequest | undefined; attempt: number | null },
): Promise<HandResume | null> {
  if (request === undefined) return null;
  if (isResumable(component)) return resumeByHand(component, config, runDir, { request, attempt });
  throw new PrlError(
    "PRL_CLI_USAGE",
    `${component} holds nothing of a run: start it without --resume; trainer and orchestrator go on with one`,
  );
}

function isResumable(component: Component): component is ResumablePart {
  return component === "trainer" || component === "orchestrator";
}

function attemptOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^[1-9]\d*$/u.test(text)) return Number(text);
  throw new PrlError("PRL_CLI_USAGE", `--attempt takes a whole number from 1 on, not "${text}"`);
}

async function childConfig(
  component: Component,
  config: RlConfig,
  runDir: string,
  resume: HandResume["checkpoint"] | null,
): Promise<unknown> {
  if (config.warm_start !== null) {
    throw new PrlError(
      "PRL_CLI_USAGE",
      "parts of a run that are started by hand do no warm start: train it with prl sft, then give its model/ as --model, and --warm-start None",
    );
  }
  const { dir: modelDir } = await ensureBaseModel(config.model.name, config.seed);
  const runId = basename(runDir);
  const base = { runId, modelDir, checkpoints: checkpointRoot(config, runDir, runId), resume };
  const reference = referenceOf(config.trainer.loss);
  const referenceDir =
    reference === null || reference === START_REFERENCE
      ? reference && modelDir
      : (await ensureBaseModel(reference, config.seed)).dir;
  return rlChildConfigs(withThreads(config), { ...base, referenceDir })[component];
}

/** Its batches and weights would be taken for this run's. */
async function refuseEarlierRun(runDir: string): Promise<void> {
  const entries = (await ifThere(readdir(runDir), runDir)) ?? [];
  const earlier = entries.filter((entry) => ["rollouts", "summary.json", "checkpoints"].includes(entry));
  if (earlier.length === 0) return;
  throw new PrlError(
    "PRL_RUN_EXISTS",
    `${runDir} holds ${earlier.join(", ")} of an earlier run: give another --run-dir, or --resume`,
  );
}
