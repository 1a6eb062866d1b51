/** Shared by commands that start one part of a run without the launcher. The code that does it is loaded only when it is needed. */
import type { StandalonePart } from "../../launcher/index.ts";
import type { CommandIo, CommandOption } from "../command.ts";
import { type ChildInput, joinAsChild, parseChildOptions } from "./child.ts";

export const STANDALONE_USAGE = "@ <rl.toml>... --run-dir <dir> [--index <i>] [--key value]...";
/** Usage of the parts that have state of the run. */
export const RESUMABLE_USAGE = "@ <rl.toml>... --run-dir <dir> [--resume [<step>] [--attempt <n>]] [--key value]...";
export const STANDALONE_DETAILS =
  "With a run's config, as prl rl takes it, the command is one part of that run, without the launcher: give all parts the\n" +
  "same config and, on one machine, the same run directory, a new one for each run; on several machines see the README of\n" +
  "ts/launcher.\n";

/** The options of a process that the launcher or a user may start. */
export function eitherWay(options: readonly CommandOption[]): CommandOption[] {
  return options.map((option) => ({ ...option, required: false }));
}

/**
 * The input of a process that the launcher or the user starts: both ways it is a config file in the run directory. Errors: PRL_CLI_USAGE,
 * PRL_CONFIG_FILE, PRL_CONFIG_INVALID, those of `launcherArguments`.
 */
export async function partInput<Config>(
  { component, command = component }: { component: StandalonePart["component"]; command?: string },
  args: readonly string[],
  io: CommandIo,
  read: (path: string) => Promise<Config>,
): Promise<ChildInput<Config>> {
  const given = await asStartedByLauncher(component, args, io);
  return joinAsChild(component, parseChildOptions(command, given, io.cwd), read);
}

/** The arguments with which the launcher would start the process; those with `--config` stay the same. Errors: those of `launcherArguments`. */
async function asStartedByLauncher(
  component: StandalonePart["component"],
  args: readonly string[],
  io: CommandIo,
): Promise<readonly string[]> {
  if (args.length === 0 || args.some((arg) => arg === "--config" || arg.startsWith("--config="))) return args;
  const { launcherArguments } = await import("./launcher-arguments.ts");
  return launcherArguments(component, args, io);
}
