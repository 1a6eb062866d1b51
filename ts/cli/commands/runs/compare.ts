/** `prl runs compare <run> <run>...`: rewards by step in one plot and side by side, and the config keys that differ. */
import { PrlError } from "../../../errors.ts";
import { condensed, formatNumber, renderTable, sparkline, terminalPlot } from "../../../monitors/index.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";
import { differences, valueText } from "../../runs/config-keys.ts";
import { findRun, outputDirOf } from "../../runs/find-runs.ts";
import { readRun, type RunRecord } from "../../runs/read-run.ts";
import { printable } from "../../runs/text.ts";

const MOST_ROWS = 20;
/** One mark per run; more runs begin again with the first mark. */
const MARKS = ["●", "○", "▲", "△", "■", "□"] as const;
const WIDEST_PLOT = 100;
const PLOT_HEIGHT = 14;

interface Row<Key> {
  key: Key;
  /** One value per run; null: the run has none. */
  values: (number | null)[];
}

export async function run({ options, positionals }: PlainArguments, io: CommandIo): Promise<number> {
  if (positionals.length < 2) throw new PrlError("PRL_CLI_USAGE", "prl runs compare: expected two runs or more");
  const outputDir = outputDirOf(options, io);
  const runs: RunRecord[] = [];
  for (const name of positionals) runs.push(await readRun(await findRun(outputDir, name, io.cwd)));
  const measure = runs.some((each) => each.history.some((step) => step.reward !== undefined)) ? "reward" : "loss";
  const steps = rowsBy(runs.map((each) => each.history.map((step) => [step.step, step[measure]])));
  const evaluations = rowsBy(
    runs.map((each) => each.evaluations.map((report) => [`${report.source} @ ${report.version}`, report.reward])),
  );
  const differing = differences(runs.map((each) => each.config));
  if (io.json) {
    io.writeJson({
      runs: runs.map(({ name, run_dir, status, reward, problems }) => ({ name, run_dir, status, reward, problems })),
      measure,
      steps: steps.toSorted((a, b) => a.key - b.key).map(({ key, values }) => ({ step: key, values })),
      evaluations: evaluations.map(({ key, values }) => ({ evaluation: key, values })),
      config: differing.map(({ key, values }) => ({ key, values: values.map((value) => value ?? null) })),
    });
    return EXIT.done;
  }
  const names = runs.map((each) => printable(each.name));
  const rows = chosenSteps(steps);
  const curves = runs.map((_, index) =>
    sparkline(
      rows.map((row) => row.values[index] ?? NaN),
      MOST_ROWS,
    ),
  );
  const sections = [
    plotLines(runs, measure, io.columns),
    [
      ...renderTable([`${measure} by step`, ...names], rows.map(cells)),
      ...curves.map((curve, index) => `${names[index] ?? ""}: ${curve.trim() === "" ? "no steps were logged" : curve}`),
    ],
    evaluations.length === 0 ? [] : renderTable(["held-out evaluation", ...names], evaluations.map(cells)),
    differing.length === 0
      ? ["Their configs are the same."]
      : renderTable(
          ["config", ...names],
          differing.map(({ key, values }) => [key, ...values.map(shown)].map(printable)),
        ),
    runs.flatMap((each) => each.problems.map((problem) => printable(`${each.name}: ${problem}`))),
  ];
  io.stdout.write(
    `${sections
      .filter((lines) => lines.length > 0)
      .map((lines) => lines.join("\n"))
      .join("\n\n")}\n`,
  );
  return EXIT.done;
}

/** Every run's curve in one plot, each with its own character; with many steps one column stands for several. */
function plotLines(runs: readonly RunRecord[], measure: "reward" | "loss", columns: number): string[] {
  const width = Math.min(columns, WIDEST_PLOT);
  const marks = runs.map(({ name, history }, index) => {
    const most = Math.floor(width / 2);
    const xs = condensed(
      history.map(({ step }) => step),
      most,
    );
    const ys = condensed(
      history.map((step) => step[measure] ?? NaN),
      most,
    );
    return { name, character: MARKS[index % MARKS.length] ?? "●", points: xs.map((x, i) => ({ x, y: ys[i] ?? NaN })) };
  });
  const plot = terminalPlot({ line: [], marks, width, height: PLOT_HEIGHT });
  if (plot.length === 0) return [];
  return [
    `${measure} by step`,
    ...plot,
    marks.map(({ name, character }) => `${character} ${printable(name)}`).join("   "),
  ];
}

/** One row per key that any run has a value for, in the order in which keys appear. */
function rowsBy<Key>(runs: readonly (readonly [Key, number | undefined][])[]): Row<Key>[] {
  const found = runs.map((entries) => new Map(entries));
  const keys = [...new Set(found.flatMap((entries) => [...entries.keys()]))];
  const rows = keys.map((key) => ({ key, values: found.map((entries) => entries.get(key) ?? null) }));
  return rows.filter(({ values }) => values.some((value) => value !== null));
}

/** Evenly chosen steps in order, with the first and the last. */
function chosenSteps(steps: readonly Row<number>[]): Row<number>[] {
  const sorted = steps.toSorted((a, b) => a.key - b.key);
  if (sorted.length <= MOST_ROWS) return sorted;
  const apart = (sorted.length - 1) / (MOST_ROWS - 1);
  return sorted.filter((_, index) => Math.round(Math.round(index / apart) * apart) === index);
}

function cells({ key, values }: Row<number | string>): string[] {
  return [printable(String(key)), ...values.map((value) => formatNumber(value ?? undefined))];
}

/** Shortens a long value at its front, because the end of a path says most. */
function shown(value: unknown): string {
  const [text, longest] = [valueText(value), 40];
  return text.length <= longest ? text : `…${text.slice(1 - longest)}`;
}
