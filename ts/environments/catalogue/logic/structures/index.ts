/** Structures on which formulas, constraints and rules are evaluated: runs, worlds, time lines, circuits and codes of rules. */
import type { Family } from "../../row.ts";
import { closestRevision } from "./closest-revision.ts";
import { doubleFaultPairs } from "./double-fault-pairs.ts";
import { intervalRelations } from "./interval-relations.ts";
import { lassoFormulas } from "./lasso-formulas.ts";
import { overrideRules } from "./override-rules.ts";
import { possibleWorlds } from "./possible-worlds.ts";
import { tightestTimeBounds } from "./tightest-time-bounds.ts";

export const structures: Family = {
  id: "structures",
  rows: [
    lassoFormulas,
    possibleWorlds,
    tightestTimeBounds,
    intervalRelations,
    closestRevision,
    overrideRules,
    doubleFaultPairs,
  ],
};
