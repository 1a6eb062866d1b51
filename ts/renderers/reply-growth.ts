/**
 * What a reply that is still being sampled says for certain: told piece by piece, never taken back.
 *
 * Held back is what a later token may change: an incomplete character, blanks at the end, an end that may become a stop string or a delimiter.
 */

/** Text that a reply has gained; a key is there only when its text is. */
export interface ReplyDelta {
  content?: string;
  reasoning?: string;
}

export class ReplyGrowth {
  readonly #withheld: readonly string[];
  readonly #told = { content: "", reasoning: "" };

  /** `withheld`: what is not to be told before it is clear that it is not going to stand there. */
  constructor(withheld: readonly string[]) {
    this.#withheld = withheld;
  }

  /** With the reply as it reads so far. Null when nothing is new, or when it does not go on from what was told. */
  take({ content, reasoning }: { content: string; reasoning: string | null }): ReplyDelta | null {
    const thought = reasoning ?? "";
    return this.#grow({
      content: settled(content, this.#withheld),
      // What was said behind it shows that it is over.
      reasoning: content === "" ? settled(thought, this.#withheld) : thought,
    });
  }

  /** With the whole reply. */
  rest(reply: { content: string; reasoning: string | null }): ReplyDelta | null {
    return this.#grow({ content: reply.content, reasoning: reply.reasoning ?? "" });
  }

  #grow(reply: { content: string; reasoning: string }): ReplyDelta | null {
    const delta: ReplyDelta = {};
    for (const key of ["reasoning", "content"] as const) {
      const [text, told] = [reply[key], this.#told[key]];
      if (text.length <= told.length || !text.startsWith(told)) continue;
      delta[key] = text.slice(told.length);
      this.#told[key] = text;
    }
    return Object.keys(delta).length === 0 ? null : delta;
  }
}

function settled(text: string, withheld: readonly string[]): string {
  const whole = text.replace(/\uFFFD+$/u, "").trimEnd();
  for (const mark of withheld) {
    for (let length = Math.min(mark.length - 1, whole.length); length > 0; length--) {
      if (whole.endsWith(mark.slice(0, length))) return settled(whole.slice(0, -length), withheld);
    }
  }
  return whole;
}
