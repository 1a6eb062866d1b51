/** Code: programs that run in sandboxes, and questions about programs that this process scores. */
import type { AnyRow, Family } from "../row.ts";
import { changeManagement } from "./change-management/index.ts";
import { codeReading } from "./code-reading/index.ts";
import { compiling } from "./compiling/index.ts";
import { concurrency } from "./concurrency/index.ts";
import { dataStructures } from "./data-structures/index.ts";
import { configuration } from "./configuration/index.ts";
import { databases } from "./databases/index.ts";
import { distributed } from "./distributed/index.ts";
import { languagePort } from "./language-port/index.ts";
import { languageRules } from "./language-rules/index.ts";
import { languages } from "./languages/index.ts";
import { lowLevel } from "./low-level/index.ts";
import { maskedFaultsRepair } from "./masked-faults-repair/index.ts";
import { miniLanguageInterpreter } from "./mini-language-interpreter/index.ts";
import { networks } from "./networks/index.ts";
import { encoders } from "./encoders/index.ts";
import { graphPrograms } from "./graph-programs/index.ts";
import { heuristicPackingProgram } from "./heuristic-packing-program/index.ts";
import { machines } from "./machines/index.ts";
import { patterns } from "./patterns/index.ts";
import { repoFeature } from "./repo-feature/index.ts";
import { repoIssueFix } from "./repo-issue-fix/index.ts";
import { representations } from "./representations/index.ts";
import { runtimeRules } from "./runtime-rules/index.ts";
import { planningPrograms } from "./planning-programs/index.ts";
import { shell } from "./shell/index.ts";
import { specFunctions } from "./spec-functions/index.ts";
import { statefulPrograms } from "./stateful-programs/index.ts";
import { staticAnalysis } from "./static-analysis/index.ts";
import { storage } from "./storage/index.ts";
import { sql } from "./sql/index.ts";
import { csvCleanToSchema } from "./csv-clean-to-schema/index.ts";
import { sqlWindowAnalytics } from "./sql-window-analytics/index.ts";
import { testing } from "./testing/index.ts";
import { typeRules } from "./type-rules/index.ts";
import { examplesOnlyFunction } from "./examples-only-function/index.ts";
import { exactNumbers } from "./exact-numbers/index.ts";
import { stringPrograms } from "./string-programs/index.ts";
import { textLayout } from "./text-layout/index.ts";
import { unitTestWriter } from "./unit-test-writer/index.ts";
import { textFormats } from "./text-formats/index.ts";

export const FAMILIES: readonly Family<AnyRow>[] = [
  specFunctions,
  statefulPrograms,
  sql,
  databases,
  codeReading,
  staticAnalysis,
  changeManagement,
  concurrency,
  lowLevel,
  patterns,
  shell,
  languages,
  languageRules,
  networks,
  storage,
  dataStructures,
  testing,
  distributed,
  runtimeRules,
  compiling,
  representations,
  configuration,
  typeRules,
  encoders,
  textFormats,
  machines,
  textLayout,
  exactNumbers,
  graphPrograms,
  stringPrograms,
  planningPrograms,
  unitTestWriter,
  miniLanguageInterpreter,
  examplesOnlyFunction,
  sqlWindowAnalytics,
  csvCleanToSchema,
  languagePort,
  maskedFaultsRepair,
  heuristicPackingProgram,
  repoIssueFix,
  repoFeature,
];
