/** The types that compilers find, and the assignments that they refuse. */
import type { Family } from "../../row.ts";
import { assignableTypes } from "./assignable-types.ts";
import { usualConversions } from "./usual-conversions.ts";

export const typeRules: Family = {
  id: "type-rules",
  rows: [usualConversions, assignableTypes],
};
