/** A text file piece by piece, `.gz` unpacked on the way. */
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";

import { PrlError } from "../errors.ts";

/** Errors: PRL_DATA_FILE when it cannot be read, PRL_DATA_FORMAT when it is not UTF-8 or its gzip is broken. */
export async function* readText(path: string): AsyncGenerator<string> {
  const file = createReadStream(path, { highWaterMark: 256 * 1024 });
  const unpacked = path.endsWith(".gz") ? pipeline(file, createGunzip(), () => undefined) : file;
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
  try {
    for await (const bytes of unpacked) yield decoder.decode(bytes as Buffer, { stream: true });
    yield decoder.decode();
  } catch (cause) {
    const code = cause instanceof Error && "code" in cause ? String(cause.code) : "";
    if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") {
      throw new PrlError("PRL_DATA_FORMAT", `${path} is not UTF-8 text`, { cause });
    }
    if (code.startsWith("Z_")) throw new PrlError("PRL_DATA_FORMAT", `${path} is no whole gzip file`, { cause });
    throw new PrlError("PRL_DATA_FILE", `${path} cannot be read`, { cause });
  } finally {
    file.destroy();
  }
}

/** Its lines without their ends, LF or CRLF; text behind the last line end is a line, too. */
export async function* readLines(path: string): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of readText(path)) {
    // Only the piece is searched: a line of many pieces would else be read again with each of them.
    const lines = piece.split("\n");
    lines[0] = rest + (lines[0] ?? "");
    rest = lines.pop() ?? "";
    if (rest.length > LONGEST_LINE) throw new PrlError("PRL_DATA_FORMAT", `${path}: a line is longer than 256 MiB`);
    for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
  }
  if (rest !== "") yield rest;
}

/** LiveCodeBench's rows hold all tests of a problem, tens of MiB each. */
const LONGEST_LINE = 256 * 1024 * 1024;
