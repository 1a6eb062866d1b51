/** Rules of real languages that decide what a program prints: lifetimes, macros, pointers, prototypes and slices. */
import type { Family } from "../../row.ts";
import { macroExpansionReading } from "./macro-expansion-reading.ts";
import { objectLifetimes } from "./object-lifetimes.ts";
import { pointerWalk } from "./pointer-walk.ts";
import { sliceSurgery } from "./slice-surgery.ts";
import { thisAndPrototypes } from "./this-and-prototypes.ts";

export const languageRules: Family = {
  id: "language-rules",
  rows: [objectLifetimes, macroExpansionReading, pointerWalk, thisAndPrototypes, sliceSurgery],
};
