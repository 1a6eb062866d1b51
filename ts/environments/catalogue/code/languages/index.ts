/** Stages of languages: grammars, printers, code generators, assemblers, logic programs and templates. */
import type { AnyRow, Family } from "../../row.ts";
import { branchRelaxation } from "./branch-relaxation.ts";
import { datalogAnswers } from "./datalog-answers.ts";
import { firstFollowSets } from "./first-follow-sets.ts";
import { minimalBrackets } from "./minimal-brackets.ts";
import { operatorTableEvaluator } from "./operator-table-evaluator.ts";
import { registerProgram } from "./register-program.ts";
import { templateRendering } from "./template-rendering.ts";

export const languages: Family<AnyRow> = {
  id: "languages",
  rows: [
    minimalBrackets,
    firstFollowSets,
    registerProgram,
    branchRelaxation,
    datalogAnswers,
    templateRendering,
    operatorTableEvaluator,
  ],
};
