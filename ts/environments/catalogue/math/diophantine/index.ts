/** Equations in whole and rational numbers. */
import type { Family } from "../../row.ts";
import { classNumber } from "./class-number.ts";
import { egyptianFractionBound } from "./egyptian-fraction-bound.ts";
import { factoredEquationSolutions } from "./factored-equation-solutions.ts";
import { formReduction } from "./form-reduction.ts";
import { henselRoot } from "./hensel-root.ts";
import { pellSolutions } from "./pell-solutions.ts";
import { progressionSums } from "./progression-sums.ts";
import { rationalConicPoint } from "./rational-conic-point.ts";
import { rightTriangleCensus } from "./right-triangle-census.ts";
import { sumOfSquaresWays } from "./sum-of-squares-ways.ts";
import { vietaDescent } from "./vieta-descent.ts";

export const diophantine: Family = {
  id: "diophantine",
  rows: [
    pellSolutions,
    rightTriangleCensus,
    factoredEquationSolutions,
    sumOfSquaresWays,
    vietaDescent,
    egyptianFractionBound,
    rationalConicPoint,
    progressionSums,
    formReduction,
    classNumber,
    henselRoot,
  ],
};
