/** Signals that end a command in an orderly way, with the exit code of each: 128 plus its number, as in shells. */
import { fstatSync } from "node:fs";

const EXIT_OF = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const;

export type StopSignal = keyof typeof EXIT_OF;

export const STOP_SIGNALS = Object.keys(EXIT_OF) as StopSignal[];

const STDOUT_FD = 1;

/** The exit code of a command that was stopped; `reason` is that of its aborted `io.signal`; another reason counts as SIGTERM. */
export function stopExit(reason: unknown): number {
  return EXIT_OF[STOP_SIGNALS.find((name) => name === reason) ?? "SIGTERM"];
}

/**
 * True when this process goes on after its terminal has closed, because its output goes to a file or to /dev/null.
 *
 * Node undoes `nohup`: at start it sets an ignored SIGHUP to its default, so the signal's state does not show it. But under `nohup` output
 * goes to a file.
 */
export function outlivesTerminal(): boolean {
  try {
    const stdout = fstatSync(STDOUT_FD);
    return stdout.isFile() || (stdout.isCharacterDevice() && !process.stdout.isTTY);
  } catch {
    return false; // Without stdout it cannot be known.
  }
}
