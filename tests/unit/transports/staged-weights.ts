/** Small weights as a trainer writes them before it publishes them. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { digest, openSafetensors, type StagedWeights, writeSafetensors } from "../../../ts/native/index.ts";

/** Weights of which `changed` of 1,000 elements differ from those that are all 7. */
export function stagedWeights(dtype: "F32" | "BF16", changed = 0) {
  return async (dir: string): Promise<StagedWeights> => {
    const elements = dtype === "F32" ? new Float32Array(1000).fill(7) : new Uint16Array(1000).fill(7);
    elements.fill(8, 0, changed);
    const data = new Uint8Array(elements.buffer);
    const written = await writeSafetensors(join(dir, "model.safetensors"), { w: { dtype, shape: [1000], data } });
    await writeFile(join(dir, "config.json"), "{}");
    return { digest: await versionDigest(dir), shards: [{ file: "model.safetensors", ...written }] };
  };
}

/** By the specification of crates/weights/README.md. */
async function versionDigest(dir: string): Promise<string> {
  const file = await openSafetensors(join(dir, "model.safetensors"));
  const { dtype, shape, data } = file.tensor("w");
  file.close();
  const u64 = (value: number) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
  const text = (value: string) => Buffer.concat([u64(value.length), Buffer.from(value)]);
  const hash = Buffer.from(BigUint64Array.of(BigInt(`0x${digest(data)}`)).buffer);
  const head = [text("w"), text(dtype), u64(shape.length), ...shape.map(u64), u64(data.length), hash];
  return digest(Buffer.concat(head));
}
