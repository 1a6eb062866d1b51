/** Linear algebra over whole numbers and fractions; each row asks for another object. */
import type { Family } from "../../row.ts";
import { basisChangeMap } from "./basis-change-map.ts";
import { characteristicCoefficients } from "./characteristic-coefficients.ts";
import { definitenessThreshold } from "./definiteness-threshold.ts";
import { invariantFactors } from "./invariant-factors.ts";
import { leastSquaresResidual } from "./least-squares-residual.ts";
import { matrixPowerEntry } from "./matrix-power-entry.ts";
import { spanMembership } from "./span-membership.ts";
import { structuredDeterminant } from "./structured-determinant.ts";

export const linearAlgebra: Family = {
  id: "linear-algebra",
  rows: [
    structuredDeterminant,
    matrixPowerEntry,
    leastSquaresResidual,
    basisChangeMap,
    characteristicCoefficients,
    invariantFactors,
    definitenessThreshold,
    spanMembership,
  ],
};
