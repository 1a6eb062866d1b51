/** Best points, plans and shares, with proofs that they are the best where there are short ones. */
import type { Family } from "../../row.ts";
import { absoluteDeviationMinimum } from "./absolute-deviation-minimum.ts";
import { assignmentWithPrices } from "./assignment-with-prices.ts";
import { chebyshevLine } from "./chebyshev-line.ts";
import { formOnEllipsoid } from "./form-on-ellipsoid.ts";
import { infeasibilityMultipliers } from "./infeasibility-multipliers.ts";
import { integerProgramPoint } from "./integer-program-point.ts";
import { linearProgramWithDual } from "./linear-program-with-dual.ts";
import { machineSchedule } from "./machine-schedule.ts";
import { nashEquilibrium } from "./nash-equilibrium.ts";
import { optimalPrefixCode } from "./optimal-prefix-code.ts";
import { shapleyShares } from "./shapley-shares.ts";
import { shortTour } from "./short-tour.ts";
import { sumOfSquaresForm } from "./sum-of-squares-form.ts";
import { weightedCover } from "./weighted-cover.ts";

export const optimisation: Family = {
  id: "optimisation",
  rows: [
    absoluteDeviationMinimum,
    assignmentWithPrices,
    chebyshevLine,
    formOnEllipsoid,
    infeasibilityMultipliers,
    integerProgramPoint,
    linearProgramWithDual,
    machineSchedule,
    nashEquilibrium,
    optimalPrefixCode,
    shapleyShares,
    shortTour,
    sumOfSquaresForm,
    weightedCover,
  ],
};
