/** Representations of data in bits and bytes: layouts, codes, small floats, caches, page tables, texts and heaps. */
import type { Family } from "../../row.ts";
import { allocatorTrace } from "./allocator-trace.ts";
import { boundedBitProgram } from "./bounded-bit-program.ts";
import { cacheTrace } from "./cache-trace.ts";
import { errorCorrection } from "./error-correction.ts";
import { minifloatReasoning } from "./minifloat-reasoning.ts";
import { pageWalk } from "./page-walk.ts";
import { structLayout } from "./struct-layout.ts";
import { taggedMessage } from "./tagged-message.ts";
import { utf8Decoding } from "./utf8-decoding.ts";

export const lowLevel: Family = {
  id: "low-level",
  rows: [
    structLayout,
    taggedMessage,
    minifloatReasoning,
    errorCorrection,
    cacheTrace,
    pageWalk,
    boundedBitProgram,
    utf8Decoding,
    allocatorTrace,
  ],
};
