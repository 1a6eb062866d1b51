/** Programs that write and read codes of bytes, bits and texts. */
import type { Family, ProgramRow } from "../../row.ts";
import { backReferenceDecoder } from "./back-reference-decoder.ts";
import { bitPackedRecords } from "./bit-packed-records.ts";
import { canonicalPrefixCode } from "./canonical-prefix-code.ts";
import { runLengthText } from "./run-length-text.ts";
import { variableLengthNumbers } from "./variable-length-numbers.ts";

export const encoders: Family<ProgramRow> = {
  id: "encoders",
  rows: [variableLengthNumbers, runLengthText, backReferenceDecoder, canonicalPrefixCode, bitPackedRecords],
};
