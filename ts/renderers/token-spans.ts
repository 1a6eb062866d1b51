/**
 * Finds the tokens of a text in given character ranges.
 *
 * A token belongs to a range when it covers at least one of its characters; all tokens of a character that is split over several
 * belong together. Tokens are matched with the text by decoding, so the tokenizer must reproduce the text.
 */
import { PrlError } from "../errors.ts";
import type { TextSpan } from "./chat-template.ts";
import type { DecodeStream } from "./decode-stream.ts";

/** One entry per id: 1 when the token lies in a span. `spans` ascend and do not overlap; `stream` is a new one. */
export function tokensInSpans(
  text: string,
  ids: Uint32Array,
  spans: readonly TextSpan[],
  stream: DecodeStream,
): Uint8Array {
  const mask = new Uint8Array(ids.length);
  const ranges = tokenRanges(text, ids, stream);
  let next = 0;
  for (const [index, range] of ranges.entries()) {
    while (next < spans.length && (spans[next]?.end ?? 0) <= range.start) next++;
    const span = spans[next];
    if (span !== undefined && span.start < range.end) mask[index] = 1;
  }
  return mask;
}

/** Range of each token; the tokens of one character share its range. */
function tokenRanges(text: string, ids: Uint32Array, stream: DecodeStream): TextSpan[] {
  const ranges: TextSpan[] = [];
  let joined = "";
  let open = 0;
  const close = (piece: string, upTo: number): void => {
    const start = joined.length;
    joined += piece;
    for (; open < upTo; open++) ranges.push({ start, end: joined.length });
  };
  for (const [index, id] of ids.entries()) {
    const piece = stream.push(id);
    if (piece !== "") close(piece, index + 1);
  }
  close(stream.flush(), ids.length);
  if (joined !== text) {
    const why = "decoding its tokens does not give the text back, so that characters cannot be matched with tokens";
    throw new PrlError("PRL_TOKENIZER_UNSUPPORTED", `assistantMask does not work with this tokenizer: ${why}`);
  }
  return ranges;
}
