/** The comparison of two evaluations as one HTML file, which needs nothing beside it and can be sent. */
import { escapeHtml } from "../html.ts";
import { formatCount, formatNumber } from "../monitors/index.ts";
import type { Comparison } from "./compare.ts";

const STYLE =
  "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}table{border-collapse:collapse}th,td{padding:.3rem .8rem;border-bottom:1px solid #ccc;text-align:right}th:first-child,td:first-child{text-align:left}";

const HEADER = ["evaluation", "tasks", "a", "b", "b - a", "95 % interval", "better", "worse", "equal", "p"];

/** Cells of a row, in the order of the header. */
export function comparisonCells(one: Comparison): string[] {
  const { low, high } = one.difference;
  const interval = low === null || high === null ? "–" : `${formatNumber(low)} to ${formatNumber(high)}`;
  return [
    one.name,
    formatCount(one.tasks),
    formatNumber(one.a),
    formatNumber(one.b),
    formatNumber(one.difference.mean),
    interval,
    formatCount(one.better),
    formatCount(one.worse),
    formatCount(one.equal),
    formatNumber(one.p),
  ];
}

export const COMPARISON_HEADER: readonly string[] = HEADER;

/** The whole page. Names of runs and evaluations are texts of users and are escaped. */
export function comparisonPage(a: string, b: string, comparisons: readonly Comparison[]): string {
  const row = (cells: readonly string[], tag: string): string =>
    `<tr>${cells.map((cell) => `<${tag}>${escapeHtml(cell)}</${tag}>`).join("")}</tr>`;
  const rows = comparisons.map((one) => row(comparisonCells(one), "td"));
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(a)} and ${escapeHtml(b)}</title><style>${STYLE}</style></head>
<body><h1>Two evaluations, task by task</h1>
<p>a: ${escapeHtml(a)}<br>b: ${escapeHtml(b)}</p>
<table><thead>${row(HEADER, "th")}</thead><tbody>${rows.join("")}</tbody></table>
<p>Means over the tasks that both runs scored. The interval is Student's over the differences of the tasks; p is the two-sided sign test.</p>
</body></html>
`;
}
