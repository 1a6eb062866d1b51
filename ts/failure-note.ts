/**
 * What a process of a run says of its own failure: `run/failure-<component>-<index>.json`, written as the last thing it does, for whoever
 * started it. A process that was killed leaves none. Written without waiting: the process may be about to exit. Room for it is taken when the
 * process joins the run, because a full disk may be what ends it.
 */
import { closeSync, constants, existsSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";

import { describeError, type ErrorDescription, explain, isErrorCode, PrlError } from "./errors.ts";
import { ifThere } from "./files/file-presence.ts";
import { makeFolder } from "./files/make-folder.ts";

/** A process's place in a run. */
export interface RunPlace {
  runDir: string;
  component: string;
  index: number;
}

/** Of this process; null: it is no part of a run. */
let ownPlace: RunPlace | null = null;

/** Enough for nearly every message; a longer one needs room that a full disk does not have. */
const RESERVED_BYTES = 8192;

/** From now on this process's failure is noted there; what one before it noted is gone. Errors: PRL_IO when there is no room for a note. */
export function tellFailureAt(place: RunPlace): void {
  ownPlace = place;
  // A mistake on the command line makes no run directory.
  if (!existsSync(place.runDir)) return;
  const path = notePath(place);
  try {
    makeFolder(join(place.runDir, "run"), place.runDir);
    rmSync(path, { force: true });
    writeFileSync(`${path}.tmp`, Buffer.alloc(RESERVED_BYTES, " "));
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot write ${path}.tmp`, { cause });
  }
}

/** Leaves a note of what ends this process, when it is part of a run. */
export function noteFailure(error: unknown): void {
  if (ownPlace === null || !existsSync(ownPlace.runDir)) return;
  const path = notePath(ownPlace);
  try {
    makeFolder(join(ownPlace.runDir, "run"), ownPlace.runDir);
    writeInPlace(`${path}.tmp`, JSON.stringify({ pid: process.pid, ...describeError(error) }));
    renameSync(`${path}.tmp`, path);
  } catch (cause) {
    // A full disk may be what ends it; its log and its exit code say the rest.
    process.stderr.write(`prl: no note of the failure: ${explain(cause)}\n`);
  }
}

/** Into the blocks that the file has. JSON may end with blanks. */
function writeInPlace(path: string, text: string): void {
  const bytes = Buffer.from(text);
  const padding = Buffer.alloc(Math.max(0, RESERVED_BYTES - bytes.length), " ");
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT, 0o666);
  try {
    writeSync(file, Buffer.concat([bytes, padding]), 0, undefined, 0);
  } finally {
    closeSync(file);
  }
}

export interface FailureNote extends ErrorDescription {
  pid: number;
  /** When it was written, ms since 1970. */
  at: number;
}

/** What a process noted at this place; null when none noted anything that can be read. Errors: PRL_IO. */
export async function readFailureNote(place: RunPlace): Promise<FailureNote | null> {
  const path = notePath(place);
  const found = await ifThere(Promise.all([readFile(path, "utf8"), stat(path)]), path);
  if (found === null) return null;
  const [text, { mtimeMs: at }] = found;
  const { pid, code, message } = parsed(text) ?? {};
  if (typeof pid !== "number" || typeof code !== "string" || typeof message !== "string") return null;
  return { pid, code, message, at };
}

/** What the process called `name` itself said it failed of, with its end as the cause; `died` when it said nothing that has a code. */
export function ownFailure(name: string, note: FailureNote | null, died: PrlError): PrlError {
  if (note === null || !isErrorCode(note.code)) return died;
  return new PrlError(note.code, `${name}: ${note.message}`, { cause: died });
}

function notePath({ runDir, component, index }: RunPlace): string {
  return join(runDir, "run", `failure-${component}-${index}.json`);
}

function parsed(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? (value as Record<string, unknown> | null) : null;
  } catch {
    return null;
  }
}
