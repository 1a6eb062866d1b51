/** Shared by commands that start one part of a run without the launcher. The code that does it is loaded only when it is needed. */
import type { CommandIo, CommandOption } from "../command.ts";

export type Component = "trainer" | "inference" | "orchestrator" | "env-worker";

export const BY_HAND_USAGE = "@ <rl.toml>... --run-dir <dir> [--index <i>] [--key value]...";
/** Usage of the parts that have state of the run. */
export const RESUMABLE_USAGE = "@ <rl.toml>... --run-dir <dir> [--resume [<step>] [--attempt <n>]] [--key value]...";
export const BY_HAND_DETAILS =
  "With a run's config, as prl rl takes it, the command is one part of that run, without the launcher: give all parts the\n" +
  "same config and, on one machine, the same run directory, a new one for each run; on several machines see the README of\n" +
  "ts/launcher.\n";

/** The options of a process that the launcher or a user may start. */
export function eitherWay(options: readonly CommandOption[]): CommandOption[] {
  return options.map((option) => ({ ...option, required: false }));
}

/** The arguments with which the launcher would start the process; those with `--config` stay the same. Errors: as `launcher/component.ts`. */
export async function asStartedByLauncher(
  component: Component,
  args: readonly string[],
  io: CommandIo,
): Promise<readonly string[]> {
  if (args.length === 0 || args.some((arg) => arg === "--config" || arg.startsWith("--config="))) return args;
  const { launcherArguments } = await import("./component.ts");
  return launcherArguments(component, args, io);
}
