/**
 * Environments that are npm packages: `"prl": { "environment": "./dist/index.js", "api": 1 }` in package.json, keyword `prl-environment`.
 *
 * Packages are found as Node finds them, in the `node_modules` of the folder and of those above it; a folder inside the package's own
 * source tree finds that package. Nothing is imported here.
 */
import { existsSync, readdirSync, readFileSync, realpathSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { PrlError } from "../../errors.ts";

/** npm's keyword by which environments are found. */
export const ENVIRONMENT_KEYWORD = "prl-environment";
/** The version of `prl-lm/environments` that a package is written for; a package that names none is written for the first. */
export const ENVIRONMENT_API = 1;

export type Manifest = Readonly<Record<string, unknown>>;

export interface EnvironmentPackage {
  /** Name in npm: `my-env`, `@owner/my-env`. */
  readonly name: string;
  readonly version: string;
  readonly dir: string;
  /** Absolute path of its module, with `#export` when package.json names one. */
  readonly entry: string;
}

/** Parses an id: `owner/name@1.2.0` and `@owner/name@1.2.0` are the package `@owner/name`, in that version. */
export function parsePackageId(id: string): { name: string; version: string | null } | null {
  const match = /^(?:@?([a-z0-9][\w.-]*)\/)?([a-z0-9][\w.-]*)(?:@([\w.+-]+))?$/iu.exec(id);
  if (match === null) return null;
  const [, owner, name = "", version] = match;
  const asked = version === undefined || version === "latest" ? null : version;
  return { name: owner === undefined ? name : `@${owner}/${name}`, version: asked };
}

/**
 * The package of this name seen from a folder, null when there is none.
 * Throws PRL_ENVIRONMENT_INVALID for a package that is not an environment or cannot be read.
 */
export function findEnvironmentPackage(name: string, from: string): EnvironmentPackage | null {
  for (const folder of upwards(from)) {
    if (existsSync(join(folder, "package.json")) && manifestOf(folder).name === name) return packageIn(folder);
    const installed = join(folder, "node_modules", name);
    if (existsSync(join(installed, "package.json"))) return packageIn(installed);
  }
  return null;
}

/** The environment in a package's folder. Throws PRL_ENVIRONMENT_INVALID. */
export function packageIn(folder: string): EnvironmentPackage {
  // npm links folders that are installed by path; their modules find their own packages where they really are.
  const dir = realpathSync(folder);
  const manifest = manifestOf(dir);
  const { name, version, prl } = manifest;
  const entry = isRecord(prl) ? prl["environment"] : undefined;
  if (typeof name !== "string" || typeof version !== "string" || typeof entry !== "string") {
    throw new PrlError(
      "PRL_ENVIRONMENT_INVALID",
      `${join(dir, "package.json")} is of no environment: it needs a name, a version and "prl": { "environment": "./dist/index.js" }`,
    );
  }
  const api = isRecord(prl) ? (prl["api"] ?? 1) : 1;
  if (api !== ENVIRONMENT_API) {
    throw new PrlError(
      "PRL_ENVIRONMENT_INVALID",
      `${name} ${version} is written for version ${JSON.stringify(api)} of the environments API, and this prl has version ${ENVIRONMENT_API}: install another version of the package or of prl`,
    );
  }
  const path = resolve(dir, entry);
  const file = path.replace(/#[^#/\\]*$/u, "");
  if (!existsSync(file)) {
    const scripts = isRecord(manifest["scripts"]) ? manifest["scripts"] : {};
    const advice = "build" in scripts ? `build it: npm run build in ${dir}` : 'mend "prl.environment" in package.json';
    throw new PrlError("PRL_ENVIRONMENT_INVALID", `the environment package ${name} has no ${file}; ${advice}`);
  }
  return { name, version, dir, entry: path };
}

/**
 * The module from which the environment of a package is built, `"prl": { "source": "./src/index.ts" }`, where the package has it; null where it
 * names none. Throws PRL_ENVIRONMENT_INVALID for a source that is not there.
 */
export function sourceOf(dir: string): string | null {
  const { name, prl } = manifestOf(dir);
  const source = isRecord(prl) ? prl["source"] : undefined;
  if (typeof source !== "string") return null;
  const path = resolve(dir, source);
  if (existsSync(path.replace(/#[^#/\\]*$/u, ""))) return path;
  throw new PrlError(
    "PRL_ENVIRONMENT_INVALID",
    `${String(name)} has no ${path}, its source: mend "prl.source" in package.json`,
  );
}

/** The environment packages that a folder sees, by name: what their package.json says of them, which may be nothing. */
export function environmentPackages(from: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const consider = (dir: string): void => {
    if (!existsSync(join(dir, "package.json"))) return;
    const manifest = manifestOf(dir);
    const { name, description } = manifest;
    if (typeof name !== "string" || found.has(name) || !saysEnvironment(manifest)) return;
    found.set(name, typeof description === "string" ? description : "");
  };
  for (const folder of upwards(from)) {
    consider(folder);
    const modules = join(folder, "node_modules");
    for (const entry of subfolders(modules)) {
      if (!entry.startsWith("@")) consider(join(modules, entry));
      else for (const scoped of subfolders(join(modules, entry))) consider(join(modules, entry, scoped));
    }
  }
  return new Map([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function* upwards(from: string): Generator<string> {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    yield folder;
    if (folder === dirname(folder)) return;
  }
}

/** The package of this name as Node finds it from a folder, environment or not; null when there is none. */
export function packageSeenFrom(name: string, from: string): { dir: string; manifest: Manifest } | null {
  for (const folder of upwards(from)) {
    const dir = join(folder, "node_modules", name);
    if (existsSync(join(dir, "package.json"))) return { dir: realpathSync(dir), manifest: manifestOf(dir) };
  }
  return null;
}

/** Whether the package says that it is an environment. */
export function saysEnvironment({ prl }: Manifest): boolean {
  return isRecord(prl) && typeof prl["environment"] === "string";
}

/** Contents of a folder's package.json. Throws PRL_ENVIRONMENT_INVALID. */
export function manifestOf(dir: string): Manifest {
  const path = join(dir, "package.json");
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (isRecord(value)) return value;
  } catch (cause) {
    throw new PrlError("PRL_ENVIRONMENT_INVALID", `${path} cannot be read`, { cause });
  }
  throw new PrlError("PRL_ENVIRONMENT_INVALID", `${path} is no JSON object`);
}

function subfolders(dir: string): string[] {
  return existsSync(dir) ? readdirSync(dir).filter((name) => !name.startsWith(".")) : [];
}

/** Whether it is a JSON object. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
