/** Reads the rows of a benchmark: the published ones, checked against their pin, or a copy that the user names, which is not checked. */
import { existsSync } from "node:fs";
import { z } from "zod";

import {
  checkRowCount,
  type DatasetReference,
  formatOf,
  type PinnedData,
  pinnedFiles,
  type PlacedRow,
  placedRows,
  sourceFiles,
} from "../../datasets/index.ts";
import { PrlError } from "../../errors.ts";
import type { Benchmark } from "./benchmark.ts";

/** Where rows come from instead of the published place. */
export interface OtherSource {
  /** A local file, or a dataset of the hub. */
  readonly data: string | null;
  readonly revision: string | null;
}

/**
 * The rows in the published order. Errors: those of `pinnedFiles`, PRL_BENCHMARK_CHANGED for another number of rows (when the last one has been
 * read), PRL_DATA_ROW for a row of another shape.
 */
export async function* benchmarkRows<Row extends object>(
  name: string,
  pinned: PinnedData,
  { row: schema, readRows }: Pick<Benchmark<Row>, "row" | "readRows">,
  other: OtherSource = { data: null, revision: null },
): AsyncGenerator<PlacedRow<Row>> {
  const file = await benchmarkFiles(name, pinned, other);
  const isCopy = other.data !== null || other.revision !== null;
  const rows = readRows === undefined ? placedRows({ file }, schema) : typed(readRows(file), schema);
  let came = 0;
  for await (const placed of rows) {
    came += 1;
    if (isCopy || came <= pinned.rows) yield placed;
  }
  if (!isCopy) checkRowCount(name, pinned, came);
}

async function* typed<Row>(
  rows: AsyncIterable<PlacedRow<unknown>>,
  schema: z.ZodType<Row>,
): AsyncGenerator<PlacedRow<Row>> {
  for await (const { row, at } of rows) {
    const parsed = schema.safeParse(row);
    if (!parsed.success)
      throw new PrlError("PRL_DATA_ROW", `${at} does not fit: ${z.prettifyError(parsed.error).replaceAll("\n", " ")}`);
    yield { row: parsed.data, at };
  }
}

/** Local paths of the files that the rows come from. Errors: those of `pinnedFiles`, PRL_DATA_FILE for a copy that is not there. */
export async function benchmarkFiles(
  name: string,
  pinned: PinnedData,
  { data, revision }: OtherSource,
): Promise<string[]> {
  if (data === null && revision === null) return pinnedFiles(name, pinned);
  if (data !== null && formatOf(data) !== null) {
    if (!existsSync(data)) throw new PrlError("PRL_DATA_FILE", `benchmark "${name}": data: there is no file ${data}`);
    return [data];
  }
  const reference: DatasetReference = {
    dataset: data ?? pinned.dataset,
    split: pinned.split,
    config: pinned.config,
    files: pinned.files,
    revision: revision ?? "main",
  };
  return sourceFiles(reference);
}
