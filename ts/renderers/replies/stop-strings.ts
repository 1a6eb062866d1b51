/** Stop strings end a reply and are not part of it. */
import { type Codec, type Piece, splitTokens } from "./pieces.ts";
import type { Tokenizer } from "../tokenizer.ts";

/** The stop string that ended a reply, and the index of the reply's first sampled token: a given beginning may contain the string. */
export interface StoppedBy {
  readonly stop: string;
  readonly from: number;
}

/** `stopReason` of a completion, behind `begun` tokens; null when no stop string ended it. */
export function stoppedBy(stopReason: number | string | null | undefined, begun: number): StoppedBy | null {
  return typeof stopReason === "string" ? { stop: stopReason, from: begun } : null;
}

/** The pieces before the stop string. A delimiter inside it is not text, so it stays a delimiter. */
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
  const before = tokenizer.decode(ids.subarray(0, -1), { skipSpecialTokens: true });
  const at = typeof stopReason === "string" ? stopPlace(text, before, stopReason) : -1;
  return at < 0 ? text : text.slice(0, at);
}

/**
 * The place of the stop string that the last token completed, given the text without this token: an earlier one did not end the text,
 * because tokens were still to come (`min_tokens`). Where the tokens go on behind the string it is the first one; -1 when there is none.
 */
export function stopPlace(text: string, before: string, stop: string): number {
  let same = 0;
  while (same < before.length && before[same] === text[same]) same += 1;
  const last = text.indexOf(stop, Math.max(same - stop.length + 1, 0));
  return last >= 0 ? last : text.indexOf(stop);
}

/** Number of tokens completely before the stop string, and the next token's text before it. Special tokens are not searched. */
function cut(tokenizer: Codec, ids: Uint32Array, stop: string): { whole: number; rest: string } {
  const text = textBefore(tokenizer, ids, stop);
  let whole = ids.length;
  let before = tokenizer.decode(ids, { skipSpecialTokens: true });
  // The string ends in the last token, so the search goes back only over its tokens.
  while (!text.startsWith(before)) {
    whole -= 1;
    before = tokenizer.decode(ids.subarray(0, whole), { skipSpecialTokens: true });
  }
  return { whole, rest: text.slice(before.length) };
}
