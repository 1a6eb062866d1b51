/** Ten geometries: packing, cutting, routing, sequencing, layout and choice. */
import type { Geometry } from "../geometry.ts";
import { changeoverLines } from "./changeover-lines.ts";
import { channelPlan } from "./channel-plan.ts";
import { conflictBins } from "./conflict-bins.ts";
import { floorLayout } from "./floor-layout.ts";
import { groupedKnapsack } from "./grouped-knapsack.ts";
import { lineArrangement } from "./line-arrangement.ts";
import { siteOpening } from "./site-opening.ts";
import { stockCutting } from "./stock-cutting.ts";
import { stripPacking } from "./strip-packing.ts";
import { vehicleRoutes } from "./vehicle-routes.ts";

export const GEOMETRIES: readonly Geometry[] = [
  conflictBins,
  stripPacking,
  vehicleRoutes,
  changeoverLines,
  channelPlan,
  siteOpening,
  stockCutting,
  groupedKnapsack,
  lineArrangement,
  floorLayout,
];
