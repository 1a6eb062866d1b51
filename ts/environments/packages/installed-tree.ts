/**
 * Reads npm's own record of what it has installed, `node_modules/.package-lock.json`: the integrity of a package and of all that it depends
 * on. A tree that another program than npm has made has no such record; nothing is known of it then.
 */
import { readFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";

import { z } from "zod";

import { manifestOf } from "./environment-package.ts";
import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";

export interface InstalledTree {
  /** npm's digest of the archive; null where it knows none. */
  readonly integrity: string | null;
  /** `version integrity` by place below `node_modules`: `zod`, `@owner/env/node_modules/zod`. */
  readonly dependencies: Readonly<Record<string, string>>;
}

const names = z.record(z.string(), z.string()).optional();
const entry = z.object({
  name: z.string().optional(),
  version: z.string().optional(),
  integrity: z.string().optional(),
  resolved: z.string().optional(),
  link: z.boolean().optional(),
  dependencies: names,
  optionalDependencies: names,
});
const schema = z.object({ packages: z.record(z.string(), entry) });
type Entries = z.infer<typeof schema>["packages"];

/** A package that came from a registry. */
export interface FetchedPackage {
  /** Its name in the registry. */
  readonly name: string;
  readonly version: string;
  readonly integrity: string;
  /** Address of its archive. */
  readonly resolved: string;
}

/** Everything in a project that npm has fetched from registries. Throws PRL_ENVIRONMENT_UNLOCKED for a record that is damaged. */
export async function fetchedPackages(project: string): Promise<FetchedPackage[]> {
  const packages = (await recordOf(project)) ?? {};
  return Object.entries(packages).flatMap(([place, { name, version, integrity, resolved = "" }]) => {
    const folder = place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
    const isFetched = version !== undefined && integrity !== undefined && /^https?:/u.test(resolved);
    if (!isFetched) return [];
    const isAlias = name !== undefined && name !== folder && asksFor(project, packages, folder, name);
    return [{ name: isAlias ? name : folder, version, integrity, resolved }];
  });
}

/**
 * Whether the project or a package in it asks for the alias of a package: `"folder": "npm:name@range"`. The package.json files are read, not npm's
 * record of what the registry has said, so that a registry cannot put another signed package in the place of one.
 */
function asksFor(project: string, packages: Entries, folder: string, name: string): boolean {
  return ["", ...Object.keys(packages)].some((place) => {
    const manifest = manifestOf(join(project, place));
    return ["dependencies", "optionalDependencies", "peerDependencies"].some((kind) => {
      const range = names.safeParse(manifest[kind]).data?.[folder];
      return range === `npm:${name}` || range?.startsWith(`npm:${name}@`) === true;
    });
  });
}

/** The package in `dir` with all that it depends on. Throws PRL_ENVIRONMENT_UNLOCKED for a record that is damaged. */
export async function installedTree(project: string | null, dir: string, name: string): Promise<InstalledTree> {
  const packages = project === null ? null : await recordOf(project);
  if (project === null || packages === null) return { integrity: null, dependencies: {} };
  const own = relative(project, dir).split(sep).join("/");
  const place = own in packages ? own : `node_modules/${name}`;
  const below = new Map<string, string>();
  collect(packages, place, below);
  below.delete(place);
  const dependencies = Object.fromEntries(
    [...below].map(([key, value]): [string, string] => [key.replace(/^node_modules\//u, ""), value]).toSorted(byKey),
  );
  return { integrity: packages[place]?.integrity ?? null, dependencies };
}

/** Null where npm has installed nothing. */
async function recordOf(project: string): Promise<Entries | null> {
  const path = join(project, "node_modules", ".package-lock.json");
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null) return null;
  try {
    return schema.parse(JSON.parse(text)).packages;
  } catch (cause) {
    throw new PrlError("PRL_ENVIRONMENT_UNLOCKED", `${path} is damaged: run npm install in ${project}`, { cause });
  }
}

function byKey([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a < b ? -1 : 1;
}

/** Adds a place and what it depends on; what is there already is not looked at again, so that circles end. */
function collect(packages: Entries, place: string, found: Map<string, string>): void {
  const one = packages[place];
  if (one === undefined || found.has(place)) return;
  found.set(place, `${one.version ?? "?"} ${one.integrity ?? one.resolved ?? ""}`.trim());
  for (const name of Object.keys({ ...one.dependencies, ...one.optionalDependencies })) {
    const nearest = nearestPlace(packages, place, name);
    if (nearest !== null) collect(packages, nearest, found);
  }
}

/** Where Node finds `name` from a place: in its own `node_modules`, then in those above. */
function nearestPlace(packages: Entries, place: string, name: string): string | null {
  for (let from = place; from !== "";) {
    const candidate = `${from}/node_modules/${name}`;
    if (candidate in packages) return candidate;
    const end = from.lastIndexOf("/node_modules/");
    from = end === -1 ? "" : from.slice(0, end);
  }
  return `node_modules/${name}` in packages ? `node_modules/${name}` : null;
}
