/** A text file line by line. */
import { createReadStream } from "node:fs";

/**
 * The lines of a file of UTF-8 text, without their ends: LF or CRLF. Text behind the last end is a line, too.
 *
 * Not `node:readline`, which from Node 24.2 on also ends a line at U+2028 and U+2029: JSON has these inside of its texts. Errors are those of the
 * file system.
 */
export async function* textLines(path: string): AsyncGenerator<string> {
  let rest = "";
  for await (const piece of createReadStream(path, "utf8") as AsyncIterable<string>) {
    const lines = piece.split("\n");
    lines[0] = rest + (lines[0] ?? "");
    rest = lines.pop() ?? "";
    for (const line of lines) yield line.endsWith("\r") ? line.slice(0, -1) : line;
  }
  if (rest !== "") yield rest;
}
