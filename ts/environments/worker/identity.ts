/**
 * The identity of an env worker: version, seed, tokenizer and environments. A worker on another machine has to be what the orchestrator expects, because
 * each of them read a config by itself.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { canonicalJson } from "../../canonical-json.ts";
import { ifThere } from "../../files/file-presence.ts";
import { packageManifest } from "../../version.ts";
import type { EnvWorkerConfig } from "./config.ts";

const identitySchema = z.strictObject({
  version: z.string(),
  seed: z.int(),
  /** Digest of the model's `tokenizer.json`; null where the folder has none. */
  tokenizer: z.string().nullable(),
  /** Digest of the id and the arguments of each source's environment, by split and name. Paths differ between machines. */
  environments: z.record(z.string(), z.string()),
});

export type WorkerIdentity = z.output<typeof identitySchema>;

/** The header with which the orchestrator says whom it means (`identityDigest`). */
export const IDENTITY_HEADER = "x-prl-env-worker";

/** Errors: PRL_IO. */
export async function workerIdentity(
  config: Pick<EnvWorkerConfig, "seed" | "model_dir" | "sources">,
): Promise<WorkerIdentity> {
  const path = join(config.model_dir, "tokenizer.json");
  const tokenizer = await ifThere(readFile(path), path);
  const environments = config.sources.map(({ name, split, env }) => [
    `${split} ${name}`,
    digest(canonicalJson({ id: env.id ?? null, args: env.args ?? {} })),
  ]);
  return {
    version: packageManifest().version,
    seed: config.seed,
    tokenizer: tokenizer === null ? null : digest(tokenizer),
    environments: Object.fromEntries(environments) as Record<string, string>,
  };
}

export function identityDigest(identity: WorkerIdentity): string {
  return digest(canonicalJson(identity));
}

/** Names the differences between a worker's answer and the expected one; null: none. */
export function identityDifference(expected: WorkerIdentity, answer: unknown): string | null {
  const parsed = identitySchema.safeParse(answer);
  if (!parsed.success) return "its answer is of another program or version";
  const { version, seed, tokenizer, environments } = parsed.data;
  if (version !== expected.version) return `it is prl ${version}, the run is prl ${expected.version}`;
  if (seed !== expected.seed) return `its seed is ${seed}, the run's is ${expected.seed}`;
  if (tokenizer !== expected.tokenizer) return "its model has another tokenizer";
  const names = new Set([...Object.keys(environments), ...Object.keys(expected.environments)]);
  const other = [...names].find((name) => environments[name] !== expected.environments[name]);
  return other === undefined
    ? null
    : `the source "${other}" is missing on one side, or has another environment or args`;
}

function digest(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
