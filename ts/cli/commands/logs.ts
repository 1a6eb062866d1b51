/** `prl logs [-f] [run] [component]`: prints the logs of a run's processes. */
import { basename } from "node:path";

import { PrlError } from "../../errors.ts";
import { numberOption, parseOptions } from "../arguments/args.ts";
import { type Command, type CommandIo, EXIT } from "../command.ts";
import { RULES } from "../arguments/option-rule.ts";
import { findRun, OUTPUT_DIR, outputDirOf } from "../runs/find-runs.ts";
import { printableLine } from "../runs/text.ts";
import { stopExit } from "../../stop-signal.ts";
import { checkComponent, followLogs, isOf, newestRun, processesOf, readLogs } from "../runs/run-logs.ts";

const JSON_LINES = 1000;
const FOLLOW = "--follow";
const LINES = "--lines";

export const command: Command = {
  name: "logs",
  summary: "Print or follow the logs of a run's processes",
  usage: "logs [-f] [<run>] [<component>]",
  details: [
    "Prints the logs of the newest attempt of a run. Each line begins with the name of its process. Without <run> it takes the",
    "run that was started last. A component is trainer, orchestrator, inference, env-worker, ..., or one process of it, such",
    "as inference-1.",
  ].join("\n"),
  options: [
    { flag: FOLLOW, summary: "Also -f: follow the logs until the run ends or Ctrl-C" },
    {
      flag: LINES,
      value: "<n>",
      rule: RULES.count,
      summary: `Print only the last lines of each process (default: all; with --json ${JSON_LINES})`,
    },
    OUTPUT_DIR,
  ],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { options, positionals } = parseOptions(
    command,
    args.map((arg) => (arg === "-f" ? FOLLOW : arg)),
  );
  const isFollowing = options.has(FOLLOW);
  if (positionals.length > 2) throw new PrlError("PRL_CLI_USAGE", "prl logs: expected a run and a component at most");
  if (isFollowing && (io.json || options.has(LINES))) {
    throw new PrlError("PRL_CLI_USAGE", `prl logs: ${FOLLOW} has no end: use it without --json and ${LINES}`);
  }
  const { runDir, component } = await chosen(outputDirOf(options, io), positionals, io.cwd);
  const processes = await processesOf(runDir);
  if (processes.length === 0 && !isFollowing) {
    throw new PrlError("PRL_RUN_UNKNOWN", `${runDir} has no logs: it was not started, or is an evaluation`);
  }
  if (processes.length > 0) checkComponent(runDir, component, processes);

  const widest = Math.max(0, ...processes.filter((process) => isOf(component, process)).map((name) => name.length));
  const print = (process: string, line: string): void => {
    io.stdout.write(`${process.padEnd(widest)} | ${printableLine(line)}\n`);
  };
  if (isFollowing) {
    await followLogs(runDir, component, print, io.signal);
    if (!io.signal.aborted) return EXIT.done;
    return stopExit(io.signal.reason);
  }
  if (!io.json && !options.has(LINES)) {
    await readLogs(runDir, component, print);
    return EXIT.done;
  }
  const logs = await lastLines(runDir, component, numberOption(options, LINES, JSON_LINES));
  if (io.json) io.writeJson({ run: basename(runDir), run_dir: runDir, logs: Object.fromEntries(logs) });
  else for (const [process, lines] of logs) for (const line of lines) print(process, line);
  return EXIT.done;
}

/** A single name is a run if there is one with that name, else a component of the newest run. */
async function chosen(
  outputDir: string,
  [first, second]: readonly string[],
  cwd: string,
): Promise<{ runDir: string; component: string | null }> {
  if (first !== undefined && second !== undefined) {
    return { runDir: await findRun(outputDir, first, cwd), component: second };
  }
  const newest = await newestRun(outputDir);
  if (first === undefined) {
    if (newest !== null) return { runDir: newest, component: null };
    throw new PrlError("PRL_RUN_UNKNOWN", `no run in ${outputDir} has logs; --output-dir names another folder`);
  }
  const isComponent = newest !== null && (await processesOf(newest)).some((process) => isOf(first, process));
  try {
    return { runDir: await findRun(outputDir, first, cwd), component: null };
  } catch (error) {
    if (isComponent) return { runDir: newest, component: first };
    if (newest === null || !(error instanceof PrlError) || error.code !== "PRL_RUN_UNKNOWN") throw error;
    const processes = (await processesOf(newest)).join(", ");
    const message = `${error.message}; nor is it a component of the newest run, ${basename(newest)}: ${processes}`;
    throw new PrlError("PRL_RUN_UNKNOWN", message, { cause: error });
  }
}

async function lastLines(runDir: string, component: string | null, count: number): Promise<Map<string, string[]>> {
  const logs = new Map<string, string[]>();
  await readLogs(runDir, component, (process, line) => {
    const lines = logs.get(process) ?? [];
    logs.set(process, lines);
    lines.push(line);
    if (lines.length > count) lines.shift();
  });
  return logs;
}
