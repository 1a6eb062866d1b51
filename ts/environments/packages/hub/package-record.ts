/** The record of one package in a registry's folder: its newest version, README, and all versions. Nothing of the package runs. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { z } from "zod";

import { ifThere } from "../../../files/file-presence.ts";
import type { Manifest } from "../environment-package.ts";

const versionSchema = z.looseObject({
  description: z.string().nullish().catch(null),
  keywords: z.array(z.string()).nullish().catch(null),
  license: z.string().nullish().catch(null),
  deprecated: z.string().nullish().catch(null),
  dist: z.object({ integrity: z.string().nullish() }).nullish().catch(null),
});
const recordSchema = z.object({
  name: z.string(),
  "dist-tags": z.object({ latest: z.string() }),
  versions: z.record(z.string(), versionSchema),
  time: z.record(z.string(), z.string()).nullish().catch(null),
  readme: z.string().nullish().catch(null),
});

export interface PackageVersion {
  readonly version: string;
  /** Day of its publication, `2026-01-31`; null where the registry did not note it. */
  readonly day: string | null;
  readonly integrity: string | null;
  readonly deprecated: string | null;
}

export interface PackageRecord {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly license: string | null;
  /** package.json of the newest version. */
  readonly manifest: Manifest;
  readonly readme: string | null;
  /** The newest first. */
  readonly versions: readonly PackageVersion[];
}

/**
 * The record of a package; null without a newest version, and where the file is no manifest: it cannot be installed.
 *
 * @throws PrlError `PRL_IO`
 */
export async function readPackageRecord(storage: string, name: string): Promise<PackageRecord | null> {
  const path = join(storage, name, "package.json");
  const text = await ifThere(readFile(path, "utf8"), path);
  const parsed = recordSchema.safeParse(text === null ? null : parsedJson(text));
  if (!parsed.success) return null;
  const { "dist-tags": tags, versions, time, readme } = parsed.data;
  const newest = versions[tags.latest];
  if (newest === undefined) return null;
  return {
    name: parsed.data.name,
    version: tags.latest,
    description: newest.description ?? "",
    keywords: newest.keywords ?? [],
    license: newest.license ?? null,
    manifest: newest,
    readme: readme ?? null,
    versions: Object.entries(versions)
      .map(([version, { dist, deprecated }]) => ({
        version,
        day: /^\d{4}-\d\d-\d\d/u.exec(time?.[version] ?? "")?.[0] ?? null,
        integrity: dist?.integrity ?? null,
        deprecated: deprecated ?? null,
      }))
      .toReversed(),
  };
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
