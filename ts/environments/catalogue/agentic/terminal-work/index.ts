/** Work at a terminal: the policy has a shell in a sandbox, and the files that it leaves there are graded. */
import type { BoxRow, Family } from "../../row.ts";
import { damagedRecordsRecovery } from "./damaged-records-recovery/index.ts";
import { diskPolicyCleanup } from "./disk-policy-cleanup/index.ts";
import { incrementalLoad } from "./incremental-load/index.ts";
import { integrityRepair } from "./integrity-repair/index.ts";
import { logForensics } from "./log-forensics/index.ts";
import { secretPurge } from "./secret-purge/index.ts";

export const terminalWork: Family<BoxRow> = {
  id: "terminal-work",
  rows: [diskPolicyCleanup, integrityRepair, damagedRecordsRecovery, secretPurge, logForensics, incrementalLoad],
};
