/** The low-rank adapters that a server has loaded by name, beside the weights of its model. */
import { join } from "node:path";

import { z } from "zod";

import { ifThere } from "../files/file-presence.ts";
import { readRegularFile } from "../files/regular-file.ts";
import type { Model } from "../native/index.ts";
import { HttpError } from "./errors.ts";

/** Each holds its matrices in memory. */
export const MOST_ADAPTERS = 64;

export interface AdapterOptions {
  /** Loaded before the first request. */
  readonly loaded?: readonly { readonly name: string; readonly dir: string }[];
  /** Default and limit: 64. */
  readonly most?: number;
  /** Default: any that the engine computes. */
  readonly mostRank?: number;
}

export class LoadedAdapters {
  readonly #model: Model;
  /** Folders by name. */
  readonly #folders = new Map<string, string>();
  /** Names that are taken by the model. */
  readonly #modelNames: readonly string[];
  readonly #mostRank: number;
  /** How many may be loaded. */
  readonly most: number;

  constructor(model: Model, modelNames: readonly string[], { most, mostRank }: AdapterOptions = {}) {
    this.#model = model;
    this.#modelNames = modelNames;
    this.most = Math.min(most ?? MOST_ADAPTERS, MOST_ADAPTERS);
    this.#mostRank = mostRank ?? Number.MAX_SAFE_INTEGER;
  }

  /** Names and folders, in the order in which they were loaded. */
  list(): { name: string; dir: string }[] {
    return Array.from(this.#folders, ([name, dir]) => ({ name, dir }));
  }

  has(name: string): boolean {
    return this.#folders.has(name);
  }

  /**
   * Loads the adapter in `dir`; with `replace` the name may be in use. Errors: those of `Model.loadAdapter`; PRL_INFERENCE_REQUEST when the
   * name is in use or too many are loaded.
   */
  async load(name: string, dir: string, replace: boolean): Promise<void> {
    if (this.#modelNames.includes(name)) throw refused(400, `lora_name: "${name}" is the name of the model`);
    if (this.has(name) && !replace) {
      throw refused(400, `lora_name: an adapter "${name}" is loaded already: unload it first, or send load_inplace`);
    }
    if (!this.has(name) && this.#folders.size >= this.most) {
      throw refused(400, `${this.most} adapters are loaded, which is the most: unload one first`);
    }
    await this.#checkRank(name, dir);
    await this.#model.loadAdapter(name, dir);
    this.#folders.set(name, dir);
  }

  /** A folder without a rank is refused by the engine, which says what is wrong with it. */
  async #checkRank(name: string, dir: string): Promise<void> {
    if (this.#mostRank === Number.MAX_SAFE_INTEGER) return;
    const path = join(dir, "adapter_config.json");
    const text = await ifThere(readRegularFile(path), path);
    const { r: rank = 0 } = rankSchema.catch({}).parse(text === null ? null : parsedOrNull(text));
    if (rank <= this.#mostRank) return;
    throw refused(400, `lora_path: the adapter "${name}" has rank ${rank}, above --max-lora-rank ${this.#mostRank}`);
  }

  /** Errors: PRL_INFERENCE_REQUEST when there is none of this name. */
  async unload(name: string): Promise<void> {
    if (!this.has(name)) throw refused(404, `lora_name: there is no adapter "${name}"`);
    this.#folders.delete(name);
    await this.#model.unloadAdapter(name);
  }
}

const rankSchema = z.object({ r: z.number().optional() });

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function refused(status: number, message: string): HttpError {
  return new HttpError(status, "PRL_INFERENCE_REQUEST", message);
}
