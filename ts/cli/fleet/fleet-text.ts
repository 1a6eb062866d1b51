/** The surveys of all hosts as one table, and below it what to mend. */
import { renderTable } from "../../monitors/index.ts";
import type { Check } from "../doctor/check.ts";
import { printable } from "../runs/text.ts";
import type { HostReport } from "./check-fleet.ts";

const MARKS: Readonly<Record<Check["status"], string>> = { ok: "", warning: " (!)", problem: " (PROBLEM)" };
const WIDEST_CELL = 44;
const ABSENT = "-";

export function fleetText(reports: readonly HostReport[]): string {
  const names = [...new Set(reports.flatMap(({ checks }) => checks.map(({ name }) => name)))];
  const cell = ({ checks }: HostReport, name: string): string => {
    const found = checks.find((check) => check.name === name);
    return found === undefined ? ABSENT : shortened(printable(found.detail)) + MARKS[found.status];
  };
  const rows = names.map((name) => [name, ...reports.map((report) => cell(report, name))]);
  const table = renderTable(["", ...reports.map(({ host }) => host)], rows);
  const mends = reports.flatMap(({ host, checks }) =>
    checks.flatMap(({ name, status, detail, fix }) =>
      fix === undefined
        ? []
        : [`${host}: ${name}${status === "problem" ? " (PROBLEM)" : ""}: ${printable(detail)}`, `  to mend: ${fix}`],
    ),
  );
  return `${[...table, "", ...mends, ...(mends.length === 0 ? [] : [""]), summary(reports)].join("\n")}\n`;
}

export function problemsOf(reports: readonly HostReport[]): number {
  return reports.flatMap(({ checks }) => checks).filter(({ status }) => status === "problem").length;
}

function summary(reports: readonly HostReport[]): string {
  const count = problemsOf(reports);
  const hosts = `${reports.length} ${reports.length === 1 ? "host" : "hosts"}`;
  if (count === 0) return `${hosts}: a run can start`;
  return `${hosts}: ${count} ${count === 1 ? "problem" : "problems"} to mend first`;
}

function shortened(text: string): string {
  return text.length <= WIDEST_CELL ? text : `${text.slice(0, WIDEST_CELL - 1)}…`;
}
