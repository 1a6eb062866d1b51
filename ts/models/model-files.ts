/** Which files of a repository make a model that prl can load. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { ifThere } from "../files/file-presence.ts";
import type { HubFile } from "../hub/index.ts";

export const CONFIG_FILE = "config.json";
export const TOKENIZER_FILE = "tokenizer.json";
export const WEIGHTS_FILE = "model.safetensors";
export const INDEX_FILE = "model.safetensors.index.json";

/** The files of a folder that the engine and the renderers read, and that the engine copies into a trained model (crates/engine/src/companions.rs). */
const SMALL_FILES = [
  CONFIG_FILE,
  "generation_config.json",
  TOKENIZER_FILE,
  "tokenizer_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "tokenizer.model",
  "chat_template.jinja",
];

const indexSchema = z.object({ weight_map: z.record(z.string(), z.string()) });

/** Names of the shards in an index. `place` is for messages. Errors: PRL_WEIGHTS_FORMAT. */
export function shardNames(text: string, place: string): string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new PrlError("PRL_WEIGHTS_FORMAT", `${place} is not valid JSON`, { cause });
  }
  const index = indexSchema.safeParse(value);
  if (!index.success) throw new PrlError("PRL_WEIGHTS_FORMAT", `${place}: ${z.prettifyError(index.error)}`);
  const names = [...new Set(Object.values(index.data.weight_map))].toSorted();
  const wrong = names.find((name) => !/^[\w.-]+\.safetensors$/u.test(name));
  if (wrong === undefined && names.length > 0) return names;
  const problem = wrong === undefined ? "it names no shard" : `${JSON.stringify(wrong)} is no file of safetensors`;
  throw new PrlError("PRL_WEIGHTS_FORMAT", `${place}: ${problem}`);
}

/** The index of a repository whose weights are in shards; null: they are in one file, which the engine prefers. */
export function indexOf(files: readonly HubFile[]): HubFile | null {
  const find = (name: string): HubFile | null => files.find(({ path }) => path === name) ?? null;
  return find(WEIGHTS_FILE) === null ? find(INDEX_FILE) : null;
}

/**
 * The files to download, small ones first, so that a folder with whole weights is whole. `shards` are those of the index, null without one.
 * `what` is for messages.
 *
 * Errors: PRL_HUB_MODEL when config.json, tokenizer.json or the weights as safetensors are missing.
 */
export function chooseFiles(what: string, files: readonly HubFile[], shards: readonly string[] | null): HubFile[] {
  const byName = new Map(files.map((file) => [file.path, file]));
  const wanted = (name: string): HubFile => {
    const file = byName.get(name);
    if (file !== undefined) return file;
    throw new PrlError("PRL_HUB_MODEL", `${what} has no ${name}${alternative(name, files)}`);
  };
  const small = SMALL_FILES.flatMap((name) => byName.get(name) ?? []);
  [CONFIG_FILE, TOKENIZER_FILE].forEach(wanted);
  if (shards === null) return [...small, wanted(WEIGHTS_FILE)];
  return [...small, wanted(INDEX_FILE), ...shards.map(wanted)];
}

/** Names the files that a repository has in place of one that prl needs. */
function alternative(name: string, files: readonly HubFile[]): string {
  const like = (pattern: RegExp): string[] => files.map(({ path }) => path).filter((path) => pattern.test(path));
  if (name === WEIGHTS_FILE) {
    const others = like(/\.(bin|pt|pth|gguf|onnx|h5|msgpack|safetensors)$/u);
    const found = others.length === 0 ? "no weights at all" : others.slice(0, 3).join(", ");
    return `, and prl loads no other weights (the repository has ${found}): name one with safetensors`;
  }
  if (name === TOKENIZER_FILE && like(/^tokenizer\.model$/u).length > 0) {
    return ", only tokenizer.model: save the tokenizer anew with transformers (AutoTokenizer), which writes tokenizer.json";
  }
  return ": it is no model that prl can load";
}

/** Files that a model in `dir` still needs before it can be loaded; links to nothing count as missing. Errors: PRL_IO, PRL_WEIGHTS_FORMAT. */
export async function missingFiles(dir: string): Promise<string[]> {
  const isFile = async (name: string): Promise<boolean> =>
    (await ifThere(stat(join(dir, name)), join(dir, name)))?.isFile() === true;
  const missing: string[] = [];
  for (const name of [CONFIG_FILE, TOKENIZER_FILE]) if (!(await isFile(name))) missing.push(name);
  if (await isFile(WEIGHTS_FILE)) return missing;
  const index = join(dir, INDEX_FILE);
  const text = await ifThere(readFile(index, "utf8"), index);
  if (text === null) return [...missing, WEIGHTS_FILE];
  for (const name of shardNames(text, index)) if (!(await isFile(name))) missing.push(name);
  return missing;
}
