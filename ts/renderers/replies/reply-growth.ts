/**
 * What a reply that is still being sampled says for certain: told piece by piece, never taken back.
 *
 * Held back is what a later token may change: an incomplete character, blanks at the end, an end that may become a stop string or a delimiter.
 */
import { longestBeginning } from "../decode-stream.ts";

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
    return untold(
      {
        content: settled(content, this.#withheld),
        // What was said behind it shows that it is over.
        reasoning: content === "" ? settled(thought, this.#withheld) : thought,
      },
      this.#told,
    );
  }

  /** With the whole reply. */
  rest(reply: { content: string; reasoning: string | null }): ReplyDelta | null {
    return untold(reply, this.#told);
  }
}

/** What `reply` has beyond what was told, which is told with it; null when nothing, or when it does not go on from there. */
export function untold(
  reply: { content: string; reasoning: string | null },
  told: { content: string; reasoning: string },
): ReplyDelta | null {
  const delta: ReplyDelta = {};
  for (const key of ["reasoning", "content"] as const) {
    const text = reply[key] ?? "";
    if (text.length <= told[key].length || !text.startsWith(told[key])) continue;
    delta[key] = text.slice(told[key].length);
    told[key] = text;
  }
  return Object.keys(delta).length === 0 ? null : delta;
}

/** The text without an end that a later token may change. */
export function settled(text: string, withheld: readonly string[]): string {
  const whole = text.replace(/\uFFFD+$/u, "").trimEnd();
  const unsure = longestBeginning(whole, withheld);
  return unsure === 0 ? whole : settled(whole.slice(0, -unsure), withheld);
}
