/** Earth and sky: places on a sphere, orbits, waves in the ground, air and the age of rocks. */
import type { Family } from "../../row.ts";
import { greatCircleRoute } from "./great-circle-route.ts";
import { isotopeAgeData } from "./isotope-age-data.ts";
import { moistAirBudget } from "./moist-air-budget.ts";
import { quakeLocation } from "./quake-location.ts";
import { skyPositionTime } from "./sky-position-time.ts";
import { transferOrbitPlan } from "./transfer-orbit-plan.ts";

export const earthAndSky: Family = {
  id: "earth-and-sky",
  rows: [transferOrbitPlan, skyPositionTime, greatCircleRoute, quakeLocation, moistAirBudget, isotopeAgeData],
};
