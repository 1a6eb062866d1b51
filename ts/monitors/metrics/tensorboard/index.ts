/**
 * Writes a process's metrics for TensorBoard: each process has its own event file in its own folder, so that TensorBoard shows one run
 * per process.
 *
 * Each numeric metric is a scalar with its name in `metrics.jsonl`, at its step. A later attempt begins a new file, which voids what
 * the earlier files hold beyond the step that it continues from. Each line of metrics is one `write`; nothing is kept in memory.
 */
import { closeSync, openSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";

import { PrlError } from "../../../errors.ts";
import { makeFolder } from "../../../files/make-folder.ts";
import type { Metrics } from "../metrics.ts";
import { type EventContent, eventRecord } from "./event-file.ts";

export interface TensorBoardOptions {
  /** Folder of this process; made when it is not there. */
  folder: string;
  /** Step that the process continues from; 0 for a new run. */
  startStep: number;
}

/** Metrics that are written as before and into an event file too. @throws PrlError `PRL_IO` from here and from every write */
export function writeTensorBoard(metrics: Metrics, { folder, startStep }: TensorBoardOptions): Metrics {
  const seconds = Math.floor(Date.now() / 1000);
  const path = join(folder, `events.out.tfevents.${seconds}.${hostname()}.${process.pid}`);
  let fd: number | null = openForAppending(folder, path);
  const append = (step: number, content: EventContent): void => {
    if (fd === null) return;
    const bytes = eventRecord({ wallTime: Date.now() / 1000, step }, content);
    try {
      if (writeSync(fd, bytes) !== bytes.length) throw new Error("not all bytes were taken; is the disk full?");
    } catch (cause) {
      throw new PrlError("PRL_IO", `cannot append to ${path}`, { cause });
    }
  };
  append(0, { kind: "file-version" });
  append(startStep === 0 ? 0 : startStep + 1, { kind: "session-start" });
  return {
    ...metrics,
    log(step, logged) {
      metrics.log(step, logged);
      const values = Object.entries(logged).filter(
        (entry): entry is [string, number] => typeof entry[1] === "number" && Number.isFinite(entry[1]),
      );
      if (values.length > 0) append(step, { kind: "scalars", values });
    },
    close() {
      if (fd !== null) closeSync(fd);
      fd = null;
      metrics.close();
    },
  };
}

function openForAppending(folder: string, path: string): number {
  try {
    makeFolder(folder);
    return openSync(path, "a");
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot open ${path} for appending`, { cause });
  }
}
