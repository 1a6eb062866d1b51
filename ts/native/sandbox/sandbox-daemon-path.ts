/** Finds the sandbox daemon's program: PRL_SANDBOXD names it, else it is beside the native addon in use. */

import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { PrlError } from "../../errors.ts";
import { cureForMissing } from "../missing-binary.ts";

const NAME = "prl-sandboxd";

/** The path of the daemon's program. Throws `PRL_SANDBOX_MISSING`, which says how to get it, when it is missing. */
export function sandboxDaemonPath(env: Readonly<Record<string, string | undefined>> = process.env): string {
  const named = env["PRL_SANDBOXD"];
  let path = named ?? NAME;
  try {
    path = named ?? join(addonFolder(env), NAME);
    accessSync(path, constants.X_OK);
    return path;
  } catch (cause) {
    const cure = named === undefined ? cureForMissing("the sandbox daemon", cause) : "PRL_SANDBOXD names it";
    throw new PrlError("PRL_SANDBOX_MISSING", `the sandbox daemon ${path} cannot be run: ${cure}`, { cause });
  }
}

/** Tests run with a separate addon, and with the daemon that was built beside it. */
function addonFolder(env: Readonly<Record<string, string | undefined>>): string {
  const loader = env["PRL_NATIVE_ADDON"] ?? createRequire(import.meta.url).resolve("#native");
  return dirname(loader);
}
