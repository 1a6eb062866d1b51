/**
 * Makes the lines of a run's metrics and events durable that any process of this machine has written by now. It is called when a checkpoint is about to exist, so that a
 * crash of the machine loses no line of a step that a checkpoint covers, and at the end of the run. Single lines are not synced, because they are many.
 */
import { open } from "node:fs/promises";
import { join } from "node:path";

import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";
import { EVENTS_FILE, METRICS_FILE } from "./metrics.ts";

/** Errors: PRL_IO naming the file. */
export async function syncHistory(runDir: string): Promise<void> {
  for (const path of [join(runDir, METRICS_FILE), join(runDir, EVENTS_FILE)]) {
    try {
      const file = await ifThere(open(path, "r"), path);
      if (file === null) continue;
      try {
        await file.sync();
      } finally {
        await file.close();
      }
    } catch (cause) {
      throw new PrlError("PRL_IO", `cannot sync ${path}`, { cause });
    }
  }
}
