/**
 * The key of a run's inference servers where other machines can reach them: PRL_TRANSPORT_TOKEN of the shell that starts the run, else a new one for
 * each start. The processes get it in their environment: it is in no argument, no file and no log.
 */
import { randomBytes } from "node:crypto";

import type { RlConfig } from "../../config/index.ts";
import { isWide } from "../../inference/internal.ts";
import { transportToken } from "../../transports/index.ts";
import { samplesElsewhere } from "./cores.ts";

const KEY_BYTES = 32;

/** Variables that the processes of the run get beside those of this process. */
export async function runKeyVariables(
  config: RlConfig,
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Record<string, string>> {
  const { host } = config.inference.server;
  if (samplesElsewhere(config) || transportToken(env) !== null || !(await isWide(host))) return {};
  return { PRL_TRANSPORT_TOKEN: randomBytes(KEY_BYTES).toString("hex") };
}
