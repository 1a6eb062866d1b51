/** The comparison of two evaluations as one HTML file, which needs nothing beside it and can be sent. */
import { html } from "../../html.ts";
import { formatCount, formatNumber } from "../../monitors/index.ts";
import type { Comparison } from "../compare.ts";
import { resultsText, table } from "./frame.ts";

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
  const body = html`<h1>Two evaluations, task by task</h1>
    <p>a: ${a}<br />b: ${b}</p>
    ${table(HEADER, comparisons.map(comparisonCells))}
    <p>
      Means over the tasks that both runs scored. The interval is Student's over the differences of the tasks; p is the
      two-sided sign test.
    </p>`;
  return resultsText(`${a} and ${b}`, body);
}
