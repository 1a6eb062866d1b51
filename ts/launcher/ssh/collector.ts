/**
 * Writes what the hosts send into the launcher's run directory: a log for each part, and the lines of all hosts in one `metrics.jsonl` and one
 * `events.jsonl`, where every command that shows runs finds them.
 *
 * How much of a host's file was received is not noted anywhere: it is the length of the lines of its components, which are here as they are there.
 */
import { appendFile, open, truncate } from "node:fs/promises";
import { join } from "node:path";

import { ifThere } from "../../files/file-presence.ts";
import { textLines } from "../../files/text-lines.ts";
import { EVENTS_FILE, METRICS_FILE } from "../../monitors/index.ts";
import { PrlError } from "../../errors.ts";

export const FOLLOWED = [METRICS_FILE, EVENTS_FILE] as const;
/** The launcher's own lines, which no host has. */
const LAUNCHER = "launcher";
/** Components whose lines are in the trainer's run directory. */
const OF_TRAINER = new Set(["trainer", "sft"]);

/** Whose lines a host's files have: all, or those of the trainer or of all others where these are on two hosts. */
export type LineOwner = "all" | "trainer" | "others";

/** Bytes of each followed file that were received from the host of `owner`. A torn last line is removed. Errors: PRL_IO. */
export async function receivedBytes(runDir: string, owner: LineOwner): Promise<Record<string, number>> {
  const entries = FOLLOWED.map(async (file): Promise<[string, number]> => [
    file,
    await bytesOf(join(runDir, file), owner),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

async function bytesOf(path: string, owner: LineOwner): Promise<number> {
  const handle = await ifThere(open(path, "r"), path);
  if (handle === null) return 0;
  const { size } = await handle.stat();
  await handle.close();
  let [all, received] = [0, 0];
  for await (const line of textLines(path)) {
    const bytes = Buffer.byteLength(line) + 1;
    if (all + bytes > size) {
      await truncate(path, all);
      break;
    }
    all += bytes;
    if (isOf(owner, line)) received += bytes;
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

  async #append(path: string, text: string): Promise<void> {
    try {
      await appendFile(path, text);
    } catch (cause) {
      throw new PrlError("PRL_IO", `cannot append to ${path}`, { cause });
    }
  }
}
