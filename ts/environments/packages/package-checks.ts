/**
 * Checks a package before it is pushed to a hub or installed from one. Only package.json files are read; no code of the package runs.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";

import { explain, PrlError } from "../../errors.ts";
import { BUILTIN } from "../builtin/index.ts";
import { isCatalogueId } from "../catalogue/index.ts";
import {
  ENVIRONMENT_KEYWORD,
  type EnvironmentPackage,
  isRecord,
  manifestOf,
  packageIn,
  packageSeenFrom,
  saysEnvironment,
} from "./environment-package.ts";
import { packageNeeds } from "./needs.ts";

/** Scripts that npm would run where the package is installed. */
const INSTALL_SCRIPTS = ["preinstall", "install", "postinstall"];
/** Longest chain of environments that build on each other. */
const DEEPEST = 50;

/** The demands on a package, by the name of the check, in the order in which they are made. */
export const PACKAGE_CHECKS = {
  manifest: "it has an environment, for this version of the API",
  scripts: "npm runs none of its scripts where it is installed",
  name: "no built-in environment has its name",
  needs: "the needs that it declares can be read",
  circle: "it does not build on itself",
} as const;
type PackageCheck = keyof typeof PACKAGE_CHECKS;

const CHECKS: Readonly<Record<PackageCheck, (dir: string) => void>> = {
  manifest: (dir) => void packageIn(dir),
  scripts: refuseScripts,
  name: (dir) => refuseShadow(packageIn(dir).name),
  needs: (dir) => void packageNeeds(manifestOf(dir)),
  circle: refuseCircle,
};

/**
 * Refuses the package in `dir` when it is no environment, is written for another API version, has scripts that run at its installation, has
 * the name of a built-in environment, declares needs wrongly, or builds on itself.
 *
 * @throws PrlError `PRL_ENVIRONMENT_INVALID`
 */
export function checkPackage(dir: string): void {
  for (const check of Object.values(CHECKS)) check(dir);
}

/** Names the fault that one check finds in the package; null: none. */
export function packageProblem(dir: string, check: PackageCheck): string | null {
  try {
    CHECKS[check](dir);
    return null;
  } catch (error) {
    return explain(error);
  }
}

/** Why a hub would refuse the package or its search would not find it; null: neither. */
export function publishProblem({ name, dir }: EnvironmentPackage): string | null {
  const { keywords, private: isPrivate } = manifestOf(dir);
  if (isPrivate === true) return `${name} is "private" in its package.json, so npm does not publish it`;
  if (Array.isArray(keywords) && keywords.includes(ENVIRONMENT_KEYWORD)) return null;
  return `${name} has not the keyword "${ENVIRONMENT_KEYWORD}", by which a search finds environments: add it in package.json`;
}

function refuseScripts(dir: string): void {
  const manifest = manifestOf(dir);
  const name = String(manifest["name"]);
  const scripts = isRecord(manifest["scripts"]) ? Object.keys(manifest["scripts"]) : [];
  const [script] = scripts.filter((each) => INSTALL_SCRIPTS.includes(each));
  if (script !== undefined)
    throw invalid(
      `${name} has the script "${script}", which would run where it is installed: take it out of package.json`,
    );
  if (manifest["gypfile"] === true)
    throw invalid(`${name} has "gypfile", which builds native code where it is installed: take it out of package.json`);
  // Without a word in package.json npm runs node-gyp for this file.
  if (manifest["gypfile"] !== false && existsSync(join(dir, "binding.gyp")))
    throw invalid(`${name} has binding.gyp, for which npm builds native code where it is installed: take it out`);
}

function refuseCircle(dir: string): void {
  const cycle = cycleFrom(String(manifestOf(dir)["name"]), dir, []);
  if (cycle !== null) throw invalid(`environments build on each other in a circle: ${cycle.join(" → ")}`);
}

/** Refuses the name of a package that a built-in environment would hide. Errors: PRL_ENVIRONMENT_INVALID. */
export function refuseShadow(packageName: string): void {
  const id = packageName.replace(/^@/u, "");
  if (BUILTIN.has(id))
    throw invalid(`${packageName} has the name of the built-in environment ${id}: give it another name`);
  const [owner = ""] = id.split("/");
  if (isCatalogueId(id))
    throw invalid(
      `${packageName} has the owner "${owner}", which is a category of prl's own tasks: take another scope`,
    );
}

/** The names from a package along its dependencies back to itself; null when no way leads back. */
function cycleFrom(name: string, dir: string, path: readonly string[]): readonly string[] | null {
  if (path.includes(name)) return [...path.slice(path.indexOf(name)), name];
  if (path.length >= DEEPEST)
    throw invalid(`${path[0] ?? name}: more than ${DEEPEST} environments build on each other`);
  const manifest = manifestOf(dir);
  for (const key of ["dependencies", "optionalDependencies", "peerDependencies"]) {
    const dependencies = isRecord(manifest[key]) ? Object.keys(manifest[key]) : [];
    for (const dependency of dependencies) {
      if (dependency === path[0] || dependency === name) return [...path, name, dependency];
      const found = packageSeenFrom(dependency, dir);
      if (found === null || !saysEnvironment(found.manifest)) continue;
      const cycle = cycleFrom(dependency, found.dir, [...path, name]);
      if (cycle !== null) return cycle;
    }
  }
  return null;
}

function invalid(message: string): PrlError {
  return new PrlError("PRL_ENVIRONMENT_INVALID", message);
}
