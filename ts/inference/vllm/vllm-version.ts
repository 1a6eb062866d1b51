/** What the version of a vLLM says about it. */
import { isNewerThan } from "../../python/index.ts";

/** The newest release that the client was run against. */
const NEWEST = "0.32";

/** Whether a vLLM of this version computes on processors. */
export function isCpuVllm(version: string): boolean {
  return version.includes("cpu");
}

/** A note about a release that is newer than the client; null for the others. */
export function newerVllmNote(version: string): string | null {
  if (!isNewerThan(version, NEWEST)) return null;
  return `vLLM ${version} is newer than ${NEWEST}, the newest that prl was run against`;
}
