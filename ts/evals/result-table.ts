/** The results of evaluations as a table, with further lines below it. */
import { formatCount, formatNumber, renderTable } from "../monitors/index.ts";
import type { EvaluationReport } from "./report.ts";

/** Lines of text. */
export function resultTable(reports: readonly EvaluationReport[]): string[] {
  const { header, rows } = resultRows(reports);
  return [...renderTable(header, rows), ...reports.flatMap(details)];
}

/** A row for each evaluation. */
export function resultRows(reports: readonly EvaluationReport[]): { header: string[]; rows: string[][] } {
  const tries = [...new Set(reports.flatMap(({ pass_at_k: passed }) => Object.keys(passed)))].toSorted(
    (a, b) => Number(a) - Number(b),
  );
  const votes = [...new Set(reports.flatMap(({ cons_at_k: voted }) => Object.keys(voted)))];
  const header = [
    "evaluation",
    "model",
    "examples",
    "rollouts",
    "errors",
    "reward",
    "95 % interval",
    ...tries.map((k) => `pass@${k}`),
    ...tries.filter((k) => k !== "1").map((k) => `pass^${k}`),
    ...votes.map((k) => `cons@${k}`),
    "tokens",
  ];
  const rows = reports.map((one) => [
    one.name,
    one.model,
    formatCount(one.examples),
    formatCount(one.scored + one.errors),
    formatCount(one.errors),
    formatNumber(one.reward?.mean),
    interval(one.reward),
    ...tries.map((k) => formatNumber(one.pass_at_k[k])),
    ...tries.filter((k) => k !== "1").map((k) => formatNumber(one.pass_hat_k[k])),
    ...votes.map((k) => formatNumber(one.cons_at_k[k])),
    formatCount(one.usage.completion_tokens),
  ]);
  return { header, rows };
}

function interval(reward: EvaluationReport["reward"]): string {
  if (reward === null || Number.isNaN(reward.low)) return "–";
  return `${formatNumber(reward.low)} to ${formatNumber(reward.high)}`;
}

/** Rewards when there are several, metrics, how rollouts ended, errors. */
export function details(one: EvaluationReport): string[] {
  const numbers = (values: Readonly<Record<string, number>>): string =>
    Object.entries(values)
      .map(([name, value]) => `${name} ${formatNumber(value)}`)
      .join("  ");
  const counts = (values: Readonly<Record<string, number>>): string =>
    Object.entries(values)
      .map(([name, value]) => `${name} ${formatCount(value)}`)
      .join("  ");
  const lines = [
    Object.keys(one.agents).length > 0 ? `  agents   ${numbers(one.agents)}` : "",
    Object.keys(one.rewards).length > 1 ? `  rewards  ${numbers(one.rewards)}` : "",
    Object.keys(one.metrics).length > 0 ? `  metrics  ${numbers(one.metrics)}` : "",
    Object.keys(one.derived).length > 0 ? `  derived  ${numbers(one.derived)}` : "",
    Object.keys(one.by_group).length > 1 ? `  groups   ${groups(one.by_group)}` : "",
    one.scored > 0 ? `  ended    ${counts(one.stop_conditions)}` : "",
    one.seconds === null
      ? ""
      : `  seconds  rollout ${formatNumber(one.seconds.rollout)}  scoring ${formatNumber(one.seconds.scoring)}`,
    one.cost === null ? "" : `  cost     ${formatNumber(one.cost)}`,
    one.rows_left_out > 0 ? `  data     ${formatCount(one.rows_left_out)} rows left out` : "",
    ...Object.entries(one.errors_by_code).map(
      ([code, count]) => `  errors   ${code} ${formatCount(count)}: ${shortened(one.error_messages[code] ?? "")}`,
    ),
  ].filter((line) => line !== "");
  return lines.length === 0 ? [] : ["", one.name, ...lines];
}

function groups(values: EvaluationReport["by_group"]): string {
  return Object.entries(values)
    .map(([name, { examples, reward }]) => `${name} ${formatNumber(reward ?? undefined)} of ${formatCount(examples)}`)
    .join("  ");
}

/** A message shortened to one line. */
function shortened(message: string): string {
  const line = message.replaceAll(/\s+/gu, " ").trim();
  return line.length > MESSAGE_LENGTH ? `${line.slice(0, MESSAGE_LENGTH)}...` : line;
}

const MESSAGE_LENGTH = 160;
