/** Reanalysis: figures of studies, tables and notes that are computed anew and checked. */
import type { Family } from "../../row.ts";
import { citationMeasures } from "./citation-measures.ts";
import { coderAgreement } from "./coder-agreement.ts";
import { compelledArrows } from "./compelled-arrows.ts";
import { excavationSequence } from "./excavation-sequence.ts";
import { impossibleMeans } from "./impossible-means.ts";
import { pooledStudies } from "./pooled-studies.ts";
import { standardisedRates } from "./standardised-rates.ts";

export const reanalysis: Family = {
  id: "reanalysis",
  rows: [
    pooledStudies,
    impossibleMeans,
    standardisedRates,
    coderAgreement,
    compelledArrows,
    excavationSequence,
    citationMeasures,
  ],
};
