/** Files, versions, policies and builds as the tools that read them decide. */
import type { Family } from "../../row.ts";
import { documentPatch } from "./document-patch.ts";
import { jobMatrix } from "./job-matrix.ts";
import { layerCache } from "./layer-cache.ts";
import { policyEvaluation } from "./policy-evaluation.ts";
import { symbolicModes } from "./symbolic-modes.ts";
import { versionRanges } from "./version-ranges.ts";

export const configuration: Family = {
  id: "configuration",
  rows: [symbolicModes, policyEvaluation, documentPatch, versionRanges, layerCache, jobMatrix],
};
