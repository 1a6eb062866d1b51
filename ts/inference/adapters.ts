/** The low-rank adapters that a server has loaded by name, beside the weights of its model. */
import type { Model } from "../native/index.ts";
import { HttpError } from "./errors.ts";

/** Each holds its matrices in memory. */
const MOST_ADAPTERS = 64;

export class LoadedAdapters {
  readonly #model: Model;
  /** Folders by name. */
  readonly #folders = new Map<string, string>();
  /** Names that are taken by the model. */
  readonly #modelNames: readonly string[];

  constructor(model: Model, modelNames: readonly string[]) {
    this.#model = model;
    this.#modelNames = modelNames;
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
    if (!this.has(name) && this.#folders.size >= MOST_ADAPTERS) {
      throw refused(400, `${MOST_ADAPTERS} adapters are loaded, which is the most: unload one first`);
    }
    await this.#model.loadAdapter(name, dir);
    this.#folders.set(name, dir);
  }

  /** Errors: PRL_INFERENCE_REQUEST when there is none of this name. */
  async unload(name: string): Promise<void> {
    if (!this.has(name)) throw refused(404, `lora_name: there is no adapter "${name}"`);
    this.#folders.delete(name);
    await this.#model.unloadAdapter(name);
  }
}

function refused(status: number, message: string): HttpError {
  return new HttpError(status, "PRL_INFERENCE_REQUEST", message);
}
