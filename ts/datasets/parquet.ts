/**
 * Rows of a parquet file, one row group in memory at a time.
 *
 * Values become JSON: integers become numbers (text beyond 2^53), times ISO texts, bytes base64, absent values null.
 */
import { PrlError } from "../errors.ts";

/**
 * @param columns the columns to read; null: all. A missing column is left out; the schema of the rows says whether it is required.
 * Errors: PRL_DATA_FILE when it cannot be read, PRL_DATA_FORMAT when it is not a parquet file that we can read.
 */
export async function* parquetRows(
  path: string,
  columns: readonly string[] | null,
): AsyncGenerator<{ readonly row: Record<string, unknown>; readonly index: number }> {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } = await import("hyparquet");
  const { compressors } = await import("hyparquet-compressors");
  const file = await asyncBufferFromFile(path).catch((cause: unknown) => {
    throw new PrlError("PRL_DATA_FILE", `${path} cannot be read`, { cause });
  });
  const read = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await work();
    } catch (cause) {
      throw new PrlError("PRL_DATA_FORMAT", `${path} cannot be read as parquet`, { cause });
    }
  };
  const metadata = await read(() => parquetMetadataAsync(file));
  const there = new Set(metadata.row_groups[0]?.columns.map(({ meta_data }) => meta_data?.path_in_schema[0] ?? ""));
  const wanted = columns?.filter((column) => there.has(column));
  let start = 0;
  for (const group of metadata.row_groups) {
    const range = { rowStart: start, rowEnd: start + Number(group.num_rows) };
    const options = { file, metadata, compressors, utf8: false, ...range };
    const rows = await read(() => parquetReadObjects(wanted === undefined ? options : { ...options, columns: wanted }));
    for (const [offset, row] of rows.entries()) {
      yield { row: jsonOf(row) as Record<string, unknown>, index: start + offset };
    }
    start = range.rowEnd;
  }
}

function jsonOf(value: unknown): unknown {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value === undefined) return null;
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (ArrayBuffer.isView(value)) return Array.from(value as Float32Array | BigInt64Array, jsonOf);
  if (Array.isArray(value)) return value.map(jsonOf);
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, jsonOf(inner)]));
}
