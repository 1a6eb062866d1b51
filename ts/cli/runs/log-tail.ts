/** Lines of a growing log, from where the last call stopped. Its memory is one line; a longer line comes in pieces. */
import { LineFollower } from "../../files/line-follower.ts";

const LONGEST_LINE_BYTES = 64 * 1024;

export class LogTail {
  readonly #follower: LineFollower;

  constructor(path: string) {
    this.#follower = new LineFollower(path, 0, LONGEST_LINE_BYTES);
  }

  /**
   * Hands out every whole line that was appended; none while the file is missing. Calls must not overlap.
   *
   * @throws PrlError `PRL_IO` when the file is there and cannot be read
   */
  async poll(onLine: (line: string) => void): Promise<void> {
    await this.#handOut(onLine, false);
  }

  /** Hands out what follows, and a last line without an end, when the writer has ended. Errors: as `poll`. */
  async end(onLine: (line: string) => void): Promise<void> {
    await this.#handOut(onLine, true);
  }

  async #handOut(onLine: (line: string) => void, isWhole: boolean): Promise<void> {
    for await (const piece of this.#follower.poll(isWhole)) {
      const lines = piece.split("\n");
      if (lines.at(-1) === "") lines.pop();
      for (const line of lines) onLine(line);
    }
  }
}
