/**
 * Handles a stdout or stderr that cannot be written any more: the reader of a pipe went away, the terminal was closed, the
 * disk of a log is full.
 *
 * A command that only prints ends. A command with other work, such as a run, says so once on stderr and goes on.
 */
import { PrlError } from "../errors.ts";
import { noteFailure } from "../failure-note.ts";
import { EXIT } from "./command.ts";

let goesOn = false;
let isGone = false;

/** From now on the command goes on when its output is lost. */
export function outliveOutput(): void {
  goesOn = true;
}

/** Watches the streams of this process. */
export function watchOutput(): void {
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (isGone) return;
    isGone = true;
    // A reader that goes away (`prl config schema | head`) is no error.
    const isReaderGone = error.code === "EPIPE";
    const consequence = goesOn ? "; the command goes on without it" : "";
    if (!isReaderGone || goesOn) {
      process.stderr.write(`prl: stdout cannot be written any more: ${error.message}${consequence}\n`);
    }
    if (goesOn) return;
    if (!isReaderGone) noteFailure(new PrlError("PRL_IO", "stdout cannot be written any more", { cause: error }));
    // A command that stops in an orderly way takes its children along.
    if (process.listenerCount("SIGINT") > 0) process.kill(process.pid, "SIGINT");
    else process.exit(isReaderGone ? EXIT.done : EXIT.failed);
  });
  // No stream is left to report an error of stderr.
  process.stderr.on("error", () => undefined);
}
