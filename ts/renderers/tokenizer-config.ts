/**
 * The part of a tokenizer folder that the `tokenizers` crate does not read: special tokens and chat templates.
 *
 * Its sources are those of transformers: tokenizer_config.json, chat_template.jinja and chat_templates/*.jinja (which win over the
 * config's own), special_tokens_map.json for tokens that the config does not name. Every file is optional.
 */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { PrlError } from "../errors.ts";
import { isMissing } from "../files/file-presence.ts";

export interface TokenizerConfig {
  /** The folder that it was read from. */
  readonly dir: string;
  /** Special tokens by their key (`eos_token`, `pad_token`, ...), as text. */
  readonly specialTokens: Readonly<Record<string, string>>;
  /** Chat templates by name; the usual one is `default`. */
  readonly chatTemplates: ReadonlyMap<string, string>;
}

const SPECIAL_TOKEN_KEYS = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/** Reads the config of the tokenizer in `dir`. Errors: PRL_TOKENIZER naming the file. */
export async function readTokenizerConfig(dir: string): Promise<TokenizerConfig> {
  const config = await readJson(join(dir, "tokenizer_config.json"));
  const map = await readJson(join(dir, "special_tokens_map.json"));
  const specialTokens: Record<string, string> = {};
  for (const key of SPECIAL_TOKEN_KEYS) {
    const token = tokenText(config[key]) ?? tokenText(map[key]);
    if (token !== null) specialTokens[key] = token;
  }
  return { dir, specialTokens, chatTemplates: await readChatTemplates(dir, config["chat_template"]) };
}

async function readChatTemplates(dir: string, configured: unknown): Promise<Map<string, string>> {
  const templates = new Map<string, string>();
  if (typeof configured === "string") templates.set("default", configured);
  if (Array.isArray(configured)) {
    for (const entry of configured as unknown[]) {
      if (isRecord(entry) && typeof entry["name"] === "string" && typeof entry["template"] === "string") {
        templates.set(entry["name"], entry["template"]);
      } else {
        const where = join(dir, "tokenizer_config.json");
        throw new PrlError("PRL_TOKENIZER", `${where}: each entry of chat_template must have a name and a template`);
      }
    }
  }
  const single = await readOptional(join(dir, "chat_template.jinja"));
  if (single !== null) templates.set("default", single);
  const folder = join(dir, "chat_templates");
  for (const file of await listOptional(folder)) {
    const source = file.endsWith(".jinja") ? await readOptional(join(folder, file)) : null;
    if (source !== null) templates.set(file.slice(0, -".jinja".length), source);
  }
  return templates;
}

/** A special token is written as text or as an object with `content`. */
function tokenText(value: unknown): string | null {
  if (typeof value === "string") return value;
  return isRecord(value) && typeof value["content"] === "string" ? value["content"] : null;
}

async function readJson(path: string): Promise<Record<string, unknown>> {
  const text = await readOptional(path);
  if (text === null) return {};
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new PrlError("PRL_TOKENIZER", `${path} is not valid JSON`, { cause });
  }
  if (!isRecord(value)) throw new PrlError("PRL_TOKENIZER", `${path} must hold a JSON object`);
  return value;
}

async function readOptional(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw new PrlError("PRL_TOKENIZER", `${path} cannot be read`, { cause });
  }
}

async function listOptional(path: string): Promise<string[]> {
  try {
    return (await readdir(path)).sort();
  } catch (cause) {
    if (isMissing(cause)) return [];
    throw new PrlError("PRL_TOKENIZER", `${path} cannot be read`, { cause });
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
