/** Plans that bind: every call uses up something that a better plan would have needed. */
import type { Family, WorldRow } from "../../row.ts";
import { batteryPlan } from "./battery-plan.ts";
import { openPatience } from "./open-patience.ts";
import { tripDispatch } from "./trip-dispatch.ts";
import { workshopCrafting } from "./workshop-crafting.ts";

export const committedPlans: Family<WorldRow> = {
  id: "committed-plans",
  rows: [tripDispatch, batteryPlan, workshopCrafting, openPatience],
};
