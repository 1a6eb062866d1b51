/** Collections: what many records say together, and which of them belong together. */
import type { Family } from "../../row.ts";
import { booleanQueryWriter } from "./boolean-query-writer.ts";
import { overwrittenKeys } from "./overwritten-keys.ts";
import { paraphraseProvenance } from "./paraphrase-provenance.ts";
import { requirementCoverage } from "./requirement-coverage.ts";

export const collections: Family = {
  id: "collections",
  rows: [overwrittenKeys, paraphraseProvenance, booleanQueryWriter, requirementCoverage],
};
