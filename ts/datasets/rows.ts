/**
 * `rows(source, schema)`: data as typed task rows, read on demand.
 *
 * The schema defines a row: it drops or refuses unknown keys, and turns texts of a CSV into numbers where it coerces.
 */
import { resolve } from "node:path";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { abortSignal, checkOptions, number, only, table } from "../options.ts";
import { ofSplit, type Use } from "./split.ts";
import type { Rng } from "../random/rng.ts";
import { type DatasetReference, datasetFiles } from "./dataset.ts";
import { fileRows, type RawRow } from "./files.ts";

/** Local files in their order (`.jsonl`, `.json`, `.csv`, `.tsv`, also with `.gz`, and `.parquet`), or a dataset of the Hugging Face hub. */
export type DataSource = { readonly file: string | readonly string[] } | DatasetReference;

export interface RowsOptions {
  /** Draws the order. A reservoir of `shuffleBuffer` rows is kept: for data with at most this many rows every order is equally likely. */
  readonly shuffle?: Rng;
  /** Default 10,000. */
  readonly shuffleBuffer?: number;
  /** For data without splits: gives only the rows of this split. The content of a row decides; of eight four go to `train`, one to `eval`, three to `demonstrations`. */
  readonly use?: Use;
  /** Most rows, counted after all other options. */
  readonly limit?: number;
  /** An abort ends the reading, downloads included. */
  readonly signal?: AbortSignal;
}

const optionsSchema = only<RowsOptions>({
  shuffle: table.optional(),
  shuffleBuffer: number.optional(),
  use: z.enum(["train", "eval", "demonstrations"]).optional(),
  limit: number.optional(),
  signal: abortSignal.optional(),
});
const fileSchema = only<{ file: string | readonly string[] }>({
  file: z.union([z.string(), z.array(z.string())], "must be a path or a list of paths"),
});
const datasetSchema = only<DatasetReference>({
  dataset: z.string(),
  split: z.string(),
  config: z.string().optional(),
  revision: z.string().optional(),
  files: z.union([z.string(), z.array(z.string()).min(1)], "must be a pattern or a list of patterns").optional(),
});

const SHUFFLE_BUFFER = 10_000;

/**
 * Errors, when the rows are read: PRL_DATA_FILE, PRL_DATA_FORMAT, PRL_DATA_ROW (a row that does not fit the schema, with its place), PRL_HUB_...
 * for datasets.
 */
export async function* rows<Schema extends z.ZodType>(
  source: DataSource,
  schema: Schema,
  options: RowsOptions = {},
): AsyncGenerator<z.output<Schema>> {
  for await (const { row } of placedRows(source, schema, options)) yield row;
}

/** A row and its place, `train.csv:17`. */
export interface PlacedRow<Row> {
  readonly row: Row;
  readonly at: string;
}

/** The same with the place of each row, for callers that find errors which the schema does not see. */
export async function* placedRows<Schema extends z.ZodType>(
  source: DataSource,
  schema: Schema,
  options: RowsOptions = {},
): AsyncGenerator<PlacedRow<z.output<Schema>>> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "rows", optionsSchema, options);
  const { shuffle, shuffleBuffer = SHUFFLE_BUFFER, use, limit = Infinity, signal } = options;
  let stream: AsyncIterable<PlacedRow<z.output<Schema>>> = typed(await sourceFiles(source, signal), schema, signal);
  if (use !== undefined) stream = onlyOf(stream, use);
  if (shuffle !== undefined) stream = shuffled(stream, shuffle, shuffleBuffer);
  let given = 0;
  if (limit <= 0) return;
  for await (const row of stream) {
    yield row;
    if (++given >= limit) return;
  }
}

/** The files that a source's rows come from, those of a dataset downloaded where they are not in the cache. Errors: PRL_HUB_... */
export async function sourceFiles(source: DataSource, signal?: AbortSignal): Promise<string[]> {
  checkOptions("PRL_ENVIRONMENT_INVALID", "a source of rows", "file" in source ? fileSchema : datasetSchema, source);
  return "file" in source ? localFiles(source.file) : datasetFiles(source, signal);
}

function localFiles(file: string | readonly string[]): string[] {
  return (typeof file === "string" ? [file] : [...file]).map((path) => resolve(path));
}

async function* typed<Schema extends z.ZodType>(
  files: readonly string[],
  schema: Schema,
  signal: AbortSignal | undefined,
): AsyncGenerator<PlacedRow<z.output<Schema>>> {
  for (const file of files) {
    for await (const raw of fileRows(file, columnsOf(schema))) {
      signal?.throwIfAborted();
      yield { row: parse(raw, schema), at: raw.at };
    }
  }
}

function parse<Schema extends z.ZodType>({ row, at }: RawRow, schema: Schema): z.output<Schema> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  throw new PrlError("PRL_DATA_ROW", `${at} does not fit: ${z.prettifyError(parsed.error).replaceAll("\n", " ")}`);
}

/** The keys of a plain object's schema; null where it does not fix a row's keys. */
function columnsOf(schema: z.ZodType): readonly string[] | null {
  if (schema instanceof z.ZodPipe && schema.def.in instanceof z.ZodObject) return columnsOf(schema.def.in);
  if (!(schema instanceof z.ZodObject)) return null;
  return schema.def.catchall === undefined ? Object.keys(schema.shape) : null;
}

async function* onlyOf<Row>(stream: AsyncIterable<PlacedRow<Row>>, use: Use): AsyncGenerator<PlacedRow<Row>> {
  for await (const placed of stream) yield* ofSplit([placed], use, ({ row }) => row);
}

/** Fills the reservoir, then gives a random one of it for every row that comes, and at the end the rest in random order. */
async function* shuffled<Row>(stream: AsyncIterable<Row>, rng: Rng, buffer: number): AsyncGenerator<Row> {
  const held: Row[] = [];
  const draw = (): Row => {
    const at = rng.integer(held.length);
    const last = held.length - 1;
    [held[at], held[last]] = [held[last] as Row, held[at] as Row];
    return held.pop() as Row;
  };
  for await (const row of stream) {
    if (held.length >= Math.max(1, buffer)) yield draw();
    held.push(row);
  }
  while (held.length > 0) yield draw();
}
