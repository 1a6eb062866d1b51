/** Programs on graphs and trees under described rules. */
import type { Family, ProgramRow } from "../../row.ts";
import { layeredRoute } from "./layered-route.ts";
import { linkChoice } from "./link-choice.ts";
import { offerRounds } from "./offer-rounds.ts";
import { spreadingTimes } from "./spreading-times.ts";
import { treePaths } from "./tree-paths.ts";
import { workOrder } from "./work-order.ts";

export const graphPrograms: Family<ProgramRow> = {
  id: "graph-programs",
  rows: [layeredRoute, workOrder, treePaths, spreadingTimes, linkChoice, offerRounds],
};
