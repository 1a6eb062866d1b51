/**
 * `traces.jsonl` of an evaluation run: one episode per line, written when it ends.
 *
 * What a broken run left is read again: episodes that were scored are kept, everything else (errors, a torn last line) goes.
 */
import { appendFileSync, closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";

import { type Episode, episodeSchema } from "../environments/index.ts";
import { PrlError } from "../errors.ts";
import { atomicWriteFile } from "../monitors/index.ts";

export class TracesFile {
  readonly #path: string;
  #fd: number;

  /** Errors: PRL_IO. */
  constructor(path: string) {
    this.#path = path;
    this.#fd = attempt(path, () => openSync(path, "a"));
  }

  /** One appending write. Errors: PRL_IO. */
  add(episode: Episode): void {
    attempt(this.#path, () => appendFileSync(this.#fd, `${JSON.stringify(episode)}\n`));
  }

  /** Takes episodes out that are to be run again. Nothing is added meanwhile. Errors: PRL_IO. */
  async drop(ids: ReadonlySet<string>): Promise<void> {
    const lines = (await readIfThere(this.#path)).split("\n").filter((line) => !ids.has(parse(line)?.id ?? ""));
    await atomicWriteFile(this.#path, lines.join("\n"));
    closeSync(this.#fd);
    this.#fd = attempt(this.#path, () => openSync(this.#path, "a"));
  }

  close(): void {
    closeSync(this.#fd);
  }
}

/** Scored episodes of an earlier run by id, in the order of the file; the file then holds these and no others. Errors: PRL_IO. */
export async function keepScored(path: string): Promise<Map<string, Episode>> {
  const kept = new Map<string, Episode>();
  for (const line of (await readIfThere(path)).split("\n")) {
    const episode = parse(line);
    if (episode?.ok === true) kept.set(episode.id, episode);
  }
  await atomicWriteFile(path, [...kept.values()].map((episode) => `${JSON.stringify(episode)}\n`).join(""));
  return kept;
}

/** Null for what is no whole episode: the line that was being written when the run broke. */
function parse(line: string): Episode | null {
  try {
    const parsed = episodeSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

async function readIfThere(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "ENOENT") return "";
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
