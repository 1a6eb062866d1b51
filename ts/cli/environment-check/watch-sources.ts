/**
 * Watches the sources in a folder and below, by their sizes and times: a recursive watch of the system would follow what npm installed as well.
 *
 * Saves that follow each other within a short time are one. What is built, installed or written by runs is no source.
 */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";

const POLL_MS = 150;
const NO_SOURCES: ReadonlySet<string> = new Set(["node_modules", "dist", "outputs", "__pycache__"]);
const SOURCE = /\.(?:[cm]?[jt]s|json|jsonl|csv|parquet|py|txt|toml)$/u;
/** Files beyond these are not watched. */
const MOST_FILES = 5_000;

export interface Sources {
  /** Aborted by the next save. */
  next(): AbortSignal;
  close(): void;
}

export function watchSources(folder: string): Sources {
  let waiting = new AbortController();
  let known = stateOf(folder);
  let isChanging = false;
  const timer = setInterval(() => {
    const state = stateOf(folder);
    const changed = state !== known;
    known = state;
    // An editor writes a file in several steps: the save is over when nothing has changed for one turn.
    if (isChanging && !changed) waiting.abort(new Error("a source was saved"));
    isChanging = changed;
  }, POLL_MS);
  return {
    next() {
      waiting = new AbortController();
      return waiting.signal;
    },
    close() {
      clearInterval(timer);
    },
  };
}

/** Path, size and time of every source. */
function stateOf(folder: string): string {
  const lines: string[] = [];
  const folders = [folder];
  for (let place = folders.pop(); place !== undefined && lines.length < MOST_FILES; place = folders.pop()) {
    for (const entry of entriesOf(place)) {
      if (entry.name.startsWith(".") || NO_SOURCES.has(entry.name)) continue;
      const path = join(place, entry.name);
      if (entry.isDirectory()) folders.push(path);
      if (!entry.isFile() || !SOURCE.test(entry.name)) continue;
      const found = statSync(path, { throwIfNoEntry: false });
      if (found !== undefined) lines.push(`${path} ${found.size} ${found.mtimeMs}`);
    }
  }
  return lines.join("\n");
}

/** Nothing for a folder that is gone meanwhile, or that this user may not read. */
function entriesOf(folder: string): ReturnType<typeof readFolder> {
  try {
    return readFolder(folder);
  } catch {
    return [];
  }
}

function readFolder(folder: string) {
  return readdirSync(folder, { withFileTypes: true });
}
