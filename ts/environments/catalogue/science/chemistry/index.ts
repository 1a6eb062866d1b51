/** Chemistry: amounts, formulas, equilibria and rates, where the usual approximation fails. */
import type { Family } from "../../row.ts";
import { cellAndElectrolysis } from "./cell-and-electrolysis.ts";
import { colligativeMixture } from "./colligative-mixture.ts";
import { enthalpyCombination } from "./enthalpy-combination.ts";
import { equilibriumComposition } from "./equilibrium-composition.ts";
import { formulaFromAnalysis } from "./formula-from-analysis.ts";
import { isomerCensus } from "./isomer-census.ts";
import { limitingReagentYield } from "./limiting-reagent-yield.ts";
import { rateLawFromRuns } from "./rate-law-from-runs.ts";
import { solutionPh } from "./solution-ph.ts";
import { structureStringFacts } from "./structure-string-facts.ts";

export const chemistry: Family = {
  id: "chemistry",
  rows: [
    limitingReagentYield,
    formulaFromAnalysis,
    solutionPh,
    rateLawFromRuns,
    colligativeMixture,
    equilibriumComposition,
    enthalpyCombination,
    cellAndElectrolysis,
    isomerCensus,
    structureStringFacts,
  ],
};
