/** Folders of low-rank adapters, which name the model that they belong to. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { ifThere, isThere } from "../files/file-presence.ts";
import { INDEX_FILE, WEIGHTS_FILE } from "./model-files.ts";

const ADAPTER_CONFIG = "adapter_config.json";
const configSchema = z.looseObject({ base_model_name_or_path: z.string().min(1).nullish() });

/**
 * The name or folder of the model that the adapter in `dir` belongs to; null when `dir` holds no adapter, or a model too. Errors:
 * PRL_WEIGHTS_ADAPTER when the adapter does not name its model.
 */
export async function adapterBase(dir: string): Promise<string | null> {
  const path = join(dir, ADAPTER_CONFIG);
  const text = await ifThere(readFile(path, "utf8"), path);
  if (text === null || (await isThere(join(dir, WEIGHTS_FILE))) || (await isThere(join(dir, INDEX_FILE)))) return null;
  let base: string | null | undefined;
  try {
    base = configSchema.parse(JSON.parse(text)).base_model_name_or_path;
  } catch (cause) {
    throw new PrlError("PRL_WEIGHTS_ADAPTER", `${path} is no adapter's config`, { cause });
  }
  if (base !== null && base !== undefined) return base;
  throw new PrlError(
    "PRL_WEIGHTS_ADAPTER",
    `${path} has no base_model_name_or_path: write the model's name or folder there`,
  );
}
