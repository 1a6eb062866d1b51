/**
 * Writes what the hosts send into the launcher's run directory: a log for each part, and the lines of all hosts in one `metrics.jsonl` and one
 * `events.jsonl`, where every command that shows runs finds them.
 *
 * How much of a host's file was received is not noted anywhere: it is the length of the lines of its components, which are here as they are there.
 */
import { open, truncate } from "node:fs/promises";
import { join } from "node:path";

import { ifThere } from "../../files/file-presence.ts";
import { LineFollower } from "../../files/line-follower.ts";
import { EVENTS_FILE, METRICS_FILE } from "../../monitors/index.ts";
import { PrlError } from "../../errors.ts";
import { FRAME_BYTES } from "./host-protocol.ts";

export const FOLLOWED = [METRICS_FILE, EVENTS_FILE] as const;
/** The launcher's own lines, which no host has. */
const LAUNCHER = "launcher";
/** Components whose lines are in the trainer's run directory. */
const OF_TRAINER = new Set(["trainer", "sft"]);

/** Whose lines a host's files have: all, or those of the trainer or of all others where these are on two hosts. */
export type LineOwner = "all" | "trainer" | "others";

/**
 * Removes a torn last line of each followed file, which a launcher has left that ended while it wrote: the next line would become a part of it. Nothing
 * may write to the files meanwhile. Errors: PRL_IO.
 */
export async function removeTornLines(runDir: string): Promise<void> {
  for (const file of FOLLOWED) {
    const path = join(runDir, file);
    let [all, whole] = [0, 0];
    for await (const piece of new LineFollower(path, 0, FRAME_BYTES).poll(true)) {
      all += Buffer.byteLength(piece);
      whole = piece.includes("\n") ? all - Buffer.byteLength(piece.slice(piece.lastIndexOf("\n") + 1)) : whole;
    }
    if (whole < all) await ifThere(truncate(path, whole), path);
  }
}

/** Bytes of each followed file that were received from the host of `owner`; the launcher may add lines meanwhile. Errors: PRL_IO. */
export async function receivedBytes(runDir: string, owner: LineOwner): Promise<Record<string, number>> {
  const entries = FOLLOWED.map(async (file): Promise<[string, number]> => [
    file,
    await bytesOf(join(runDir, file), owner),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

async function bytesOf(path: string, owner: LineOwner): Promise<number> {
  let [rest, received] = ["", 0];
  for await (const piece of new LineFollower(path, 0, FRAME_BYTES).poll()) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (isOf(owner, line)) received += Buffer.byteLength(line) + 1;
  }
  return received;
}

function isOf(owner: LineOwner, line: string): boolean {
  const component = /^\{"component":"([^"]*)"/u.exec(line)?.[1] ?? "";
  if (component === LAUNCHER) return false;
  return owner === "all" || OF_TRAINER.has(component) === (owner === "trainer");
}

export class Collector {
  readonly #runDir: string;
  readonly #logs: string;
  /** The last line of each file, with those that wait before it: at most one of each session. */
  readonly #last = new Map<string, Promise<void>>();

  /** @param logs folder of the attempt's logs */
  constructor(runDir: string, logs: string) {
    this.#runDir = runDir;
    this.#logs = logs;
  }

  /** Errors: PRL_IO. */
  async log(part: string, text: string): Promise<void> {
    await this.#append(join(this.#logs, `${part}.log`), text);
  }

  /** Adds lines to a file that all hosts share here. Errors: PRL_IO. */
  async lines(file: string, text: string): Promise<void> {
    if (FOLLOWED.some((known) => known === file)) await this.#append(join(this.#runDir, file), text);
  }

  /** One after the other: what one session takes back of a file would take with it what another one has added meanwhile. */
  async #append(path: string, text: string): Promise<void> {
    const added = (this.#last.get(path) ?? Promise.resolve()).then(() => append(path, text));
    this.#last.set(
      path,
      added.catch(() => undefined),
    );
    await added;
  }
}

async function append(path: string, text: string): Promise<void> {
  try {
    const file = await open(path, "a");
    try {
      const { size } = await file.stat();
      await file.appendFile(text).catch(async (error: unknown) => {
        // A full disk takes the beginning of a line, to which the next line would be added. A line that the launcher has added meanwhile is lost with it.
        await file.truncate(size);
        throw error;
      });
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot append to ${path}`, { cause });
  }
}
