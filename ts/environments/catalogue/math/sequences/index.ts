/** Sequences and sums: far terms and exact totals. */
import type { Family } from "../../row.ts";
import { eliminationCircle } from "./elimination-circle.ts";
import { endlessConcatenation } from "./endless-concatenation.ts";
import { mergedMultiples } from "./merged-multiples.ts";
import { polynomialGeometricSeries } from "./polynomial-geometric-series.ts";
import { productCoefficient } from "./product-coefficient.ts";
import { telescopingReciprocals } from "./telescoping-reciprocals.ts";

export const sequences: Family = {
  id: "sequences",
  rows: [
    productCoefficient,
    polynomialGeometricSeries,
    telescopingReciprocals,
    mergedMultiples,
    eliminationCircle,
    endlessConcatenation,
  ],
};
