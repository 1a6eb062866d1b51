/** Answers of the Responses API that later requests continue from or read again, in memory. The oldest make place for new ones. */
import { exactJson } from "../../exact-json.ts";
import type { Message } from "../../message.ts";

export interface StoredResponse {
  /** The answer. */
  readonly answer: object;
  /** The conversation with the reply. */
  readonly conversation: readonly Message[];
}

const MOST_RESPONSES = 1_000;
const MOST_CHARACTERS = 64 * 1024 * 1024;

export class StoredResponses {
  readonly #kept = new Map<string, { stored: StoredResponse; characters: number }>();
  #characters = 0;

  get size(): number {
    return this.#kept.size;
  }

  /** A conversation counts with each response that has it: it stays in memory as long as the last of them, even if the others are gone. */
  keep(id: string, stored: StoredResponse): void {
    const characters = exactJson(stored).length;
    this.remove(id);
    this.#kept.set(id, { stored, characters });
    this.#characters += characters;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MOST_RESPONSES && this.#characters <= MOST_CHARACTERS) break;
      this.remove(oldest);
    }
  }

  /** Null when it was never kept, was removed, or had to make place. */
  get(id: string): StoredResponse | null {
    return this.#kept.get(id)?.stored ?? null;
  }

  /** Whether there was such a response. */
  remove(id: string): boolean {
    this.#characters -= this.#kept.get(id)?.characters ?? 0;
    return this.#kept.delete(id);
  }
}
