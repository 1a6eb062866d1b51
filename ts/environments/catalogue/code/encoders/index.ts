/** Programs that write and read codes of bytes, bits and texts. */
import type { Family, ProgramRow } from "../../row.ts";
import { byteFraming } from "./byte-framing.ts";
import { digitBlocks } from "./digit-blocks.ts";
import { prefixByteDecoder } from "./prefix-byte-decoder.ts";
import { recentFirstRanks } from "./recent-first-ranks.ts";
import { backReferenceDecoder } from "./back-reference-decoder.ts";
import { bitPackedRecords } from "./bit-packed-records.ts";
import { canonicalPrefixCode } from "./canonical-prefix-code.ts";
import { runLengthText } from "./run-length-text.ts";
import { variableLengthNumbers } from "./variable-length-numbers.ts";

export const encoders: Family<ProgramRow> = {
  id: "encoders",
  rows: [
    variableLengthNumbers,
    runLengthText,
    backReferenceDecoder,
    canonicalPrefixCode,
    bitPackedRecords,
    byteFraming,
    prefixByteDecoder,
    digitBlocks,
    recentFirstRanks,
  ],
};
