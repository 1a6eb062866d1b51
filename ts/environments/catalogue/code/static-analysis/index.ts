/** Static facts about programs: types, flows, scopes and conditions, which a fixpoint or a search decides. */
import type { Family } from "../../row.ts";
import { immediateDominators } from "./immediate-dominators.ts";
import { liveness } from "./liveness.ts";
import { matchArmCounts } from "./match-arm-counts.ts";
import { nullFlow } from "./null-flow.ts";
import { principalType } from "./principal-type.ts";
import { scopeResolution } from "./scope-resolution.ts";
import { weakestPrecondition } from "./weakest-precondition.ts";

export const staticAnalysis: Family = {
  id: "static-analysis",
  rows: [principalType, scopeResolution, liveness, nullFlow, matchArmCounts, weakestPrecondition, immediateDominators],
};
