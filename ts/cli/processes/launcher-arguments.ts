/** `prl trainer @ rl.toml --run-dir <dir>` and the like: the arguments with which the launcher would start that process of the run. */
import { resolve } from "node:path";

import { loadConfig, parseConfigArguments } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { prepareStandalone, type StandalonePart } from "../../launcher/index.ts";
import { checkOptions } from "../arguments/args.ts";
import type { CommandIo } from "../command.ts";
import { CHILD_OPTIONS } from "./child.ts";
import { RESUME_OPTION, resumeRequest } from "./show-run.ts";

const RUN_DIR = { flag: "--run-dir", value: "dir" } as const;
const INDEX = { flag: "--index", value: "i" } as const;
const ATTEMPT = { flag: "--attempt", value: "n" } as const;

/** @throws PrlError `PRL_CLI_USAGE`, those of the config and of `prepareStandalone` */
export async function launcherArguments(
  component: StandalonePart["component"],
  args: readonly string[],
  { env, cwd, signal, hurry, stderr }: CommandIo,
): Promise<readonly string[]> {
  const { files, overrides, options } = parseConfigArguments("rl", args, [RUN_DIR, INDEX, ATTEMPT, RESUME_OPTION]);
  checkOptions(CHILD_OPTIONS, options);
  const given = options.get(RUN_DIR.flag);
  if (given === undefined)
    throw new PrlError("PRL_CLI_USAGE", "--run-dir: <dir> is missing, the directory of the run that this is a part of");
  const runDir = resolve(cwd, given);
  const { config } = await loadConfig(files, overrides, { kind: "rl", env, cwd });
  const asked = options.get(ATTEMPT.flag);
  const index = Number(options.get(INDEX.flag) ?? "0");
  const request = resumeRequest(options);
  const part = { component, index, runDir, request, attempt: asked === undefined ? null : Number(asked) };
  const note = (text: string) => stderr.write(`prl: ${text}\n`);
  const { configPath, attempt } = await prepareStandalone(part, config, { signal, hurry, note });
  const place = ["--config", configPath, "--run-dir", runDir, "--index", String(index)];
  return attempt === null ? place : [...place, "--attempt", String(attempt)];
}
