/** Questions to the operating system that only native code can ask, and facts about the addon. */

import { addon, loadedAddon } from "./addon.ts";
import { nativeAsync } from "./errors.ts";

export interface AddonInfo {
  version: string;
  /** Instruction-set tiers that this processor can run, best last. */
  isaTiers: string[];
  /** PRL_* codes that the Rust crates can raise. */
  errorCodes: string[];
}

export async function addonInfo(): Promise<AddonInfo> {
  const native = addon();
  return native.addonInfo();
}

/** Raises the soft limit of open files to the hard one and returns both. */
export async function raiseFileLimit(): Promise<{ soft: number; hard: number }> {
  const native = addon();
  return nativeAsync(async () => native.raiseFileLimit());
}

/** Forbids core dumps of this process and of those that it starts from now on: they would hold its keys. */
export async function forbidCoreDumps(): Promise<void> {
  const native = addon();
  return nativeAsync(async () => native.forbidCoreDumps());
}

/** The native work of this process that has not got on for the longest time; null when none is under way, and when the addon was not loaded yet. */
export function nativeStandstill(): { work: string; ms: number } | null {
  return loadedAddon()?.nativeStandstill() ?? null;
}
