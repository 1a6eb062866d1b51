/** The families of the category agentic. */
import type { BoxRow, Family, WorldRow } from "../row.ts";
import { businessRecords } from "./business-records/index.ts";
import { carefulOperations } from "./careful-operations/index.ts";
import { committedPlans } from "./committed-plans/index.ts";
import { flakyToolsRecovery } from "./flaky-tools-recovery/index.ts";
import { incidentOperations } from "./incident-operations/index.ts";
import { liveServiceDebug } from "./live-service-debug/index.ts";
import { partners } from "./partners/index.ts";
import { refundDeskDialogue } from "./refund-desk-dialogue/index.ts";
import { restGoalAgent } from "./rest-goal-agent/index.ts";
import { ruleSheetMatch } from "./rule-sheet-match/index.ts";
import { systems } from "./systems/index.ts";
import { terminalWork } from "./terminal-work/index.ts";

export const FAMILIES: readonly Family<WorldRow | BoxRow>[] = [
  businessRecords,
  carefulOperations,
  systems,
  partners,
  committedPlans,
  flakyToolsRecovery,
  restGoalAgent,
  refundDeskDialogue,
  ruleSheetMatch,
  incidentOperations,
  liveServiceDebug,
  terminalWork,
];
