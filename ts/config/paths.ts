/** Folders of prl outside of a run. */
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Environment } from "./environment-variables.ts";

/** Cache of models, warm starts and datasets: `PRL_CACHE_DIR`, else `~/.cache/prl`. Absolute; not created. */
export function cacheDir(env: Environment = process.env): string {
  const chosen = env["PRL_CACHE_DIR"];
  if (chosen !== undefined && chosen !== "") return resolve(chosen);
  return join(homedir(), ".cache", "prl");
}
