/** What is certain of a reply while it is sampled, for the connections that wait for it. */
import type { ReplyDelta } from "../../renderers/index.ts";

export interface SoFar {
  readonly content: string;
  readonly reasoning: string;
}

export class ReplyProgress {
  readonly #begun: string;
  readonly #listeners = new Set<(soFar: SoFar) => void>();
  #content = "";
  #reasoning = "";

  /** `begun`: what the agent wrote of the reply itself; it is not told again. */
  constructor(begun = "") {
    this.#begun = begun;
  }

  grow({ content = "", reasoning = "" }: ReplyDelta): void {
    this.#content += content;
    this.#reasoning += reasoning;
    if (this.#isNew) for (const hear of this.#listeners) hear(this.#soFar);
  }

  /** Hears what there is, if anything, and then whenever it has grown, until the function is called that this gives. */
  listen(hear: (soFar: SoFar) => void): () => void {
    this.#listeners.add(hear);
    if (this.#isNew) hear(this.#soFar);
    return () => void this.#listeners.delete(hear);
  }

  get #isNew(): boolean {
    const { content, reasoning } = this.#soFar;
    return content !== "" || reasoning !== "";
  }

  get #soFar(): SoFar {
    return { content: withoutBegun(this.#content, this.#begun), reasoning: this.#reasoning };
  }
}

/** A reply as the agent that has begun it expects it: from there on. */
export function withoutBegun(content: string, begun: string): string {
  if (content.startsWith(begun)) return content.slice(begun.length);
  return begun.startsWith(content) ? "" : content;
}
