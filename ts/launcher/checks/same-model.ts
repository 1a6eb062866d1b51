/**
 * Checks that the model's folder still holds the model of a checkpoint. The config has the folder's name, but its content may change, and
 * only the weights come from the checkpoint: tokens are made with the folder's tokenizer. `ts/trainer/base-weights.ts` compares the weights.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { PrlError } from "../../errors.ts";
import { ifThere } from "../../files/file-presence.ts";

/** Files that are kept with the weights byte for byte (crates/engine/src/companions.rs). */
const COMPANIONS = [
  "tokenizer.json",
  "tokenizer_config.json",
  "generation_config.json",
  "special_tokens_map.json",
  "added_tokens.json",
  "vocab.json",
  "merges.txt",
  "tokenizer.model",
  "chat_template.jinja",
];
/** Keys of config.json that weights and tokens depend on; a missing key means its default. */
const SHAPE =
  "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads head_dim tie_word_embeddings num_experts num_experts_per_tok moe_intermediate_size sliding_window".split(
    " ",
  );

/** @throws PrlError `PRL_RUN_DRIFT` naming the files and keys that differ, and on which side a file is missing */
export async function assertSameModel(modelDir: string, checkpointDir: string): Promise<void> {
  const both = (name: string) => Promise.all([modelDir, checkpointDir].map((dir) => textOf(join(dir, name))));
  const found: string[] = [];
  for (const name of COMPANIONS) {
    const [now, then] = await both(name);
    if (now === then) continue;
    if (now === null) found.push(`${name} (no longer in the model's folder)`);
    else if (then === null) found.push(`${name} (not in the checkpoint)`);
    else found.push(name);
  }
  const [now = {}, then = {}] = (await both("config.json")).map(keysOf);
  const differs = (key: string) => key in now && key in then && now[key] !== then[key];
  found.push(...SHAPE.filter(differs).map((key) => `config.json: ${key}`));
  if (found.length === 0) return;
  throw new PrlError(
    "PRL_RUN_DRIFT",
    `${modelDir} is another model than the run's: ${found.join(", ")} differ from ${checkpointDir}; put the earlier one back, or start a new run`,
  );
}

function textOf(path: string): Promise<string | null> {
  return ifThere(readFile(path, "utf8"), path);
}

function keysOf(text: string | null): Record<string, unknown> {
  return text === null ? {} : (JSON.parse(text) as Record<string, unknown>);
}
