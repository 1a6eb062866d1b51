/** How databases store, find and recover rows: trees, logs, keys and plans. */
import type { Family } from "../../row.ts";
import { cascadeDeletes } from "./cascade-deletes.ts";
import { conflictClauses } from "./conflict-clauses.ts";
import { logRecovery } from "./log-recovery.ts";
import { mergedRuns } from "./merged-runs.ts";
import { treeAfterInserts } from "./tree-after-inserts.ts";

export const storage: Family = {
  id: "storage",
  rows: [treeAfterInserts, mergedRuns, logRecovery, cascadeDeletes, conflictClauses],
};
