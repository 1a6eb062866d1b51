/** Representations of data in bits and bytes: layouts, codes, small floats, caches and page tables. */
import type { Family } from "../../row.ts";
import { boundedBitProgram } from "./bounded-bit-program.ts";
import { cacheTrace } from "./cache-trace.ts";
import { errorCorrection } from "./error-correction.ts";
import { minifloatReasoning } from "./minifloat-reasoning.ts";
import { pageWalk } from "./page-walk.ts";
import { structLayout } from "./struct-layout.ts";
import { taggedMessage } from "./tagged-message.ts";

export const lowLevel: Family = {
  id: "low-level",
  rows: [structLayout, taggedMessage, minifloatReasoning, errorCorrection, cacheTrace, pageWalk, boundedBitProgram],
};
