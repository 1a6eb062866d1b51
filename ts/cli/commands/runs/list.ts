/** `prl runs list`: a table of the runs, newest first, and what is wrong with each. */
import { PrlError } from "../../../errors.ts";
import { formatCount, formatNumber, formatSeconds, renderTable } from "../../../monitors/index.ts";
import type { PlainArguments } from "../../arguments/args.ts";
import { type CommandIo, EXIT } from "../../command.ts";
import { outputDirOf, runDirectories } from "../../runs/find-runs.ts";
import { readRun, type RunRecord } from "../../runs/read-run.ts";
import { printable, timeText } from "../../runs/text.ts";

export async function run({ options, positionals }: PlainArguments, io: CommandIo): Promise<number> {
  if (positionals.length > 0) throw new PrlError("PRL_CLI_USAGE", "prl runs list: takes no run; prl runs show does");
  const outputDir = outputDirOf(options, io);
  const runs: RunRecord[] = [];
  for (const directory of await runDirectories(outputDir)) runs.push(await readRun(directory));
  runs.sort((a, b) => b.started - a.started);
  if (io.json) {
    // `show` has the long parts.
    const rows = runs.map(({ history: _h, config: _c, summary: _s, evaluations: _e, events: _v, ...row }) => row);
    io.writeJson({ output_dir: outputDir, runs: rows });
    return EXIT.done;
  }
  if (runs.length === 0) {
    io.stdout.write(`No runs in ${outputDir}\n`);
    return EXIT.done;
  }
  const table = renderTable(["run", "kind", "status", "steps", "reward", "time", "started"], runs.map(cells));
  const troubled = runs.filter((each) => each.problems.length > 0);
  const problems = troubled.map((each) => `${printable(each.name)}: ${printable(each.problems.join("; "))}`);
  io.stdout.write(`${[...table, ...(problems.length === 0 ? [] : ["", ...problems])].join("\n")}\n`);
  return EXIT.done;
}

function cells({ name, kind, status, steps, reward, wall_seconds: wall, started }: RunRecord): string[] {
  const rewards = reward === null ? "–" : `${formatNumber(reward.first, 3)} → ${formatNumber(reward.last, 3)}`;
  return [
    printable(name),
    kind ?? "–",
    status,
    kind === "eval" ? "–" : formatCount(steps),
    rewards,
    formatSeconds(wall ?? undefined),
    timeText(started),
  ];
}
