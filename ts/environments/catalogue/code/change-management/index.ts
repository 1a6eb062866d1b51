/** Changes of files and histories: patches, merges, graphs of commits, version locks, edit scripts, blame, the index and branches. */
import type { Family } from "../../row.ts";
import { applyPatch } from "./apply-patch.ts";
import { branchPositions } from "./branch-positions.ts";
import { commitGraphQuery } from "./commit-graph-query.ts";
import { dependencyLock } from "./dependency-lock.ts";
import { lineOrigins } from "./line-origins.ts";
import { listEditScript } from "./list-edit-script.ts";
import { stagingStates } from "./staging-states.ts";
import { threeWayMerge } from "./three-way-merge.ts";

export const changeManagement: Family = {
  id: "change-management",
  rows: [
    applyPatch,
    threeWayMerge,
    commitGraphQuery,
    dependencyLock,
    listEditScript,
    lineOrigins,
    stagingStates,
    branchPositions,
  ],
};
