/** The folder of prl outside of a run. */
import { homedir, userInfo } from "node:os";
import { join, resolve } from "node:path";

/** Cache of models, warm starts and datasets: `PRL_CACHE_DIR`, else `~/.cache/prl`. Absolute; not created. */
export function cacheDir(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const chosen = env["PRL_CACHE_DIR"];
  if (chosen !== undefined && chosen !== "") return resolve(chosen);
  // An empty HOME would mean the current folder.
  return join(homedir() || userInfo().homedir, ".cache", "prl");
}
