/** Statements, sources and studies whose weight has to be judged. */
import type { Family } from "../../row.ts";
import { adjustmentAudit } from "./adjustment-audit.ts";
import { argumentAcceptance } from "./argument-acceptance.ts";
import { claimGrading } from "./claim-grading.ts";
import { contradictionPairs } from "./contradiction-pairs.ts";
import { factTableFromMemos } from "./fact-table-from-memos.ts";
import { hypothesisElimination } from "./hypothesis-elimination.ts";
import { licensedConclusions } from "./licensed-conclusions.ts";
import { messageMutationTree } from "./message-mutation-tree.ts";
import { protocolScreening } from "./protocol-screening.ts";
import { quotationAudit } from "./quotation-audit.ts";
import { sourceWeighing } from "./source-weighing.ts";

export const evidence: Family = {
  id: "evidence",
  rows: [
    contradictionPairs,
    claimGrading,
    sourceWeighing,
    quotationAudit,
    messageMutationTree,
    adjustmentAudit,
    protocolScreening,
    argumentAcceptance,
    hypothesisElimination,
    licensedConclusions,
    factTableFromMemos,
  ],
};
