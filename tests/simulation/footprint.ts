/** What a simulated run holds at a moment: memory, descriptors, threads and files. */
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export interface Footprint {
  /** Live objects after a collection. */
  readonly heapMiB: number;
  readonly descriptors: number;
  readonly threads: number;
  /** Files of the run directory, by the folder that they are in. */
  readonly files: Readonly<Record<string, number>>;
  /** Bytes of the files, by the same. */
  readonly bytes: Readonly<Record<string, number>>;
}

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

export function footprint(runDir: string): Footprint {
  collect();
  const files: Record<string, number> = {};
  const bytes: Record<string, number> = {};
  for (const entry of readdirSync(runDir, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const [folder = ""] = entry.parentPath.slice(runDir.length + 1).split("/");
    files[folder] = (files[folder] ?? 0) + 1;
    bytes[folder] = (bytes[folder] ?? 0) + statSync(join(entry.parentPath, entry.name)).size;
  }
  return {
    heapMiB: process.memoryUsage().heapUsed / 2 ** 20,
    descriptors: readdirSync("/proc/self/fd").length,
    threads: readdirSync("/proc/self/task").length,
    files,
    bytes,
  };
}

/** Of files that are being written. */
const MOST_FILES = 8;
const MOST_DESCRIPTORS = 4;
/** Folders of the run directory whose files may become longer with every step: the history of the run. */
const HISTORY = new Set([""]);

/** What was more at the end than after a third of the time, by more than chance; each is one sentence. */
export function growth(seen: readonly Footprint[], mostHeapMiB: number): string[] {
  const [early, end] = [seen[Math.floor(seen.length / 3)], seen.at(-1)];
  if (early === undefined || end === undefined) return ["nothing was measured"];
  const compared: [string, number, number, number][] = [
    ["MiB of heap", early.heapMiB, end.heapMiB, mostHeapMiB],
    ["descriptors", early.descriptors, end.descriptors, MOST_DESCRIPTORS],
    ["threads", early.threads, end.threads, MOST_DESCRIPTORS],
  ];
  for (const folder of new Set([...Object.keys(early.files), ...Object.keys(end.files)])) {
    compared.push([`files in ${folder}/`, early.files[folder] ?? 0, end.files[folder] ?? 0, MOST_FILES]);
    const before = early.bytes[folder] ?? 0;
    const most = HISTORY.has(folder) ? Infinity : 4096 + before / 4;
    compared.push([`bytes in ${folder}/`, before, end.bytes[folder] ?? 0, most]);
  }
  return compared.flatMap(([what, before, after, most]) =>
    after - before > most
      ? [`${before.toFixed(1)} ${what} after a third of the time, ${after.toFixed(1)} at the end`]
      : [],
  );
}
