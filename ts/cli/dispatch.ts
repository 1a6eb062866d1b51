/**
 * From arguments to an exit code: finds the command, answers `--help` and `--version`, runs the command, reports its errors.
 *
 * Commands are imported only when they are requested, so that `prl --help` and `prl config` start at once.
 */
import { checkEnvironmentVariables, nearest } from "../config/index.ts";
import { explain, messageOf, PrlError } from "../errors.ts";
import { noteFailure } from "../failure-note.ts";
import { showText } from "./arguments/args.ts";
import { EXIT, exitCodeOf, type Command } from "./command.ts";
import { commandHelp, commandHelpData, programHelp, type CommandLine } from "./help.ts";
import { openIo, type IoHandle, type World } from "./output.ts";
import { stopExit } from "../stop-signal.ts";
import { versionInfo, versionText } from "../version.ts";

interface CommandEntry extends CommandLine {
  load(): Promise<{ command: Command }>;
}

const COMMANDS: readonly CommandEntry[] = [
  { name: "rl", summary: "Train a model by reinforcement learning", load: () => import("./commands/rl.ts") },
  { name: "sft", summary: "Fine-tune a model on demonstrations", load: () => import("./commands/sft.ts") },
  {
    name: "eval",
    summary: "Evaluate a model behind an endpoint on environments",
    load: () => import("./commands/eval.ts"),
  },
  { name: "runs", summary: "List, show and compare runs", load: () => import("./commands/runs.ts") },
  {
    name: "watch",
    summary: "Show the progress of a run that another process started",
    load: () => import("./commands/watch.ts"),
  },
  {
    name: "logs",
    summary: "Print or follow the logs of a run's processes",
    load: () => import("./commands/logs.ts"),
  },
  {
    name: "tmux",
    summary: "Show the logs of a run in tmux, one pane per component",
    load: () => import("./commands/tmux.ts"),
  },
  {
    name: "slurm",
    summary: "Show, follow and cancel the Slurm job of a run",
    load: () => import("./commands/slurm/slurm.ts"),
  },
  {
    name: "kubernetes",
    summary: "Show, follow and delete the Kubernetes objects of a run",
    load: () => import("./commands/kubernetes/kubernetes.ts"),
  },
  {
    name: "launch",
    summary: "Start a run on machines that ssh reaches, watch it and end it",
    load: () => import("./commands/clusters/launch.ts"),
  },
  {
    name: "fleet",
    summary: "Check the machines of a file of hosts and say what to mend",
    load: () => import("./commands/clusters/fleet.ts"),
  },
  {
    name: "export",
    summary: "Write the traces of a run as data for prl sft",
    load: () => import("./commands/export.ts"),
  },
  {
    name: "env",
    summary: "Make, check, describe, install and publish environments",
    load: () => import("./commands/env.ts"),
  },
  {
    name: "hub",
    summary: "Serve a hub of environments: an npm registry for prl env push and install",
    load: () => import("./commands/hub/hub.ts"),
  },
  {
    name: "model",
    summary: "Download, list, examine and remove models",
    load: () => import("./commands/model.ts"),
  },
  { name: "chat", summary: "Talk to a model, line by line", load: () => import("./commands/chat.ts") },
  {
    name: "config",
    summary: "Print the config's schema or a resolved config",
    load: () => import("./commands/config.ts"),
  },
  {
    name: "plan",
    summary: "Work out memory, times and traffic of a run before it is started",
    load: () => import("./commands/plan/plan.ts"),
  },
  {
    name: "chaos",
    summary: "Disturb runs of a config by seeded faults and check what was promised",
    load: () => import("./commands/chaos/chaos.ts"),
  },
  {
    name: "doctor",
    summary: "Check this machine and say how to mend what is missing",
    load: () => import("./commands/doctor.ts"),
  },
  {
    name: "python",
    summary: "Set up the Python environment of a backend in prl's cache",
    load: () => import("./commands/python.ts"),
  },
  { name: "trainer", summary: "The trainer process of a run", load: () => import("./commands/processes/trainer.ts") },
  {
    name: "orchestrator",
    summary: "The orchestrator process of a run",
    load: () => import("./commands/processes/orchestrator.ts"),
  },
  { name: "inference", summary: "An inference server", load: () => import("./commands/processes/inference.ts") },
  {
    name: "sandbox",
    summary: "Run untrusted programs: a single one, or a daemon for others",
    load: () => import("./commands/sandbox/sandbox.ts"),
  },
  {
    name: "weights",
    summary: "Publish, serve, relay, pull, verify and compare weight versions",
    load: () => import("./commands/weights.ts"),
  },
  {
    name: "check-code",
    summary: "Import the modules that a config names, for a run that is about to start",
    hidden: true,
    load: () => import("./commands/processes/check-code.ts"),
  },
  {
    name: "host-part",
    summary: "One part of a run on its host, for prl launch ssh",
    hidden: true,
    load: () => import("./commands/clusters/host-part.ts"),
  },
  {
    name: "check-environment",
    summary: "Run the code of an environment for prl env test or prl env dev",
    hidden: true,
    load: () => import("./commands/processes/check-environment.ts"),
  },
  {
    name: "sandboxd",
    summary: "The sandbox daemon of a run",
    hidden: true,
    load: () => import("./commands/processes/sandboxd.ts"),
  },
  {
    name: "env-server",
    summary: "Host environments for a run: one env worker",
    load: () => import("./commands/processes/env-server.ts"),
  },
];

/** Names of all commands, hidden ones too. */
export const COMMAND_NAMES: readonly string[] = COMMANDS.map((command) => command.name);

/** Runs one command line and resolves to its exit code; never rejects. */
export async function runCommandLine(args: readonly string[], world: World): Promise<number> {
  const end = args.indexOf("--") < 0 ? args.length : args.indexOf("--");
  const has = (...flags: string[]): boolean => args.slice(0, end).some((arg) => flags.includes(arg));
  const handle = openIo(world, has("--json"));
  const rest = args.filter((arg, i) => i >= end || arg !== "--json");
  try {
    return await dispatch(rest, has("--help", "-h"), handle);
  } catch (error) {
    return report(error, handle, world);
  } finally {
    handle.close();
  }
}

async function dispatch(args: readonly string[], wantsHelp: boolean, { io }: IoHandle): Promise<number> {
  const [name, ...rest] = args;
  if (name === "--version" || name === "-V") {
    const info = await versionInfo();
    if (io.json) io.writeJson(info);
    else io.stdout.write(versionText(info));
    return EXIT.done;
  }
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    if (io.json) io.writeJson({ commands: COMMANDS.map(({ name: command, summary }) => ({ name: command, summary })) });
    else (name === undefined ? io.stderr : io.stdout).write(programHelp(COMMANDS, io.columns));
    return name === undefined ? EXIT.usage : EXIT.done;
  }
  const entry = COMMANDS.find((command) => command.name === name);
  if (entry === undefined) {
    const near = nearest(name, COMMAND_NAMES);
    const advice = near === null ? "prl --help lists the commands" : `did you mean "prl ${near}"?`;
    throw new PrlError("PRL_CLI_USAGE", `there is no command ${showText(name)}; ${advice}`);
  }
  const { command } = await entry.load();
  if (wantsHelp) {
    if (io.json) io.writeJson(commandHelpData(command));
    else io.stdout.write(commandHelp(command, io.columns));
    return EXIT.done;
  }
  checkEnvironmentVariables(io.env);
  return command.run(rest, io);
}

/** A message that quotes typed text may be as long as that text. */
const LONGEST_MESSAGE = 16_384;

function bounded(message: string): string {
  const more = message.length - LONGEST_MESSAGE;
  return more <= 0 ? message : `${message.slice(0, LONGEST_MESSAGE)}... (${more} more characters)`;
}

/** One message on stderr, with `--json` also as the document on stdout, and the exit code. */
function report(error: unknown, handle: IoHandle, world: World): number {
  noteFailure(error);
  const message = bounded(explain(error));
  world.stderr.write(`prl: ${message}\n`);
  if (world.env["PRL_DEBUG"] === "1" && error instanceof Error) world.stderr.write(`${error.stack ?? ""}\n`);
  const code = error instanceof PrlError ? error.code : null;
  if (handle.io.json && !handle.hasJson()) {
    handle.io.writeJson({ error: { code, message: bounded(messageOf(error)) } });
  }
  const received = handle.received();
  if (received !== null) return stopExit(received);
  return exitCodeOf(code);
}
