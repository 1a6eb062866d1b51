/** Raw rows of one local file, by its extension. */
import { PrlError } from "../errors.ts";
import { csvRows } from "./csv.ts";
import { jsonRows } from "./json-list.ts";
import { parquetRows } from "./parquet.ts";
import { readLines, readText } from "./text-file.ts";

export const FORMATS = ["parquet", "jsonl", "csv", "json"] as const;
export type Format = (typeof FORMATS)[number];

const EXTENSIONS: Readonly<Record<string, Format>> = {
  ".parquet": "parquet",
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
  ".jsonl.gz": "jsonl",
  ".ndjson.gz": "jsonl",
  ".csv": "csv",
  ".tsv": "csv",
  ".csv.gz": "csv",
  ".tsv.gz": "csv",
  ".json": "json",
  ".json.gz": "json",
};

/** Null: a kind of file that we do not read. */
export function formatOf(path: string): Format | null {
  const extension = /\.[a-z]+(\.gz)?$/u.exec(path.toLowerCase())?.[0] ?? "";
  return EXTENSIONS[extension] ?? null;
}

/** A row and its place, `train.csv:17`. */
export interface RawRow {
  readonly row: unknown;
  readonly at: string;
}

/**
 * The rows of a file in their order.
 * @param columns the wanted keys, null: all; only parquet then reads less.
 * Errors: PRL_DATA_FILE, PRL_DATA_FORMAT naming file and line.
 */
export async function* fileRows(path: string, columns: readonly string[] | null): AsyncGenerator<RawRow> {
  const format = formatOf(path);
  if (format === null) {
    const known = Object.keys(EXTENSIONS).join(", ");
    throw new PrlError("PRL_DATA_FILE", `${path} is no data file that can be read; use ${known}`);
  }
  if (format === "parquet") {
    for await (const { row, index } of parquetRows(path, columns)) yield { row, at: `${path}, row ${index}` };
    return;
  }
  if (format === "jsonl") yield* jsonLines(path);
  else yield* placed(path, format === "csv" ? csvRows(readText(path), delimiterOf(path)) : jsonRows(readText(path)));
}

/** Lines of a text file that are not blank, and their places. Errors: PRL_DATA_FILE, PRL_DATA_FORMAT. */
export async function* fileLines(path: string): AsyncGenerator<{ readonly text: string; readonly at: string }> {
  let line = 0;
  for await (const text of readLines(path)) {
    line += 1;
    if (text.trim() !== "") yield { text, at: `${path}:${line}` };
  }
}

async function* jsonLines(path: string): AsyncGenerator<RawRow> {
  for await (const { text, at } of fileLines(path)) {
    let row: unknown;
    try {
      row = JSON.parse(text);
    } catch (cause) {
      throw new PrlError("PRL_DATA_FORMAT", `${at} is no JSON`, { cause });
    }
    yield { row, at };
  }
}

function delimiterOf(path: string): string {
  return /\.tsv(\.gz)?$/iu.test(path) ? "\t" : ",";
}

/** Rows by their lines, errors with the file. */
async function* placed(path: string, lines: AsyncIterable<{ row: unknown; line: number }>): AsyncGenerator<RawRow> {
  try {
    for await (const { row, line } of lines) yield { row, at: `${path}:${line}` };
  } catch (cause) {
    if (!(cause instanceof PrlError) || cause.message.includes(path)) throw cause;
    throw new PrlError(cause.code, `${path}, ${cause.message}`, { cause: cause.cause });
  }
}
