/** `prl runs show <run>`: shows one run as text, or everything that was read from it as JSON. */
import { PrlError } from "../../../errors.ts";
import {
  type EvaluationReport,
  formatCount,
  formatNumber,
  formatSeconds,
  renderTable,
  terminalPlot,
} from "../../../monitors/index.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";
import { highlights, valueText } from "../../runs/config-keys.ts";
import { findRun, outputDirOf } from "../../runs/find-runs.ts";
import { asObject } from "../../runs/json-lines.ts";
import { readRun, type RunRecord } from "../../runs/read-run.ts";
import { printable, timeText } from "../../runs/text.ts";

const WIDEST_PLOT = 100;
const PLOT_HEIGHT = 14;
const MARKS = ["●", "◆", "▲", "■", "★"] as const;

export async function run({ options, positionals }: PlainArguments, io: CommandIo): Promise<number> {
  const [name, ...rest] = positionals;
  if (name === undefined || rest.length > 0) throw new PrlError("PRL_CLI_USAGE", "prl runs show: expected one run");
  const record = await readRun(await findRun(outputDirOf(options, io), name, io.cwd));
  if (io.json) {
    const { config, ...facts } = record;
    io.writeJson({ ...facts, config: Object.fromEntries(highlights(config)) });
    return EXIT.done;
  }
  const sections = [factLines(record), configLines(record), evaluationLines(record), plotLines(record, io.columns)];
  const shown = sections.filter((lines) => lines.length > 0).map((lines) => lines.join("\n"));
  io.stdout.write(`${shown.join("\n\n")}\n`);
  return EXIT.done;
}

function factLines(record: RunRecord): string[] {
  const { status, pid, attempts, reward, summary, problems } = record;
  const error = asObject(summary?.["error"]);
  const events = Object.entries(record.events).map(([type, count]) => `${printable(type)} ${formatCount(count)}`);
  const rows: [string, string][] = [
    ["run", printable(record.name)],
    ["directory", printable(record.run_dir)],
    ["status", pid === null ? status : `${status}, process ${pid}`],
    ["started", timeText(record.started)],
    ["time", formatSeconds(record.wall_seconds ?? undefined)],
    ["steps", formatCount(record.steps)],
  ];
  if (attempts > 1) rows.push(["attempts", formatCount(attempts)]);
  if (reward !== null) rows.push(["reward", `${formatNumber(reward.first)} → ${formatNumber(reward.last)}`]);
  const loss = record.history.at(-1)?.loss;
  if (loss !== undefined) rows.push(["loss at the end", formatNumber(loss)]);
  if (events.length > 0) rows.push(["events", events.join(", ")]);
  if (error !== null) rows.push(["error", printable(`[${valueText(error["code"])}] ${valueText(error["message"])}`)]);
  for (const problem of problems) rows.push(["problem", printable(problem)]);
  return aligned(rows);
}

function configLines({ config }: RunRecord): string[] {
  return aligned(highlights(config).map(([key, value]) => [key, printable(valueText(value))]));
}

function evaluationLines({ evaluations }: RunRecord): string[] {
  if (evaluations.length === 0) return [];
  const rows = evaluations.map((report) => [
    printable(report.source),
    String(report.version),
    formatNumber(report.reward),
    formatCount(report.num),
    metricsText(report),
  ]);
  return renderTable(["held-out evaluation", "version", "reward", "rollouts", "metrics"], rows);
}

function metricsText({ metrics }: EvaluationReport): string {
  const entries = Object.entries(metrics).filter(([name]) => name !== "reward");
  return entries.map(([name, value]) => `${printable(name)} ${formatNumber(value)}`).join(", ");
}

/** Rewards, or losses where there are none. */
function plotLines({ history, evaluations }: RunRecord, columns: number): string[] {
  const hasRewards = evaluations.length > 0 || history.some((step) => step.reward !== undefined);
  const sources = [...new Set(evaluations.map((report) => report.source))];
  const marks = sources.map((source, index) => ({
    source,
    character: MARKS[index % MARKS.length] ?? "●",
    points: evaluations.filter((each) => each.source === source).map((each) => ({ x: each.version, y: each.reward })),
  }));
  const plot = terminalPlot({
    line: history.map((step) => ({ x: step.step, y: (hasRewards ? step.reward : step.loss) ?? NaN })),
    marks,
    width: Math.min(columns, WIDEST_PLOT),
    height: PLOT_HEIGHT,
  });
  if (plot.length === 0) return [];
  const legend = marks.map(({ source, character }) => `${character} held-out: ${printable(source)}`);
  return [[hasRewards ? "⠤ training reward by step" : "⠤ loss by step", ...legend].join("   "), ...plot];
}

function aligned(rows: readonly (readonly [string, string])[]): string[] {
  const widest = Math.max(0, ...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${name.padEnd(widest)}  ${value}`);
}
