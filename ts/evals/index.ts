/** Evaluations of models behind endpoints: rollouts, traces, statistics, results. */
export { compareRuns, type Comparison } from "./compare.ts";
export { COMPARISON_HEADER, comparisonCells, comparisonPage } from "./pages/comparison-page.ts";
export { resultsPage } from "./pages/results-page.ts";
export { findContamination, type Contamination } from "./contamination.ts";
export { readEndpointsFile } from "./endpoints.ts";
export {
  type EvaluateOptions,
  type EvaluationProgress,
  prepareEvaluations,
  type PreparedEvaluation,
  runEvaluations,
} from "./evaluate.ts";
export { exportSft, type ExportOptions, type ExportReport, type LeftOut } from "./export-sft.ts";
export { type ReplayedRollout, type ReplayReport, replayRun } from "./replay.ts";
export { type EvaluationReport, report, type ReportOptions } from "./report.ts";
export { resultTable } from "./result-table.ts";
