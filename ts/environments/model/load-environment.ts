/** Finds the environment that a config names: built-in ids, those of the catalogue and of benchmarks, then installed packages, then modules by path. */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

import { z } from "zod";

import { importUserModule, nearest } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { checkOptions, only } from "../../options.ts";
import { isBenchmarkId } from "../benchmarks/benchmark-id.ts";
import { BUILTIN } from "../builtin/index.ts";
import { catalogueEnvironment, isCatalogueId } from "../catalogue/index.ts";
import { type Environment, isEnvironment } from "./environment.ts";
import {
  type EnvironmentPackage,
  environmentPackages,
  findEnvironmentPackage,
  packageIn,
  parsePackageId,
} from "../packages/environment-package.ts";
import { assertLocked } from "../packages/environments-lock.ts";

/**
 * The id of a built-in environment or an installed package, or the path of a module (`./my-env.ts`, `./my-env.ts#name`) or of a
 * package's folder: one of the two.
 */
export interface EnvironmentReference {
  readonly id?: string | null | undefined;
  readonly path?: string | null | undefined;
}

const referenceSchema = only<EnvironmentReference>({ id: z.string().nullish(), path: z.string().nullish() });

/** Where an environment came from. */
export type EnvironmentOrigin =
  | { readonly kind: "builtin" }
  | { readonly kind: "package"; readonly name: string; readonly version: string; readonly dir: string }
  | { readonly kind: "path"; readonly path: string };

export interface LocatedEnvironment {
  readonly environment: Environment;
  readonly origin: EnvironmentOrigin;
}

/**
 * Loads an environment; `configure(args)` of it fills in its arguments. A string that begins with `.` or `/` or ends in a module's
 * extension is a path, else it is an id.
 * Errors: PRL_ENVIRONMENT_UNKNOWN, PRL_USER_MODULE, PRL_ENVIRONMENT_INVALID, PRL_ENVIRONMENT_UNLOCKED.
 */
export async function loadEnvironment(reference: string | EnvironmentReference): Promise<Environment> {
  const named = typeof reference === "string" ? environmentReference(reference) : reference;
  checkOptions("PRL_ENVIRONMENT_INVALID", "loadEnvironment", referenceSchema, named);
  return (await locateEnvironment(named)).environment;
}

/** The same, with where it was found. `from`: the folder that sees the packages and that paths are relative to. */
export async function locateEnvironment(
  reference: string | EnvironmentReference,
  from: string = process.cwd(),
): Promise<LocatedEnvironment> {
  const { id = null, path = null } = typeof reference === "string" ? environmentReference(reference) : reference;
  if (id !== null && path === null) return byId(id, from);
  if (path !== null && id === null) return byPath(path, from);
  throw new PrlError("PRL_ENVIRONMENT_INVALID", "an environment is named by id or by path: give exactly one of them");
}

/** Is it an id or a path? */
export function environmentReference(text: string): EnvironmentReference {
  return /^\.{0,2}\/|^\.{1,2}$|\.[cm]?[jt]s(#|$)/u.test(text) ? { path: text } : { id: text };
}

/** Whether it comes with prl, and so is not user code. */
export function isBuiltin({ id = null, path = null }: EnvironmentReference): boolean {
  return path === null && id !== null && (BUILTIN.has(id) || isCatalogueId(id) || isBenchmarkId(id));
}

async function byId(id: string, from: string): Promise<LocatedEnvironment> {
  const builtin = BUILTIN.get(id);
  if (builtin !== undefined) return { environment: (await builtin.load()).default, origin: { kind: "builtin" } };
  if (isCatalogueId(id)) return { environment: await catalogueEnvironment(id), origin: { kind: "builtin" } };
  if (isBenchmarkId(id)) {
    const { benchmarkEnvironment } = await import("../benchmarks/index.ts");
    return { environment: benchmarkEnvironment(id), origin: { kind: "builtin" } };
  }
  const asked = parsePackageId(id);
  const found = asked === null ? null : findEnvironmentPackage(asked.name, from);
  if (found === null) throw unknown(id, from);
  if (asked !== null && asked.version !== null && asked.version !== found.version) {
    throw new PrlError(
      "PRL_ENVIRONMENT_UNKNOWN",
      `${id} is asked for and ${found.name} is here in version ${found.version} (${found.dir}); prl env install ${id}`,
    );
  }
  return fromPackage(found);
}

async function byPath(path: string, from: string): Promise<LocatedEnvironment> {
  const folder = resolve(from, path);
  if (existsSync(join(folder, "package.json")) && statSync(folder).isDirectory()) return fromPackage(packageIn(folder));
  return { environment: await importEnvironment(path, from), origin: { kind: "path", path: folder } };
}

/** Imports the package when it is the one that its project has locked. */
async function fromPackage(found: EnvironmentPackage): Promise<LocatedEnvironment> {
  await assertLocked(found);
  const { name, version, dir, entry } = found;
  return { environment: await importEnvironment(entry, dir), origin: { kind: "package", name, version, dir } };
}

async function importEnvironment(path: string, from: string): Promise<Environment> {
  const value = await importUserModule(path, from);
  if (isEnvironment(value)) return value;
  throw new PrlError(
    "PRL_ENVIRONMENT_INVALID",
    `${path} does not export an environment; export default defineEnvironment({...})`,
  );
}

function unknown(id: string, from: string): PrlError {
  const names = [...BUILTIN.keys(), ...environmentPackages(from).keys()];
  const near = nearest(id, names);
  const advice = near === null ? `there are ${names.join(", ")};` : `did you mean "${near}"?`;
  return new PrlError(
    "PRL_ENVIRONMENT_UNKNOWN",
    `no environment has the id "${id}"; ${advice} (a package: prl env install ${id}; your own module: path = "./my-env.ts")`,
  );
}
