/**
 * The end of a trainer that takes the place of one which had published the last version: it serves that version until the servers have it. The lost trainer
 * may have got the acknowledgement, so the orchestrator's event counts, which comes after it.
 */
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { PrlError } from "../../errors.ts";
import { allLines } from "../../files/rotated-log.ts";
import { EVENTS_FILE } from "../../monitors/index.ts";

const POLL_MS = 200;
/** An evaluation that holds the weights comes before the last version and may be long; beyond this the orchestrator counts as dead. */
const DEADLINE_MS = 6 * 3_600_000;

/** Resolves when the orchestrator has noted in this attempt that all servers have the version. Errors: PRL_DEADLINE. */
export async function untilAdopted(
  runDir: string,
  { attempt, version }: { attempt: number; version: number },
  signal: AbortSignal,
): Promise<void> {
  const path = join(runDir, EVENTS_FILE);
  const end = performance.now() + DEADLINE_MS;
  while (!(await hasAdopted(path, attempt, version))) {
    if (performance.now() > end) {
      const seconds = DEADLINE_MS / 1000;
      throw new PrlError("PRL_DEADLINE", `the servers did not take weight version ${version} within ${seconds} s`);
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

async function hasAdopted(path: string, attempt: number, version: number): Promise<boolean> {
  for await (const text of allLines(path)) {
    // Most lines are other events, and the last one may be torn.
    if (!text.includes('"weights_adopted"') || !text.endsWith("}")) continue;
    const event = JSON.parse(text) as Record<string, unknown>;
    if (event["attempt"] === attempt && event["version"] === version) return true;
  }
  return false;
}
