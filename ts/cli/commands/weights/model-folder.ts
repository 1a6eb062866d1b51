/** Checks what a folder of a whole model must hold besides its weights, for publishing and verifying. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { PrlError } from "../../../errors.ts";
import { ifThere } from "../../../files/file-presence.ts";

const CONFIG = "config.json";
const TOKENIZER = "tokenizer.json";

/** Sorted names of the plain files in `dir`, without weights, manifest, index and hidden files. */
export async function companionNames(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { withFileTypes: true });
  const isCompanion = (name: string): boolean => !/^\.|^manifest\.json$|\.safetensors(\.index\.json)?$/.test(name);
  return entries.flatMap((entry) => (entry.isFile() && isCompanion(entry.name) ? [entry.name] : [])).toSorted();
}

/** Whether there are weights of a model in `dir`, rather than of an adapter or none. */
export async function holdsModel(dir: string): Promise<boolean> {
  const names = (await ifThere(readdir(dir), dir)) ?? [];
  return names.some((name) => name === "model.safetensors" || name === "model.safetensors.index.json");
}

/** Errors: PRL_ENGINE_CONFIG when there is no config.json that is a JSON object. */
export async function checkModelConfig(dir: string): Promise<void> {
  const path = join(dir, CONFIG);
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null) throw new PrlError("PRL_ENGINE_CONFIG", `${path} is missing: no engine can load these weights`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new PrlError("PRL_ENGINE_CONFIG", `${path} is not valid JSON: no engine can load these weights`, { cause });
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return;
  throw new PrlError("PRL_ENGINE_CONFIG", `${path} is no JSON object: no engine can load these weights`);
}

/** A note for the user about a model with these files; null: nothing to say. */
export function tokenizerNote(names: readonly string[]): string | null {
  return names.includes(TOKENIZER) ? null : `there is no ${TOKENIZER}: text cannot be turned into its tokens or back`;
}
