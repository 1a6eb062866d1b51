/** The run directory on this machine of a run whose processes are started elsewhere: a new one, or that of the run to continue. */
import { resolve } from "node:path";

import type { RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { isThere } from "../../files/file-presence.ts";
import { newestRun, type ResumeRequest } from "../run/resume-run.ts";
import { prepareRunDirectory } from "../run/run-directory.ts";

export interface RunPlaceRules {
  /** Continue an earlier run. */
  readonly resume: ResumeRequest | undefined;
  /** The verb for starting a run of this kind, for messages: `submit`. */
  readonly verb: string;
  /** Rejects for a directory whose run must not be started now. */
  readonly refuse?: (runDir: string) => Promise<void>;
}

/**
 * The same as for a run of this machine; a directory that is continued has to be there.
 *
 * @throws PrlError `PRL_RUN_EXISTS`, `PRL_RUN_UNKNOWN`, `PRL_RUN_LOCKED`, `PRL_CLI_USAGE`, what `refuse` throws
 */
export async function placeRun(
  config: RlConfig,
  { resume, verb, refuse }: RunPlaceRules,
): Promise<{ name: string; path: string }> {
  const { output_dir: outputDir, clean, run } = config;
  const environments = config.orchestrator.train.source.map((source) => source.name);
  if (resume === undefined) {
    if (run.name !== null) await refuse?.(resolve(outputDir, run.name));
    return prepareRunDirectory({ name: run.name, outputDir, environments, model: config.model.name, clean });
  }
  if (clean) throw new PrlError("PRL_CLI_USAGE", "--resume goes on with what --clean would delete: give one of them");
  const name = run.name ?? (await newestRun(config, environments));
  const path = resolve(outputDir, name);
  if (!(await isThere(path))) {
    throw new PrlError("PRL_RUN_UNKNOWN", `there is no run ${path} to resume: ${verb} it without --resume`);
  }
  await refuse?.(path);
  return { name, path };
}
