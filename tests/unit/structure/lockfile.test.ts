/** The lockfile serves every platform: an installation changes nothing in it, and pins what other platforms need too. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const ROOT = resolve(import.meta.dirname, "../../..");

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

/** Packages by their folder below the root, such as `node_modules/a/node_modules/b`. */
const PACKAGES = (
  JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as {
    packages: Readonly<Record<string, LockedPackage>>;
  }
).packages;

/** The binaries of this version for other platforms were not in the registry that the lockfile was made with. */
const WITHOUT_OTHER_PLATFORMS = new Set(["node_modules/oxc-transform"]);

/** Whether a package finds another one in its own node_modules or in one of those above it. */
function finds(folder: string, name: string): boolean {
  for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf("node_modules/") - 1))) {
    if (PACKAGES[`${at === "" ? "" : `${at}/`}node_modules/${name}`] !== undefined) return true;
    if (at === "") return false;
  }
}

test("packages for other platforms are locked too", () => {
  const missing = Object.entries(PACKAGES).flatMap(([folder, { optionalDependencies = {} }]) =>
    WITHOUT_OTHER_PLATFORMS.has(folder) ? [] : Object.keys(optionalDependencies).filter((name) => !finds(folder, name)),
  );
  expect(missing, "write the lockfile anew: npm install --package-lock-only --ignore-scripts").toEqual([]);
});

test("no package is bound to the address of a registry", () => {
  expect(Object.entries(PACKAGES).filter(([, { resolved }]) => resolved !== undefined)).toEqual([]);
});
