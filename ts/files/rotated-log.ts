/**
 * Rotates a log that another process keeps open for appending: `trainer-0.log` becomes `trainer-0.log.1`, that one `trainer-0.log.2`, and so on.
 *
 * The writer cannot be asked to open another file, so the bytes are copied and the log is emptied, as `copytruncate` of logrotate does. The writer
 * must have opened the log with `O_APPEND`: it then goes on at the beginning. What it writes between the last look of the copy and the emptying, a
 * matter of microseconds, is lost.
 */
import { type FileHandle, open, readdir, rename, rm, truncate } from "node:fs/promises";
import { basename, dirname } from "node:path";

import { PrlError } from "../errors.ts";
import { ifThere, isMissing } from "./file-presence.ts";
import { textLines } from "./text-lines.ts";

export interface LogLimits {
  /** A log that is larger is rotated. */
  readonly maxBytes: number;
  /** Number of rotated logs that stay beside each log; at least 1. */
  readonly keep: number;
}

const CHUNK_BYTES = 1024 * 1024;
/** A writer that is faster than the copy cannot make it endless: the rest is lost. */
const MOST_OF_LIMIT = 4;

/** Path of the newest rotated log (1), the one before it (2), ... */
export function rotatedPath(log: string, age: number): string {
  return `${log}.${age}`;
}

/** The lines of the rotated logs and of the log, from the oldest on; none where there is no file. */
export async function* allLines(log: string): AsyncGenerator<string> {
  const ages = await rotatedAges(log);
  for (const path of [...ages.toSorted((a, b) => b - a).map((age) => rotatedPath(log, age)), log]) {
    try {
      yield* textLines(path);
    } catch (error) {
      // Another process may be rotating them.
      if (!isMissing(error)) throw error;
    }
  }
}

/** Rotates the log when it is larger than the limit; says whether it did. Errors: PRL_IO, where the log itself is as it was. */
export async function rotateLog(log: string, limits: LogLimits): Promise<boolean> {
  const file = await ifThere(open(log, "r"), log);
  if (file === null) return false;
  const copy = rotatedPath(log, 0);
  try {
    const { size } = await file.stat();
    if (size <= limits.maxBytes) return false;
    // The oldest makes room for the copy: a disk may be nearly full.
    await removeOld(log, limits.keep);
    const copied = await copyFrom(file, 0, { path: copy, mostBytes: size });
    for (let age = limits.keep - 1; age >= 0; age--) {
      const from = rotatedPath(log, age);
      await ifThere(rename(from, rotatedPath(log, age + 1)), from);
    }
    // A reader that finds the log shorter goes on in the newest rotated one, so that this is in its place, and whole, before.
    await copyFrom(file, copied, { path: rotatedPath(log, 1), mostBytes: MOST_OF_LIMIT * limits.maxBytes });
    await truncate(log, 0);
    return true;
  } catch (cause) {
    await rm(copy, { force: true });
    throw new PrlError("PRL_IO", `cannot rotate the log ${log}`, { cause });
  } finally {
    await file.close();
  }
}

/** Removes rotated logs so that with one more there are `keep`, also where a higher limit left more. */
async function removeOld(log: string, keep: number): Promise<void> {
  for (const age of await rotatedAges(log)) if (age >= keep) await rm(rotatedPath(log, age), { force: true });
}

async function rotatedAges(log: string): Promise<number[]> {
  const prefix = `${basename(log)}.`;
  const names = (await ifThere(readdir(dirname(log)), dirname(log))) ?? [];
  const ages = names.map((name) => (name.startsWith(prefix) ? name.slice(prefix.length) : ""));
  return ages.filter((age) => /^\d+$/u.test(age)).map(Number);
}

/** Copies from byte `begin` on to the end of the other file; resolves to the byte that comes next. */
async function copyFrom(from: FileHandle, begin: number, to: { path: string; mostBytes: number }): Promise<number> {
  const file = await open(to.path, begin === 0 ? "w" : "a");
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES);
    let at = begin;
    while (at < begin + to.mostBytes) {
      const { bytesRead } = await from.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) break;
      await file.writeFile(buffer.subarray(0, bytesRead));
      at += bytesRead;
    }
    return at;
  } finally {
    await file.close();
  }
}
