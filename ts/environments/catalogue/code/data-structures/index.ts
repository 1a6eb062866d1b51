/** Programs that keep a structure up to date under operations. */
import type { Family, ProgramRow } from "../../row.ts";
import { accessTree } from "./access-tree.ts";
import { heapLayout } from "./heap-layout.ts";
import { probeTable } from "./probe-table.ts";
import { undoPartition } from "./undo-partition.ts";
import { wordCompletion } from "./word-completion.ts";

export const dataStructures: Family<ProgramRow> = {
  id: "data-structures",
  rows: [undoPartition, heapLayout, probeTable, accessTree, wordCompletion],
};
