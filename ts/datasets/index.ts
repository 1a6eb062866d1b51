/** Data sets as typed rows: local files, and repositories of the Hugging Face hub. */
export { ofSplit, type Use, useOfContent } from "./split.ts";
export { taskHash, type Split } from "./task-hash.ts";
export { type DatasetReference } from "./dataset.ts";
export { fileLines, formatOf } from "./files.ts";
export { checkRowCount, dataPage, isCached, type PinnedData, pinnedFiles } from "./pinned.ts";
export { type DataSource, type PlacedRow, type RowsOptions, placedRows, rows, sourceFiles } from "./rows.ts";
