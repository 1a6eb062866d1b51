/**
 * The ready file of a process of a run, `run/<component>-<index>.json`: it announces that others may use the process. A process writes it
 * in one piece, and its launcher removes it when the process ends; that of a trainer stays for the one that takes its place, which listens where the
 * lost one did.
 */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { atomicWriteJson } from "../files/atomic-write.ts";
import { ifThere } from "../files/file-presence.ts";
import { makeFolder } from "../files/make-folder.ts";

/** The data of a process that can take work. */
export interface ReadyInfo {
  /** Base address of its HTTP server, if it has one. */
  url?: string;
  /** Instruction-set tier of its engine, if it has one. */
  isa?: string;
  dtype?: string;
  /** Policy version that it starts with, if it has one. */
  version?: number;
  /** `host:port` where it takes batches, if it does. */
  rollouts?: string;
  /** `host:port` where it serves weight versions, if it does. */
  weights?: string;
  /** Process number of the sandbox daemon, if it has started one. */
  daemon?: number;
}

/** The content of `run/<component>-<index>.json`. */
export interface ReadyFile extends ReadyInfo {
  pid: number;
  /** ISO 8601 time. */
  ready_at: string;
}

const text = z.string().exactOptional();
const READY_FILE = z.object({
  pid: z.int().positive(),
  ready_at: z.string(),
  url: text,
  isa: text,
  dtype: text,
  version: z.int().exactOptional(),
  rollouts: text,
  weights: text,
  daemon: z.int().positive().exactOptional(),
});

/** Path of the ready file of a process of the run. */
export function readyFilePath(runDir: string, component: string, index: number): string {
  return join(runDir, "run", `${component}-${index}.json`);
}

/** Null when the process is not ready, or has ended. Errors: PRL_IO when the file cannot be read or has other content. */
export async function readReadyFile(runDir: string, component: string, index: number): Promise<ReadyFile | null> {
  const path = readyFilePath(runDir, component, index);
  const content = await ifThere(readFile(path, "utf8"), path);
  if (content === null) return null;
  try {
    return READY_FILE.parse(JSON.parse(content));
  } catch (cause) {
    throw new PrlError("PRL_IO", `${path} is not the ready file of a process: remove it and start the process again`, {
      cause,
    });
  }
}

/** Announces this process. */
export async function writeReadyFile(path: string, info: ReadyInfo): Promise<void> {
  makeFolder(dirname(path));
  const content: ReadyFile = { pid: process.pid, ...info, ready_at: new Date().toISOString() };
  await atomicWriteJson(path, content);
}
