/**
 * A process's record of why it failed: `run/failure-<component>-<index>.json`, which it writes as its last action, for the process that
 * started it. A killed process leaves none. It is written synchronously, because the process may be about to exit. Its disk space is
 * reserved when the process joins the run, because a full disk may be the cause of the failure.
 */
import { closeSync, constants, existsSync, openSync, renameSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";

import { describeError, type ErrorDescription, explain, isErrorCode, lacksMemory, PrlError } from "./errors.ts";
import { ifThere } from "./files/file-presence.ts";
import { makeFolder } from "./files/make-folder.ts";

/** A process's place in a run. */
export interface RunPlace {
  runDir: string;
  component: string;
  index: number;
}

/** The place of this process; null: it is not part of a run. */
let notesPlace: RunPlace | null = null;

/** Enough for nearly every message; a longer one needs room that a full disk does not have. */
const RESERVED_BYTES = 8192;

/**
 * From now on this process's failure is noted there; the note of an earlier process is removed. Errors: PRL_IO when there is no room
 * for a note.
 */
export function writeFailureNotesTo(place: RunPlace): void {
  notesPlace = place;
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

/** Writes a note of the error that ends this process, when it is part of a run; PRL_MEMORY whatever it failed to do without memory. */
export function noteFailure(error: unknown): void {
  if (notesPlace === null || !existsSync(notesPlace.runDir)) return;
  const path = notePath(notesPlace);
  try {
    makeFolder(join(notesPlace.runDir, "run"), notesPlace.runDir);
    const code = lacksMemory(error) ? { code: "PRL_MEMORY" } : {};
    writeInPlace(`${path}.tmp`, JSON.stringify({ pid: process.pid, ...describeError(error), ...code }));
    renameSync(`${path}.tmp`, path);
  } catch (cause) {
    // A full disk may be the cause; the log and the exit code say the rest.
    process.stderr.write(`prl: no note of the failure: ${explain(cause)}\n`);
  }
}

/** Writes into the blocks that the file already has. JSON may end with blanks. */
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

/** The note of a process at this place; null when there is none that can be read. Errors: PRL_IO. */
export async function readFailureNote(place: RunPlace): Promise<FailureNote | null> {
  const path = notePath(place);
  const found = await ifThere(Promise.all([readFile(path, "utf8"), stat(path)]), path);
  if (found === null) return null;
  const [text, { mtimeMs: at }] = found;
  const { pid, code, message } = parsed(text) ?? {};
  if (typeof pid !== "number" || typeof code !== "string" || typeof message !== "string") return null;
  return { pid, code, message, at };
}

/** The error that the process `name` noted, with its end as the cause; `died` when it noted nothing with a code. */
export function failureOfProcess(name: string, note: FailureNote | null, died: PrlError): PrlError {
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
