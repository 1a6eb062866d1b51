/** The rows of `prl env test` about the package itself. Only package.json files are read here. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";

import {
  type CheckRow,
  type EnvironmentPackage,
  manifestOf,
  PACKAGE_CHECKS,
  packageIn,
  packageProblem,
  publishProblem,
  sourceOf,
} from "../../environments/internal.ts";
import { explain } from "../../errors.ts";

/** `dir`: null where the environment is named by a module or an id, which is no package to check. */
export function packageRows(dir: string | null): CheckRow[] {
  const names = [...Object.keys(PACKAGE_CHECKS), "publishing", "build"];
  if (dir === null || !existsSync(join(dir, "package.json"))) {
    const what = "it is no folder with a package.json";
    return names.map((check) => row(check, "not checked", what));
  }
  const checked = Object.entries(PACKAGE_CHECKS).map(([check, what]): CheckRow => {
    const problem = packageProblem(dir, check as keyof typeof PACKAGE_CHECKS);
    return problem === null ? row(check, "passed", what) : failed(check, what, problem);
  });
  return [...checked, publishing(dir), built(dir)];
}

function publishing(dir: string): CheckRow {
  try {
    const { private: isPrivate } = manifestOf(dir);
    if (isPrivate === true) return row("publishing", "stated", 'package.json says "private": prl env push refuses it');
    const problem = publishProblem(packageIn(dir));
    const what = "a search of a hub finds it";
    return problem === null ? row("publishing", "passed", what) : failed("publishing", what, problem);
  } catch {
    return row("publishing", "not checked", "the manifest is wrong");
  }
}

/** Whether what runs is older than its source. Times of files decide nothing: a checkout gives them anew. */
function built(dir: string): CheckRow {
  let found: EnvironmentPackage;
  let source: string | null;
  try {
    found = packageIn(dir);
    source = sourceOf(dir);
  } catch (error) {
    return row("build", "not checked", explain(error));
  }
  if (source === null) return row("build", "not checked", 'package.json names no "prl.source"');
  const entry = found.entry.replace(/#[^#/\\]*$/u, "");
  const isOld = newest(dirname(source)) > statSync(entry).mtimeMs;
  return row(
    "build",
    "stated",
    isOld ? "a source is newer than what was built: npm run build" : "newer than its sources",
  );
}

function newest(folder: string): number {
  const entries = readdirSync(folder, { withFileTypes: true, recursive: true }).filter((entry) => entry.isFile());
  return Math.max(0, ...entries.map(({ parentPath, name }) => statSync(join(parentPath, name)).mtimeMs));
}

function row(check: string, status: CheckRow["status"], what: string): CheckRow {
  return { part: "package", check, status, what, failures: [] };
}

function failed(check: string, what: string, message: string): CheckRow {
  return { ...row(check, "failed", what), failures: [{ split: null, task: null, message }] };
}
