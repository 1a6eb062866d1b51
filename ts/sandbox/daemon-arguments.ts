/** Settings of a daemon as arguments of its program. */

import { PrlError } from "../errors.ts";

export interface DaemonSettings {
  /** Runs at the same time; further ones wait. Default: the daemon's. */
  maxRunning?: number;
  /** Runs that wait; further ones are refused as overloaded. Default: the daemon's. */
  maxQueued?: number;
  /** Sandboxes made in advance. Default: the daemon's. */
  parked?: number;
  /** Further directories of the machine that programs see, read-only: absolute paths. Default: the system's own only. */
  readable?: readonly string[];
  /** Warm interpreters by runtime. Not implemented yet: anything but 0 is PRL_SANDBOX_UNSUPPORTED. */
  warm?: Readonly<Record<string, number>>;
}

const FLAGS = [
  ["maxRunning", "--max-running", 1],
  ["maxQueued", "--max-queued", 0],
  ["parked", "--park", 0],
] as const;

/** Errors: PRL_SANDBOX_REQUEST, PRL_SANDBOX_UNSUPPORTED. */
export function daemonArguments(settings: DaemonSettings): string[] {
  const known = ["warm", "readable", ...FLAGS.map(([key]) => key)];
  for (const key of Object.keys(settings)) {
    if (!known.includes(key)) {
      throw new PrlError("PRL_SANDBOX_REQUEST", `sandbox pool, ${key}: unknown option; known are ${known.join(", ")}`);
    }
  }
  const warm = Object.entries(settings.warm ?? {}).filter(([, count]) => count !== 0);
  if (warm.length > 0) {
    const message = `warm: ${warm.map(([runtime]) => runtime).join(", ")}: warm interpreters are not implemented yet`;
    throw new PrlError("PRL_SANDBOX_UNSUPPORTED", message);
  }
  const numbers = FLAGS.flatMap(([key, flag, least]) => {
    const value = settings[key];
    if (value === undefined) return [];
    if (!Number.isSafeInteger(value) || value < least) {
      throw new PrlError("PRL_SANDBOX_REQUEST", `sandbox pool, ${key}: expected a whole number of at least ${least}`);
    }
    return [flag, String(value)];
  });
  return [...numbers, ...(settings.readable ?? []).flatMap((dir) => ["--readable", dir])];
}
