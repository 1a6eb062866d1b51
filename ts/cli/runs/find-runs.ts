/** Finds runs: folders of `output_dir`, or a path. */
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve, sep } from "node:path";

import { nearest } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { isMissing } from "../../files/file-presence.ts";
import type { CommandIo, CommandOption } from "../command.ts";

export const OUTPUT_DIR: CommandOption = {
  flag: "--output-dir",
  value: "<dir>",
  summary: "Folder of the run directories (outputs)",
};

export function outputDirOf(options: ReadonlyMap<string, string>, io: CommandIo): string {
  return resolve(io.cwd, options.get(OUTPUT_DIR.flag) ?? "outputs");
}

/**
 * Every run directory of a folder, by name; none when the folder is not there.
 *
 * @throws PrlError `PRL_IO` when the folder cannot be listed
 */
export async function runDirectories(outputDir: string): Promise<string[]> {
  try {
    const entries = await readdir(outputDir, { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith("."));
    return folders.map((entry) => join(outputDir, entry.name)).toSorted();
  } catch (cause) {
    if (isMissing(cause)) return [];
    throw new PrlError("PRL_IO", `cannot list the runs of ${outputDir}`, { cause });
  }
}

/**
 * The directory of a run given by its name in `outputDir`, or by a path.
 *
 * @throws PrlError `PRL_RUN_UNKNOWN` when there is none, with the nearest name
 */
export async function findRun(outputDir: string, run: string, cwd: string): Promise<string> {
  const isPath = run.includes(sep) || run === "." || run === "..";
  const path = isPath ? resolve(cwd, run) : join(outputDir, run);
  if (run !== "" && (await isDirectory(path))) return path;
  if (isPath) {
    const others = `prl runs list --output-dir ${dirname(path)} shows those there are`;
    throw new PrlError("PRL_RUN_UNKNOWN", `there is no run directory ${path}; ${others}`);
  }
  const names = (await runDirectories(outputDir)).map((found) => basename(found));
  const near = nearest(run, names);
  const advice = near === null ? "prl runs list shows those there are" : `did you mean ${near}?`;
  throw new PrlError("PRL_RUN_UNKNOWN", `there is no run ${JSON.stringify(run)} in ${outputDir}; ${advice}`);
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch (cause) {
    if (isMissing(cause)) return false;
    throw new PrlError("PRL_IO", `cannot look at ${path}`, { cause });
  }
}
