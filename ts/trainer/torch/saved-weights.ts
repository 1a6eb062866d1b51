/** What a manifest needs of weight files that another program wrote: the version digest (`crates/weights/README.md`, "Digests") and the shards. */
import { join } from "node:path";

import { yieldInTurn } from "../../async/yield.ts";
import { digest, digestFile, openSafetensors, type SavedWeights } from "../../native/index.ts";

/** Errors: PRL_WEIGHTS_IO, PRL_WEIGHTS_FORMAT. */
export async function savedWeights(folder: string, files: readonly string[]): Promise<SavedWeights> {
  const records = new Map<string, Buffer>();
  const shards = [];
  for (const file of files) {
    const opened = await openSafetensors(join(folder, file));
    try {
      for (const name of opened.names) {
        const { dtype, shape, data } = opened.tensor(name);
        records.set(name, record(name, { dtype, shape, data }));
        await yieldInTurn();
      }
    } finally {
      opened.close();
    }
    shards.push({ file, ...(await digestFile(join(folder, file))) });
  }
  const byName = [...records].toSorted(([a], [b]) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  return { digest: digest(Buffer.concat(byName.map(([, bytes]) => bytes))), shards };
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
