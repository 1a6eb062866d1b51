/** Keeps the code that V8 compiled, so that the next process of prl starts faster. */
import { existsSync } from "node:fs";
import * as nodeModule from "node:module";
import { join } from "node:path";
import { cacheDir } from "../files/cache-dir.ts";

/**
 * Turns on Node's compile cache in `<PRL_CACHE_DIR>/node`, once there is that cache folder. Node's default is a folder below /tmp, where another
 * user could put code that this process would run. Node 22.8 has the cache, Node 20 does not. `NODE_DISABLE_COMPILE_CACHE=1` turns it off.
 */
export function enableCompileCache(env: Readonly<Record<string, string | undefined>>): void {
  const { enableCompileCache: enable } = nodeModule as { enableCompileCache?: (folder: string) => unknown };
  if (enable === undefined) return;
  try {
    const cache = cacheDir(env);
    // Node 24 tries without end to make a folder where there can be none, as in /proc.
    if (existsSync(cache)) enable(env["NODE_COMPILE_CACHE"] ?? join(cache, "node"));
  } catch {
    // This user has no home folder: the process starts without a cache.
  }
}
