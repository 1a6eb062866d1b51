/** `prl watch [run]`: shows the progress of a run that was started elsewhere. */
import { PrlError } from "../../errors.ts";
import { parseOptions } from "../arguments/args.ts";
import { type Command, type CommandIo, EXIT } from "../command.ts";
import { progressView } from "../processes/show-run.ts";
import { findRun, OUTPUT_DIR, outputDirOf } from "../runs/find-runs.ts";
import { readRun } from "../runs/read-run.ts";
import { newestRun } from "../runs/run-logs.ts";
import { watchRun } from "../runs/watch-run.ts";
import { stopExit } from "../../stop-signal.ts";

export const command: Command = {
  name: "watch",
  summary: "Show the progress of a run that another process started",
  usage: "watch [<run>]",
  details: [
    "Shows a run as `prl rl` and `prl sft` do on a terminal, until the run ends. Without <run> it takes the run that was",
    "started last. Ctrl-C stops watching; the run continues. Exit code: 0 when the run completed, 1 when it failed or was",
    "interrupted.",
  ].join("\n"),
  options: [OUTPUT_DIR],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { options, positionals } = parseOptions(command, args);
  const [given, ...more] = positionals;
  if (more.length > 0) throw new PrlError("PRL_CLI_USAGE", "prl watch: expected one run at most");
  const outputDir = outputDirOf(options, io);
  const runDir = given === undefined ? await newestRun(outputDir) : await findRun(outputDir, given, io.cwd);
  if (runDir === null)
    throw new PrlError("PRL_RUN_UNKNOWN", `no run in ${outputDir} has logs; --output-dir names another folder`);
  const record = await readRun(runDir);
  if (record.kind !== "rl" && record.kind !== "sft")
    throw new PrlError("PRL_RUN_UNKNOWN", `${runDir} is no run of prl rl or prl sft: there are no steps to watch`);
  const view = progressView(io, record.name, Math.max(0, Date.now() / 1000 - record.started));
  try {
    await watchRun(record, (event) => view.show(event), io.signal);
  } finally {
    view.end();
  }
  if (io.signal.aborted) return stopExit(io.signal.reason);
  const { status, summary, steps } = await readRun(runDir);
  if (io.json) io.writeJson(summary ?? { status, steps });
  else io.stdout.write(`\nThe run ${record.name} is over: ${status}, ${steps} steps (prl runs show ${record.name})\n`);
  return status === "completed" ? EXIT.done : EXIT.failed;
}
