/** Reads folders that prl has saved, with nothing of prl's own: the format is safetensors' (8 bytes of length, a JSON header, the data). */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

interface TensorEntry {
  dtype: string;
  shape: number[];
  data_offsets: [number, number];
}

/** Tensors of a safetensors file by name; throws where header, offsets and length do not agree. */
export async function tensorsIn(path: string): Promise<Map<string, Float32Array>> {
  const bytes = await readFile(path);
  const length = Number(bytes.readBigUInt64LE(0));
  const { __metadata__: _metadata, ...entries } = JSON.parse(bytes.toString("utf8", 8, 8 + length)) as Record<
    string,
    TensorEntry
  >;
  const data = bytes.subarray(8 + length);
  const tensors = new Map<string, Float32Array>();
  let covered = 0;
  for (const [name, { dtype, shape, data_offsets: offsets }] of Object.entries(entries)) {
    const [begin, end] = offsets;
    const elements = shape.reduce((product, size) => product * size, 1);
    if (dtype !== "F32" || end - begin !== 4 * elements)
      throw new Error(`${path}: ${name} is not F32 [${shape.join()}]`);
    // Copied, because the data need not lie at a multiple of four of the file's buffer.
    tensors.set(name, new Float32Array(new Uint8Array(data.subarray(begin, end)).buffer));
    covered += end - begin;
  }
  if (covered !== data.length) throw new Error(`${path}: ${data.length - covered} bytes belong to no tensor`);
  return tensors;
}

/** Files beside weights, config and prl's own, with their text. */
async function companionsOf(dir: string): Promise<Map<string, string>> {
  const own = /^(config|manifest|half|base|data)\.json$|\.safetensors$|^\.|^README/;
  const names = (await readdir(dir)).filter((name) => !own.test(name)).toSorted();
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(dir, name), "utf8")] as const)),
  );
}

/** What is missing or wrong in the model in `dir` beside that in `base`, which it was trained from; empty: nothing. */
export async function faultsOfModel(dir: string, base: string): Promise<string[]> {
  const faults: string[] = [];
  const [there, wanted] = await Promise.all([companionsOf(dir), companionsOf(base)]);
  for (const [name, text] of wanted) {
    if (there.get(name) !== text) faults.push(`${join(dir, name)} ${there.has(name) ? "differs" : "is missing"}`);
  }
  const config = JSON.parse(await readFile(join(dir, "config.json"), "utf8")) as Record<string, unknown>;
  const tensors = await tensorsIn(join(dir, "model.safetensors"));
  const embedding = tensors.get("model.embed_tokens.weight");
  const elements = Number(config["vocab_size"]) * Number(config["hidden_size"]);
  if (embedding?.length !== elements) faults.push(`${dir} has no embedding of ${elements} elements`);
  for (const [name, values] of tensors)
    if (!values.every(Number.isFinite)) faults.push(`${dir}: ${name} is not finite`);
  return faults;
}
