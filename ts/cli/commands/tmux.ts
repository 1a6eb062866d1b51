/** `prl tmux [run | kill [run]]`: the logs of a run side by side, one pane per component, in a tmux session. */
import { basename } from "node:path";

import { PrlError } from "../../errors.ts";
import { parseOptions } from "../arguments/args.ts";
import { type Command, type CommandIo, EXIT } from "../command.ts";
import { selfCommand } from "../../self-command.ts";
import { findRun, OUTPUT_DIR, outputDirOf } from "../runs/find-runs.ts";
import { newestRun, processesOf } from "../runs/run-logs.ts";
import { join, killSession, openSession, type Pane, sessions } from "../tmux.ts";

const KILL = "kill";
const PREFIX = "prl-";
/** Panes in this order; other components with a log follow. */
const FIRST = ["launcher", "orchestrator", "trainer", "inference", "env-worker"];

export const command: Command = {
  name: "tmux",
  summary: "Show the logs of a run in tmux, one pane per component",
  usage: "tmux [<run>]\n       prl tmux kill [<run>]",
  details: [
    "Opens the session prl-<run>, or joins it when it exists. Each pane has the output of `prl logs -f` for one component. Without",
    "<run> it takes the run that was started last. When stdout is not a terminal, it makes the session without showing it. `kill`",
    "ends the session of a run, or all sessions that prl made; the runs continue.",
  ].join("\n"),
  options: [OUTPUT_DIR],
  run,
};

async function run(args: readonly string[], io: CommandIo): Promise<number> {
  const { options, positionals } = parseOptions(command, args);
  const outputDir = outputDirOf(options, io);
  const [first, second, ...more] = positionals;
  if (more.length > 0 || (second !== undefined && first !== KILL)) {
    throw new PrlError("PRL_CLI_USAGE", "prl tmux: expected a run, or kill and a run, at most");
  }
  return first === KILL ? kill(second, io) : watch(await chosen(outputDir, first, io.cwd), io);
}

async function watch(runDir: string, io: CommandIo): Promise<number> {
  const panes = await panesOf(runDir);
  const name = sessionName(runDir);
  const found = (await sessions(io.env)).find((session) => session.name === name);
  if (found !== undefined && found.runDir !== runDir) {
    throw new PrlError("PRL_TMUX", `the session ${name} shows ${found.runDir}: end it with prl tmux kill first`);
  }
  if (found === undefined) await openSession({ name, runDir }, panes, io.cwd, io.env);
  if (io.isTerminal) await join(name, io.env);
  else if (io.json) io.writeJson({ session: name, run_dir: runDir, panes: panes.map(({ title }) => title) });
  else io.stdout.write(`The session ${name} is there: tmux attach -t ${name}\n`);
  return EXIT.done;
}

async function kill(given: string | undefined, io: CommandIo): Promise<number> {
  const ours = await sessions(io.env);
  const meant = given === undefined ? ours : ours.filter(({ name }) => name === sessionName(given));
  if (meant.length === 0 && given !== undefined) {
    const there = ours.length === 0 ? "there is none" : `there are ${ours.map(({ name }) => name).join(", ")}`;
    throw new PrlError("PRL_TMUX", `prl made no session ${sessionName(given)}: ${there}`);
  }
  for (const { name } of meant) await killSession(name, io.env);
  const names = meant.map(({ name }) => name);
  if (io.json) io.writeJson({ killed: names });
  else io.stdout.write(names.length === 0 ? "There was no session\n" : `Ended ${names.join(", ")}\n`);
  return EXIT.done;
}

async function chosen(outputDir: string, given: string | undefined, cwd: string): Promise<string> {
  if (given !== undefined) return findRun(outputDir, given, cwd);
  const newest = await newestRun(outputDir);
  if (newest !== null) return newest;
  throw new PrlError("PRL_RUN_UNKNOWN", `no run in ${outputDir} has logs; --output-dir names another folder`);
}

async function panesOf(runDir: string): Promise<Pane[]> {
  const components = new Set((await processesOf(runDir)).map((process) => process.replace(/-\d+$/, "")));
  if (components.size === 0) throw new PrlError("PRL_RUN_UNKNOWN", `${runDir} has no logs: it was not started`);
  const known = FIRST.filter((component) => components.has(component));
  const others = [...components].filter((component) => !FIRST.includes(component)).toSorted();
  const self = selfCommand();
  return [...known, ...others].map((component) => ({
    title: component,
    command: [self.command, ...self.args, "logs", "-f", runDir, component],
  }));
}

/** tmux takes no dot and no colon in a name. */
function sessionName(runDir: string): string {
  return PREFIX + basename(runDir).replaceAll(/[.:]/g, "_");
}
