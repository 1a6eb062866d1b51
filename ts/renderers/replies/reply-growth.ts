/**
 * Gives the certain text of a reply that is still being sampled, piece by piece; given text never changes.
 *
 * It holds back text that a later token may change: an incomplete character, blanks at the end, an end that may become a stop string or
 * a delimiter.
 */
import { longestBeginning } from "../decode-stream.ts";

/** Text that a reply has gained; a key is there only when its text is. */
export interface ReplyDelta {
  content?: string;
  reasoning?: string;
}

export class ReplyGrowth {
  readonly #withheld: readonly string[];
  readonly #emitted = { content: "", reasoning: "" };

  /** `withheld`: strings whose beginnings at the end of the text are held back. */
  constructor(withheld: readonly string[]) {
    this.#withheld = withheld;
  }

  /** Takes the reply so far and returns its new text. Null when nothing is new, or when it does not continue the given text. */
  take({ content, reasoning }: { content: string; reasoning: string | null }): ReplyDelta | null {
    const thought = reasoning ?? "";
    return notEmitted(
      {
        content: settled(content, this.#withheld),
        // Content behind the thinking shows that the thinking is complete.
        reasoning: content === "" ? settled(thought, this.#withheld) : thought,
      },
      this.#emitted,
    );
  }

  /** Takes the whole reply and returns the remaining text. */
  rest(reply: { content: string; reasoning: string | null }): ReplyDelta | null {
    return notEmitted(reply, this.#emitted);
  }
}

/**
 * The text of `reply` beyond the given one, which then counts as given; null when there is none, or when it does not continue the given
 * text.
 */
export function notEmitted(
  reply: { content: string; reasoning: string | null },
  emitted: { content: string; reasoning: string },
): ReplyDelta | null {
  const delta: ReplyDelta = {};
  for (const key of ["reasoning", "content"] as const) {
    const text = reply[key] ?? "";
    if (text.length <= emitted[key].length || !text.startsWith(emitted[key])) continue;
    delta[key] = text.slice(emitted[key].length);
    emitted[key] = text;
  }
  return Object.keys(delta).length === 0 ? null : delta;
}

/** The text without an end that a later token may change. */
export function settled(text: string, withheld: readonly string[]): string {
  const whole = text.replace(/\uFFFD+$/u, "").trimEnd();
  const unsure = longestBeginning(whole, withheld);
  return unsure === 0 ? whole : settled(whole.slice(0, -unsure), withheld);
}
