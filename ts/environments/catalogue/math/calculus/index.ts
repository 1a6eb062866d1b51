/** Series, derivatives and integrals with exact values. */
import type { Family } from "../../row.ts";
import { implicitDerivatives } from "./implicit-derivatives.ts";
import { limitByExpansion } from "./limit-by-expansion.ts";
import { odeSeriesCoefficient } from "./ode-series-coefficient.ts";
import { padeApproximant } from "./pade-approximant.ts";
import { polygonCirculation } from "./polygon-circulation.ts";
import { quadratureWeights } from "./quadrature-weights.ts";
import { seriesReversion } from "./series-reversion.ts";
import { taylorCoefficient } from "./taylor-coefficient.ts";

export const calculus: Family = {
  id: "calculus",
  rows: [
    implicitDerivatives,
    limitByExpansion,
    odeSeriesCoefficient,
    padeApproximant,
    polygonCirculation,
    quadratureWeights,
    seriesReversion,
    taylorCoefficient,
  ],
};
