/**
 * Reads the entries of a manifest from weight files that another program wrote: the version digest (`crates/weights/README.md`, "Digests") and the
 * shards.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { yieldInTurn } from "../../async/yield.ts";
import { digest, digestFile, openSafetensors, type SavedWeights } from "../../native/index.ts";

const ADAPTER_CONFIG = "adapter_config.json";
const ADAPTER_WEIGHTS = "adapter_model.safetensors";

/** Errors: PRL_WEIGHTS_IO, PRL_WEIGHTS_FORMAT. */
export async function savedWeights(folder: string, files: readonly string[]): Promise<SavedWeights> {
  const records = await Promise.all(files.map((file) => recordsOf(join(folder, file))));
  return { digest: versionDigest(records.flat()), shards: await Promise.all(files.map((file) => shard(folder, file))) };
}

/** The same for the folder of an adapter, whose config counts as a tensor of bytes. Errors: those, and PRL_IO. */
export async function savedAdapter(folder: string): Promise<SavedWeights> {
  const config = await readFile(join(folder, ADAPTER_CONFIG));
  const bytes = { dtype: "U8", shape: [config.length], data: config };
  const records = await recordsOf(join(folder, ADAPTER_WEIGHTS));
  const files = [ADAPTER_CONFIG, ADAPTER_WEIGHTS];
  return {
    digest: versionDigest([[ADAPTER_CONFIG, record(ADAPTER_CONFIG, bytes)], ...records]),
    shards: await Promise.all(files.map((file) => shard(folder, file))),
  };
}

type Named = readonly [name: string, record: Buffer];

async function recordsOf(path: string): Promise<Named[]> {
  const opened = await openSafetensors(path);
  const records: Named[] = [];
  try {
    for (const name of opened.names) {
      const { dtype, shape, data } = opened.tensor(name);
      records.push([name, record(name, { dtype, shape, data })]);
      await yieldInTurn();
    }
  } finally {
    opened.close();
  }
  return records;
}

async function shard(folder: string, file: string): Promise<SavedWeights["shards"][number]> {
  return { file, ...(await digestFile(join(folder, file))) };
}

function versionDigest(records: readonly Named[]): string {
  const byName = records.toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return digest(Buffer.concat(byName.map(([, bytes]) => bytes)));
}

function record(name: string, { dtype, shape, data }: { dtype: string; shape: number[]; data: Uint8Array }): Buffer {
  const text = (value: string) => [u64(Buffer.byteLength(value)), Buffer.from(value)];
  const hash = u64(BigInt(`0x${digest(data)}`));
  return Buffer.concat([
    ...text(name),
    ...text(dtype),
    u64(shape.length),
    ...shape.map(u64),
    u64(data.byteLength),
    hash,
  ]);
}

function u64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
}
