/** The text at the end of a run: held-out evaluation before and after, totals, the mismatch line. */
import { formatBytes, formatCount, formatNumber, formatSeconds, renderTable } from "../../monitors/index.ts";
import type { EvaluationSummary, RunSummary } from "./summary.ts";

/** Lines to print after a run, without colours. */
export function runReport(summary: RunSummary): string[] {
  const table = renderTable(["", ""], totals(summary)).slice(2);
  if (summary.loss !== undefined) {
    const evaluated = Object.keys(summary.eval).length > 0 ? evaluationTable(summary) : [];
    return [...evaluated, ...table, phaseLine(summary)];
  }
  return [...evaluationTable(summary), ...table, phaseLine(summary), "", mismatchLine(summary)];
}

function phaseLine({ phase_seconds: phases }: RunSummary): string {
  const parts = Object.entries(phases).map(
    ([phase, seconds]) => `${phase.replace("_", " ")} ${formatSeconds(seconds)}`,
  );
  return `(${parts.join(", ")})`;
}

function evaluationTable(summary: RunSummary): string[] {
  const rows = Object.entries(summary.eval).flatMap(([source, { before, after }]) =>
    metricNames(before).map((metric, index) => [
      index === 0 ? source : "",
      metric.replaceAll("_", " "),
      formatNumber(before[metric]),
      formatNumber(after?.[metric]),
      after === undefined ? "–" : signed((after[metric] ?? NaN) - (before[metric] ?? NaN)),
    ]),
  );
  if (rows.length === 0) return ["No held-out evaluation was made.", ""];
  return [...renderTable(["held-out evaluation", "", "before", "after", "change"], rows), ""];
}

/** Reward first, then the environment's metrics. */
function metricNames(evaluation: EvaluationSummary): string[] {
  const notMetrics = new Set(["reward", "policy_version", "num"]);
  return ["reward", ...Object.keys(evaluation).filter((name) => !notMetrics.has(name))];
}

function totals(summary: RunSummary): string[][] {
  return [
    ["steps", formatCount(summary.steps)],
    ...(summary.loss === undefined
      ? [["tokens trained on", formatCount(summary.tokens)]]
      : [["loss at the end", formatNumber(summary.loss)]]),
    ["wall time", formatSeconds(summary.wall_seconds)],
    ...(summary.peak_memory_bytes === undefined
      ? []
      : [["peak memory, all processes", formatBytes(summary.peak_memory_bytes)]]),
  ];
}

function mismatchLine({ mismatch }: RunSummary): string {
  if (mismatch === null) return "max |logp difference| over on-policy tokens: none were trained on";
  const difference = mismatch.max_abs_logprob_diff === 0 ? "0" : mismatch.max_abs_logprob_diff.toExponential(2);
  return `max |logp difference| over on-policy tokens: ${difference} (${formatCount(mismatch.tokens)} tokens)`;
}

function signed(value: number): string {
  return Number.isNaN(value) ? "–" : `${value > 0 ? "+" : ""}${formatNumber(value)}`;
}
