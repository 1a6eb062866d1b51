/** Measurement and statistics: which estimate the data allow, and how sure it is. */
import type { Family } from "../../row.ts";
import { aliasedEffects } from "./aliased-effects.ts";
import { anovaTableRepair } from "./anova-table-repair.ts";
import { calibrationInversion } from "./calibration-inversion.ts";
import { censoredSurvivalTable } from "./censored-survival-table.ts";
import { conjugateUpdate } from "./conjugate-update.ts";
import { inventedUnitsConversion } from "./invented-units-conversion.ts";
import { measurementCombination } from "./measurement-combination.ts";
import { regressionDiagnosis } from "./regression-diagnosis.ts";
import { uncertaintyPropagation } from "./uncertainty-propagation.ts";

export const measurement: Family = {
  id: "measurement",
  rows: [
    measurementCombination,
    censoredSurvivalTable,
    calibrationInversion,
    inventedUnitsConversion,
    uncertaintyPropagation,
    regressionDiagnosis,
    anovaTableRepair,
    conjugateUpdate,
    aliasedEffects,
  ],
};
