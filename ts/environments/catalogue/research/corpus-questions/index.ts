/** Questions that no single document of a generated corpus answers. */
import type { Family } from "../../row.ts";
import { citedClaimsAnswer } from "./cited-claims-answer.ts";
import { crossDocumentAggregate } from "./cross-document-aggregate.ts";
import { missingLinkDetection } from "./missing-link-detection.ts";
import { officeAtDate } from "./office-at-date.ts";
import { relationChainQuestion } from "./relation-chain-question.ts";
import { retractedSupportTrace } from "./retracted-support-trace.ts";
import { ruleInferredRelation } from "./rule-inferred-relation.ts";
import { shiftingNamesChase } from "./shifting-names-chase.ts";
import { unitMixedSynthesis } from "./unit-mixed-synthesis.ts";

export const corpusQuestions: Family = {
  id: "corpus-questions",
  rows: [
    relationChainQuestion,
    crossDocumentAggregate,
    officeAtDate,
    shiftingNamesChase,
    ruleInferredRelation,
    retractedSupportTrace,
    unitMixedSynthesis,
    citedClaimsAnswer,
    missingLinkDetection,
  ],
};
