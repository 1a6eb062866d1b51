/**
 * The files of a model folder beside config and weights, as the engine keeps them (`crates/engine/src/companions.rs`): read when the trainer
 * is opened, written into every saved folder.
 */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { PrlError } from "../../errors.ts";
import { ifThere, isThere } from "../../files/file-presence.ts";

const TOKENIZER = "tokenizer.json";
const NAMES = [
  TOKENIZER,
  "tokenizer_config.json",
  "generation_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "tokenizer.model",
  "chat_template.jinja",
];
/** A folder of named templates; saved folders are flat. */
const NAMED_TEMPLATES = "chat_templates";

/** Errors: PRL_WEIGHTS_IO without a tokenizer, PRL_ENGINE_CONFIG_UNSUPPORTED for named chat templates. */
export async function readCompanions(folder: string): Promise<(target: string) => Promise<void>> {
  const templates = join(folder, NAMED_TEMPLATES);
  if (await isThere(templates)) {
    const what = `${templates}: named chat templates cannot be saved with a trained model`;
    throw new PrlError(
      "PRL_ENGINE_CONFIG_UNSUPPORTED",
      `${what}; write one to chat_template.jinja and remove the folder`,
    );
  }
  const read = async (name: string) => ({
    name,
    bytes: await ifThere(readFile(join(folder, name)), join(folder, name)),
  });
  const files = await Promise.all(NAMES.map(read));
  if (files.every(({ name, bytes }) => name !== TOKENIZER || bytes === null)) {
    throw new PrlError("PRL_WEIGHTS_IO", `${folder} has no ${TOKENIZER}: a saved model would have no tokenizer`);
  }
  return async (target) => {
    for (const { name, bytes } of files) if (bytes !== null) await writeFile(join(target, name), bytes);
  };
}
