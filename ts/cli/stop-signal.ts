/** Signals that end a command in an orderly way, with the exit code of each: 128 and its number, as shells have it. */
import { fstatSync } from "node:fs";

const EXIT_OF = { SIGHUP: 129, SIGINT: 130, SIGQUIT: 131, SIGTERM: 143 } as const;

export type StopSignal = keyof typeof EXIT_OF;

export const STOP_SIGNALS = Object.keys(EXIT_OF) as StopSignal[];

const STDOUT_FD = 1;

/** The exit code of a command that was stopped; `reason` is that of its aborted `io.signal`, and what is no signal stops like SIGTERM. */
export function stopExit(reason: unknown): number {
  return EXIT_OF[STOP_SIGNALS.find((name) => name === reason) ?? "SIGTERM"];
}

/**
 * True when the end of a terminal means nothing to this process, because its output goes to a file or to /dev/null.
 *
 * Node takes back what `nohup` does: it sets an ignored SIGHUP to its default at start, so the signal itself cannot tell. Output that goes
 * to a file is what `nohup` leaves behind in any case.
 */
export function outlivesTerminal(): boolean {
  try {
    const stdout = fstatSync(STDOUT_FD);
    return stdout.isFile() || (stdout.isCharacterDevice() && !process.stdout.isTTY);
  } catch {
    return false; // Without stdout there is nothing to go by.
  }
}
