/** The certain part of a reply while it is sampled, for the connections that wait for it. */
import type { ReplyDelta } from "../renderers/index.ts";

export interface SoFar {
  readonly content: string;
  readonly reasoning: string;
}

export class ReplyProgress {
  readonly #begun: string;
  readonly #listeners = new Set<(soFar: SoFar) => void>();
  #content = "";
  #reasoning = "";

  /** `begun`: the beginning that the agent wrote itself; it is not sent back. */
  constructor(begun = "") {
    this.#begun = begun;
  }

  grow({ content = "", reasoning = "" }: ReplyDelta): void {
    this.#content += content;
    this.#reasoning += reasoning;
    if (this.#isNew) for (const hear of this.#listeners) hear(this.#soFar);
  }

  /** Calls `hear` with the present text, if any, and whenever it has grown, until the returned function is called. */
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

/** A reply without the beginning that the agent wrote. A content has no blanks at its beginning, whatever the agent wrote there. */
export function withoutBegun(content: string, begun: string): string {
  const beginning = begun.trimStart();
  if (content.startsWith(beginning)) return content.slice(beginning.length);
  return beginning.startsWith(content) ? "" : content;
}
