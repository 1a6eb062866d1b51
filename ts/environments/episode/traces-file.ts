/**
 * Episodes of an evaluation, such as `traces.jsonl` of `prl eval`: one per line, written when it ends.
 *
 * The file of a broken run is read again: scored episodes are kept, everything else (errors, a torn last line) is removed.
 */
import { appendFileSync, closeSync, openSync } from "node:fs";
import { stat } from "node:fs/promises";

import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";
import { atomicWriteFile } from "../../files/atomic-write.ts";
import { textLines } from "../../files/text-lines.ts";
import { type Episode, episodeSchema } from "./episode.ts";
import { keepLongTextsNative } from "./long-texts.ts";

const WRITE_AFTER_MS = 10;

export class TracesFile {
  readonly #path: string;
  #fd: number;
  #lines = "";
  #failure: unknown = null;

  /** Errors: PRL_IO. */
  constructor(path: string) {
    this.#path = path;
    this.#fd = attempt(path, () => openSync(path, "a"));
  }

  /** Writes the episode a few milliseconds later, together with others that have come by then. Errors, also of earlier lines: PRL_IO. */
  add(episode: Episode): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#lines === "") setTimeout(() => this.#write(), WRITE_AFTER_MS);
    this.#lines += `${JSON.stringify(episode)}\n`;
  }

  /** Removes episodes that will be run again. Nothing may be added meanwhile. Errors: PRL_IO. */
  async drop(ids: ReadonlySet<string>): Promise<void> {
    this.flush();
    await atomicWriteFile(this.#path, linesWithout(this.#path, ids));
    closeSync(this.#fd);
    this.#fd = attempt(this.#path, () => openSync(this.#path, "a"));
  }

  /** Writes everything that was added. Errors: PRL_IO. */
  flush(): void {
    this.#write();
    if (this.#failure !== null) throw this.#failure;
  }

  /** Closes the file; errors that `flush` would report are ignored. */
  close(): void {
    this.#write();
    closeSync(this.#fd);
  }

  /** One appending write of whole lines. */
  #write(): void {
    const lines = this.#lines;
    this.#lines = "";
    if (lines === "" || this.#failure !== null) return;
    try {
      attempt(this.#path, () => appendFileSync(this.#fd, lines));
    } catch (error) {
      this.#failure = error;
    }
  }
}

/**
 * Scored episodes of an earlier run by id, in the order of the file, as far as `isKept` says so; the file then holds these and no others. Their long texts are in
 * native memory. Errors: PRL_IO.
 */
export async function keepScored(
  path: string,
  isKept: (episode: Episode) => boolean = () => true,
): Promise<Map<string, Episode>> {
  const kept = new Map<string, Episode>();
  for await (const line of linesIfThere(path)) {
    const episode = parse(line);
    if (episode?.ok !== true || !isKept(episode)) continue;
    keepLongTextsNative(episode);
    kept.set(episode.id, episode);
  }
  await atomicWriteFile(path, linesOf(kept.values()));
  return kept;
}

/** One by one, because a file may be longer than a text can be. */
async function* linesOf(episodes: Iterable<Episode>): AsyncGenerator<string> {
  for (const episode of episodes) yield `${JSON.stringify(episode)}\n`;
}

async function* linesWithout(path: string, ids: ReadonlySet<string>): AsyncGenerator<string> {
  for await (const line of linesIfThere(path)) if (!ids.has(parse(line)?.id ?? "")) yield `${line}\n`;
}

/** Null when the line is not a whole episode: it was being written when the run broke. */
function parse(line: string): Episode | null {
  try {
    const parsed = episodeSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

async function* linesIfThere(path: string): AsyncGenerator<string> {
  if ((await ifThere(stat(path), path)) === null) return;
  try {
    yield* textLines(path);
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot read ${path}`, { cause });
  }
}

function attempt<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    throw new PrlError("PRL_IO", `cannot write ${path}`, { cause });
  }
}
