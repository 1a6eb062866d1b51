/** Answers of the Responses API that later requests continue from or read again, in memory. The oldest make place for new ones. */
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

  /** `characters`: about how much the answer and the new messages of its conversation take. */
  keep(id: string, stored: StoredResponse, characters: number): void {
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
