/** Parts of a run that are started by hand: what their commands have in common. What it takes to do it is loaded only then. */
import type { CommandIo, CommandOption } from "./command.ts";

export type Component = "trainer" | "inference" | "orchestrator" | "env-worker";

export const BY_HAND_USAGE = "@ <rl.toml>... --run-dir <dir> [--index <i>] [--key value]...";
/** Of the parts that have a run's state. */
export const RESUMABLE_USAGE = "@ <rl.toml>... --run-dir <dir> [--resume [<step>] [--attempt <n>]] [--key value]...";
export const BY_HAND_DETAILS =
  "With a run's config, as prl rl takes it, it is that part of the run, started by hand: all parts with the same config and, on one machine,\n" +
  "the same run directory, a new one for each run; on several machines see the README of ts/cli/launcher.\n";

/** The options of a process that may be started either way. */
export function eitherWay(options: readonly CommandOption[]): CommandOption[] {
  return options.map((option) => ({ ...option, required: false }));
}

/** The arguments with which the launcher would start the process; those with a `--config` are its own. Errors: as `launcher/component.ts`. */
export async function asStartedByLauncher(
  component: Component,
  args: readonly string[],
  io: CommandIo,
): Promise<readonly string[]> {
  if (args.length === 0 || args.some((arg) => arg === "--config" || arg.startsWith("--config="))) return args;
  const { launcherArguments } = await import("./launcher/component.ts");
  return launcherArguments(component, args, io);
}
