/** Programs that compare, rewrite and count texts under described rules. */
import type { Family, ProgramRow } from "../../row.ts";
import { editCost } from "./edit-cost.ts";
import { patternedCount } from "./patterned-count.ts";
import { repeatedParts } from "./repeated-parts.ts";
import { rewritingSteps } from "./rewriting-steps.ts";
import { wordPuzzleMarks } from "./word-puzzle-marks.ts";

export const stringPrograms: Family<ProgramRow> = {
  id: "string-programs",
  rows: [editCost, rewritingSteps, repeatedParts, wordPuzzleMarks, patternedCount],
};
