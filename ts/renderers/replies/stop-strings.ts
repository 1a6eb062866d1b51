/** A stop string ends a reply and is no part of it. */
import { type Codec, type Piece, splitTokens } from "./pieces.ts";
import type { Tokenizer } from "../tokenizer.ts";

/** The stop string that ended a reply, and the first of its tokens that was sampled: what was begun before may well name it. */
export interface StoppedBy {
  readonly stop: string;
  readonly from: number;
}

/** `stopReason` of a completion, behind `begun` tokens; null when no stop string ended it. */
export function stoppedBy(stopReason: number | string | null | undefined, begun: number): StoppedBy | null {
  return typeof stopReason === "string" ? { stop: stopReason, from: begun } : null;
}

/** The pieces before the stop string. A delimiter that it takes in is no text, so it stays what it is. */
export function piecesBefore(tokenizer: Codec, ids: Uint32Array, { stop, from }: StoppedBy): Piece[] {
  const { whole, rest } = cut(tokenizer, ids.subarray(from), stop);
  const end = from + whole;
  return [
    ...splitTokens(tokenizer, ids.subarray(0, end)),
    ...(rest === "" ? [] : [{ text: rest, delimiter: false }]),
    ...splitTokens(tokenizer, ids.subarray(end)).filter(({ delimiter }) => delimiter),
  ];
}

/** The text of sampled tokens before the stop string that ended them. */
export function textBefore(
  tokenizer: Pick<Tokenizer, "decode">,
  ids: Uint32Array,
  stopReason: number | string | null | undefined,
): string {
  const text = tokenizer.decode(ids, { skipSpecialTokens: true });
  const at = typeof stopReason === "string" ? text.indexOf(stopReason) : -1;
  return at < 0 ? text : text.slice(0, at);
}

/** Tokens that lie wholly before the stop string, and what the next one says before it. Special tokens are no text to look in. */
function cut(tokenizer: Codec, ids: Uint32Array, stop: string): { whole: number; rest: string } {
  const text = textBefore(tokenizer, ids, stop);
  let whole = ids.length;
  let before = tokenizer.decode(ids, { skipSpecialTokens: true });
  // It ends in the last token, so that only its own are gone back over.
  while (!text.startsWith(before)) {
    whole -= 1;
    before = tokenizer.decode(ids.subarray(0, whole), { skipSpecialTokens: true });
  }
  return { whole, rest: text.slice(before.length) };
}
