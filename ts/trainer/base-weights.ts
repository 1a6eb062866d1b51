/**
 * The weights that a run depends on besides its own: those of its model's folder, and those of its loss's reference model. Both are
 * known by a name, and the content behind a name may change; so the trainer's half of a checkpoint has their digests, and a resume
 * compares them.
 */
import { readdir, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import { atomicWriteJson } from "../files/atomic-write.ts";
import { digest, digestFile } from "../native/index.ts";

const FILE = "base.json";
const schema = z.strictObject({ model: z.string().nullable(), reference: z.string().nullable() });

/** Digests of two folders' weights; null: not known, or none. */
export type BaseWeights = z.output<typeof schema>;

/** Digest over the safetensors files of a model folder by their names; a folder without any has the digest of no data. Errors: PRL_IO. */
export async function weightsDigest(folder: string): Promise<string> {
  const names = (await ifThere(readdir(folder), folder)) ?? [];
  const files = names.filter((name) => name.endsWith(".safetensors")).toSorted();
  const line = async (name: string) => `${name} ${(await digestFile(join(folder, name))).digest}\n`;
  const found = await Promise.all(files.map(line));
  return digest(found.join(""));
}

/** Writes the digests into the trainer's half of a checkpoint. */
export async function writeBaseWeights(half: string, base: BaseWeights): Promise<void> {
  await atomicWriteJson(join(half, FILE), base);
}

/**
 * The digest of the weights of `folder`. Errors: PRL_RUN_DRIFT when they are not those that the checkpoint's half was bound to as `kind`;
 * PRL_CHECKPOINT_CORRUPT, PRL_IO.
 */
export async function assertBaseWeights(half: string, kind: keyof BaseWeights, folder: string): Promise<string> {
  const then = (await readBaseWeights(half))?.[kind] ?? null;
  const now = await weightsDigest(folder);
  if (then === null || then === now) return now;
  const what = kind === "model" ? "the run's model" : "the reference of the run's loss";
  throw new PrlError(
    "PRL_RUN_DRIFT",
    `${folder} has other weights than ${what} had when ${basename(join(half, ".."))} was saved: put them back, or start a new run`,
  );
}

/** Null where the checkpoint has none. */
async function readBaseWeights(half: string): Promise<BaseWeights | null> {
  const path = join(half, FILE);
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null) return null;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new PrlError("PRL_CHECKPOINT_CORRUPT", `${path} is malformed`, { cause });
  }
}
