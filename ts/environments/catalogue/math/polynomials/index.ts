/** Polynomials and equations: each row uses another structure, and four answers are certificates. */
import type { Family } from "../../row.ts";
import { absoluteValueEquation } from "./absolute-value-equation.ts";
import { allRealRoots } from "./all-real-roots.ts";
import { coprimeWitness } from "./coprime-witness.ts";
import { extensionFieldInverse } from "./extension-field-inverse.ts";
import { factorOverRationals } from "./factor-over-rationals.ts";
import { floorEquation } from "./floor-equation.ts";
import { minimalPolynomial } from "./minimal-polynomial.ts";
import { numbersFromPowerSums } from "./numbers-from-power-sums.ts";
import { partialFractions } from "./partial-fractions.ts";
import { remainderHighPower } from "./remainder-high-power.ts";
import { rootIsolation } from "./root-isolation.ts";
import { rootSums } from "./root-sums.ts";
import { valueFromPoints } from "./value-from-points.ts";

export const polynomials: Family = {
  id: "polynomials",
  rows: [
    rootSums,
    valueFromPoints,
    remainderHighPower,
    partialFractions,
    minimalPolynomial,
    numbersFromPowerSums,
    absoluteValueEquation,
    floorEquation,
    allRealRoots,
    factorOverRationals,
    coprimeWitness,
    extensionFieldInverse,
    rootIsolation,
  ],
};
