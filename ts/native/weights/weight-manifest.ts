/** `manifest.json` of a weight version: the version exists when this file does. */

import { z } from "zod";

import { checkOptions, only } from "../../options.ts";
import { addon } from "../addon.ts";
import { nativeAsync } from "../errors.ts";

/** Log-probabilities that the trainer computed with a version's weights, for the engines to reproduce. */
export interface Canary {
  tokenIds: number[];
  logprobs: number[];
  isa: string;
  dtype: string;
}

export const canarySchema = only<Canary>({
  tokenIds: z.array(z.number()),
  logprobs: z.array(z.number()),
  isa: z.string(),
  dtype: z.string(),
});

export interface WeightManifest {
  format: string;
  version: number;
  digest: string;
  base: { version: number; digest: string } | null;
  /** peft: an adapter, whole, with its config. */
  encoding: "full" | "sparse" | "peft";
  shards: { file: string; bytes: number; digest: string }[];
  /**
   * The files beside the weights (config, tokenizer, ...), of a sparse version those of its base. Absent in manifests that were written without
   * their digests.
   */
  files?: { file: string; bytes: number; digest: string }[];
  canary: Canary | null;
}

const readSchema = only<{ verify?: boolean | "once" }>({
  verify: z.union([z.boolean(), z.literal("once")], 'must be true, false or "once"').optional(),
});

/**
 * Reads a version's manifest. With `verify` the digests of its shards are compared with their bytes, with `"once"` only when no process of
 * this machine has done so since it was started, or a file was touched since (crates/weights/README.md, "Verified once"); those of the files
 * beside them each time.
 */
export async function readManifest(dir: string, options: { verify?: boolean | "once" } = {}): Promise<WeightManifest> {
  checkOptions("PRL_WEIGHTS_OPTIONS", "readManifest", readSchema, options);
  const { verify = false } = options;
  const { readManifest: read } = addon();
  return parseManifest(await nativeAsync(() => read(dir, verify !== false, verify === true)));
}

/** Publishes a version: writes `manifest.json` last, fsynced and renamed. */
export async function writeManifest(dir: string, manifest: WeightManifest): Promise<void> {
  const { writeManifest: write } = addon();
  const { canary } = manifest;
  const scored = canary === null ? null : fileCanary(canary);
  await nativeAsync(() => write(dir, JSON.stringify({ ...manifest, canary: scored })));
}

/** The manifest that the native side gives as JSON. */
export function parseManifest(text: string): WeightManifest {
  const { canary, ...manifest } = JSON.parse(text) as ManifestFile;
  if (canary === null) return { ...manifest, canary };
  const { token_ids: tokenIds, ...scored } = canary;
  return { ...manifest, canary: { tokenIds, ...scored } };
}

/** The canary as the native side takes it. */
export function canaryJson(canary: Canary): string {
  return JSON.stringify(fileCanary(canary));
}

/** The manifest with the file's keys. */
type ManifestFile = Omit<WeightManifest, "canary"> & { canary: CanaryFile | null };
type CanaryFile = Omit<Canary, "tokenIds"> & { token_ids: number[] };

function fileCanary({ tokenIds, ...scored }: Canary): CanaryFile {
  return { token_ids: tokenIds, ...scored };
}
