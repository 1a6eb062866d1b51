/**
 * One row of a large JSON Lines file by its line.
 *
 * The tests of LiveCodeBench are gigabytes. A task holds only the place of its row, and its tests are read when a reply is scored.
 */
import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";

import { PrlError } from "../../../../errors.ts";

const LINE_FEED = 0x0a;
const PIECE_BYTES = 1 << 20;

/** Where lines begin, by file, and where the last one ends. A file of the cache never changes. */
const known = new Map<string, Promise<readonly number[]>>();

/** The row at a line, counted from 1. Errors: PRL_DATA_FILE, PRL_DATA_FORMAT. */
export async function rowAt(path: string, line: number): Promise<unknown> {
  const starts = await (known.get(path) ?? indexed(path));
  const [start, end] = [starts[line - 1], starts[line]];
  if (start === undefined || end === undefined)
    throw new PrlError("PRL_DATA_FORMAT", `${path}:${line}: the file has ${starts.length - 1} lines`);
  const file = await open(path);
  try {
    const bytes = Buffer.alloc(end - start);
    await file.read(bytes, 0, bytes.length, start);
    return JSON.parse(bytes.toString("utf8")) as unknown;
  } catch (cause) {
    throw new PrlError("PRL_DATA_FORMAT", `${path}:${line} is no JSON`, { cause });
  } finally {
    await file.close();
  }
}

function indexed(path: string): Promise<readonly number[]> {
  const reading = lineStarts(path);
  known.set(path, reading);
  reading.catch(() => known.delete(path));
  return reading;
}

async function lineStarts(path: string): Promise<readonly number[]> {
  const starts = [0];
  let read = 0;
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: PIECE_BYTES })) {
      const bytes = chunk as Buffer;
      for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1))
        starts.push(read + at + 1);
      read += bytes.length;
    }
  } catch (cause) {
    throw new PrlError("PRL_DATA_FILE", `${path} cannot be read`, { cause });
  }
  if (starts.at(-1) !== read) starts.push(read);
  return starts;
}
