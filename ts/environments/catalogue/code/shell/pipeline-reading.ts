/** pipeline-reading: the output of a pipeline of text tools on a small file. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { distinct, word } from "../../../builtin/words.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

interface Stage {
  readonly text: string;
  readonly run: (lines: readonly string[]) => string[];
}
export interface PipelineProblem {
  file: string[];
  command: string;
}

/** By level: lines of the file, tools of the pipeline. */
const SIZES = [
  [6, 2],
  [8, 3],
  [10, 4],
  [13, 6],
  [16, 8],
] as const;

export const pipelineReading = itemRow<PipelineProblem>({
  id: "pipeline-reading",
  asks: "the output of a pipeline of sort, cut, uniq, grep and other text tools",
  form: "lines",
  tries: 40,
  make,
  prompts: [
    ({ file, command }) =>
      `The file data.txt:\n\n${file.join("\n")}\n\nWhat does this print (LC_ALL=C)?\n\n${command}\n\nGive the output line by line.`,
    ({ file, command }) =>
      `${command}\n\nis run in the C locale, and data.txt holds\n\n${file.join("\n")}\n\nWrite down what comes out of the last command.`,
    ({ file, command }) =>
      `Take these lines as data.txt:\n${file.join("\n")}\n\nApply the pipeline, tool by tool:\n${command}\n\nAll tools compare by bytes (LC_ALL=C). State the resulting lines in order.`,
    ({ file, command }) =>
      `A report is made by\n\n${command}\n\nfrom\n\n${file.join("\n")}\n\nWith LC_ALL=C, which lines does it have? List them all, in order.`,
  ],
});

const field = (line: string, index: number): string => line.split(" ")[index] ?? "";
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
/** The number at the beginning, as sort -n reads it. */
const leading = (text: string): number => Number(/^-?\d+/u.exec(text.trimStart())?.[0] ?? 0);

/** Groups of equal neighbours. */
function runsOf(lines: readonly string[]): { line: string; count: number }[] {
  const runs: { line: string; count: number }[] = [];
  for (const line of lines) {
    const last = runs.at(-1);
    if (last?.line === line) last.count += 1;
    else runs.push({ line, count: 1 });
  }
  return runs;
}

function drawStage(rng: Rng, lines: readonly string[]): Stage {
  const some = field(rng.pick(lines), 0).slice(0, 2);
  const count = between(rng, 2, Math.max(2, lines.length - 1));
  const column = between(rng, 1, 2);
  const sign = rng.pick(["", "-r "]);
  const turn = sign === "" ? 1 : -1;
  const stages: readonly Stage[] = [
    { text: `grep -v '${some}'`, run: (all) => all.filter((line) => !line.includes(some)) },
    { text: `grep '${some.slice(0, 1)}'`, run: (all) => all.filter((line) => line.includes(some.slice(0, 1))) },
    { text: `sort ${sign}`.trim(), run: (all) => all.toSorted((a, b) => turn * compare(a, b)) },
    {
      text: `sort ${sign}-k2,2n`,
      // A key that has an option does not take the global -r; the last comparison does.
      run: (all) => all.toSorted((a, b) => leading(field(a, 1)) - leading(field(b, 1)) || turn * compare(a, b)),
    },
    { text: `sort -s -k1,1`, run: (all) => all.toSorted((a, b) => compare(field(a, 0), field(b, 0))) },
    { text: `sort -u`, run: (all) => [...new Set(all)].toSorted(compare) },
    { text: "uniq", run: (all) => runsOf(all).map(({ line }) => line) },
    { text: "uniq -d", run: (all) => runsOf(all).flatMap((one) => (one.count > 1 ? [one.line] : [])) },
    { text: `head -n ${count}`, run: (all) => all.slice(0, count) },
    { text: `tail -n +${column + 1}`, run: (all) => all.slice(column) },
    { text: `tail -n ${count}`, run: (all) => all.slice(-count) },
    // A line without the separator goes through cut as it is.
    {
      text: `cut -d' ' -f${column}`,
      run: (all) => all.map((line) => (line.includes(" ") ? field(line, column - 1) : line)),
    },
    {
      text: `cut -d' ' -f3,1`,
      run: (all) =>
        all.map((line) => {
          const fields = line.split(" ");
          return fields.length === 1 ? line : fields.filter((_, index) => index === 0 || index === 2).join(" ");
        }),
    },
    { text: `cut -c2-`, run: (all) => all.map((line) => line.slice(1)) },
    { text: "tac", run: (all) => all.toReversed() },
    { text: "rev", run: (all) => all.map((line) => line.split("").reverse().join("")) },
    { text: `tr '${some}' '${some.toUpperCase()}'`, run: (all) => all.map((line) => changed(line, some)) },
    { text: `tr -d '${some.slice(-1)}'`, run: (all) => all.map((line) => line.replaceAll(some.slice(-1), "")) },
    { text: `tr -s 'a-z0-9'`, run: (all) => all.map((line) => line.replaceAll(/([a-z0-9])\1+/gu, "$1")) },
    {
      text: "paste -d+ - -",
      run: (all) =>
        range(Math.ceil(all.length / 2)).map((index) => `${at(all, 2 * index)}+${all[2 * index + 1] ?? ""}`),
    },
  ];
  return rng.pick(stages);
}

function changed(line: string, letters: string): string {
  return line
    .split("")
    .map((letter) => (letters.includes(letter) ? letter.toUpperCase() : letter))
    .join("");
}

function make(rng: Rng, level: Level) {
  const [length, count] = at(SIZES, level - 1);
  const [names, kinds] = [distinct(4, () => word(rng, 1)), distinct(3, () => word(rng, 1))];
  const drawn = range(length).map(
    () => `${rng.pick(names)} ${rng.pick([2, 3, 9, 10, 11, 100, 25])} ${rng.pick(kinds)}`,
  );
  const file = drawn.map((line, index) => (rng.integer(3) === 0 ? (drawn[index - 1] ?? line) : line));
  const stages: Stage[] = [];
  let lines = file;
  const shapes = [file];
  for (let draw = 0; draw < 6 * count && stages.length < count; draw++) {
    const stage = drawStage(rng, lines);
    const next = stage.run(lines);
    const tool = stage.text.split(" ")[0];
    const isRepeated = stages.filter(({ text }) => text.split(" ")[0] === tool).length >= 2;
    // Each tool changes something.
    if (isRepeated || next.length < 2 || next.join("\n") === lines.join("\n")) continue;
    stages.push(stage);
    shapes.push(next);
    lines = next;
  }
  if (stages.length < count || lines.some((line) => line === "" || line !== line.trim() || line.includes("  ")))
    return null;
  const runs = (without: number): string[] =>
    stages.reduce((now, { run }, index) => (index === without ? now : run(now)), file);
  const misses = [...range(count).map(runs), at(shapes, count - 1)].filter((miss) => miss.every((line) => line !== ""));
  if (misses.filter((miss) => miss.join("\n") === lines.join("\n")).length > count / 3) return null;
  const effort = shapes.slice(0, -1).reduce((sum, some) => sum + some.length, 0) + 3 * count;
  return {
    problem: { file, command: `cat data.txt | ${stages.map(({ text }) => text).join(" | ")}` },
    items: lines,
    misses,
    effort,
  };
}
