/**
 * Fetches packages into a temporary project, so that they can be examined before the user's project has them. Nothing of them runs.
 */
import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { contentDigest } from "./content-digest.ts";
import { environmentPackages, type EnvironmentPackage, manifestOf, packageIn } from "./environment-package.ts";
import { PrlError } from "../../errors.ts";
import { fetchedPackages } from "./installed-tree.ts";
import { npm, npmJson, type NpmOptions } from "./npm.ts";
import { checkPackage } from "./package-checks.ts";
import { packageNeeds, type PackageNeeds } from "./needs.ts";
import { checkSignatures, type SignatureReport } from "./signatures.ts";

/** An environment that was fetched and passed the checks. */
export interface StagedPackage extends EnvironmentPackage {
  /** It was named; the others are environments that it depends on. */
  readonly isNamed: boolean;
  readonly needs: PackageNeeds;
  readonly content: string;
}

/** The package that was fetched. */
export interface Staged {
  readonly packages: readonly StagedPackage[];
  readonly signatures: SignatureReport;
}

/** How packages are fetched. */
export interface StagingOptions extends Omit<NpmOptions, "cwd"> {
  /** Packages without a signature pass, also where their registry signs. */
  readonly allowsUnsigned: boolean;
}

/**
 * Calls `use` with the environments that npm installs for `specs`, and removes them after it.
 *
 * @throws PrlError those of `npm`, `checkPackage` and `checkSignatures`; `PRL_ENVIRONMENT_INVALID` when a named package is no environment;
 * `PRL_ENVIRONMENT_INTEGRITY` when a statement of provenance is wrong or cannot be checked
 */
export async function withStaged<T>(
  specs: readonly string[],
  options: StagingOptions,
  use: (staged: Staged) => Promise<T>,
): Promise<T> {
  const dir = await realpath(await mkdtemp(join(tmpdir(), "prl-env-")));
  try {
    await writeFile(join(dir, "package.json"), '{"name": "staging", "version": "0.0.0", "private": true}\n');
    const there = { ...options, cwd: dir };
    // npm's record has the addresses of the archives, whatever the user's settings say of lock files.
    await npm(["install", "--omit-lockfile-registry-resolved=false", ...specs], there);
    const signatures = await checkSignatures(await fetchedPackages(dir), options);
    if (signatures.attested.length > 0) await checkProvenance(signatures.attested, there);
    return await use({ packages: await examined(dir), signatures });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** npm looks the statements up in sigstore's log of public keys, which is on the internet. */
async function checkProvenance(attested: readonly string[], options: NpmOptions): Promise<void> {
  try {
    await npmJson(["audit", "signatures"], options);
  } catch (cause) {
    throw new PrlError(
      "PRL_ENVIRONMENT_INTEGRITY",
      `the provenance of ${attested.join(", ")} is wrong or cannot be checked: npm audit signatures says more`,
      { cause },
    );
  }
}

async function examined(dir: string): Promise<StagedPackage[]> {
  const named = Object.keys(manifestOf(dir)["dependencies"] ?? {});
  const packages: StagedPackage[] = [];
  for (const name of new Set([...named, ...environmentPackages(dir).keys()])) {
    const folder = join(dir, "node_modules", name);
    const found = packageIn(folder);
    checkPackage(folder);
    const needs = packageNeeds(manifestOf(folder));
    packages.push({ ...found, isNamed: named.includes(name), needs, content: await contentDigest(found.dir) });
  }
  return packages;
}
