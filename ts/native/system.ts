/** Questions to the operating system that only native code can ask, and facts about the addon. */

import { addon } from "./addon.ts";
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
