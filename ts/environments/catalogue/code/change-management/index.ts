/** Changes of files and histories: patches, merges, graphs of commits, version locks and edit scripts. */
import type { Family } from "../../row.ts";
import { applyPatch } from "./apply-patch.ts";
import { commitGraphQuery } from "./commit-graph-query.ts";
import { dependencyLock } from "./dependency-lock.ts";
import { listEditScript } from "./list-edit-script.ts";
import { threeWayMerge } from "./three-way-merge.ts";

export const changeManagement: Family = {
  id: "change-management",
  rows: [applyPatch, threeWayMerge, commitGraphQuery, dependencyLock, listEditScript],
};
