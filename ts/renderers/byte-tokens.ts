/**
 * Tokens of one byte each, as `<0xE4>`, with which tokenizers write text that their vocabulary lacks (byte fallback).
 *
 * The decoder reads a row of them as a whole: valid UTF-8 becomes its text, and otherwise every byte of the row becomes U+FFFD, also bytes
 * of complete characters. So the text of a row is certain only once the row has ended.
 */
import type { NativeTokenizer } from "../native/index.ts";

/** Whether more tokens can change the text of a row of tokens, given its last token and whether the row was open before it. */
export type OpenRow = (id: number, wasOpen: boolean) => boolean;

export function byteRows(tokenizer: NativeTokenizer, skipSpecialTokens: boolean): OpenRow {
  const bytes = byteTokens(tokenizer);
  if (bytes.size === 0) return () => false;
  return (id, wasOpen) => bytes.has(id) || (wasOpen && skipSpecialTokens && isSpecial(tokenizer, id));
}

const known = new WeakMap<NativeTokenizer, ReadonlySet<number>>();

function byteTokens(tokenizer: NativeTokenizer): ReadonlySet<number> {
  let bytes = known.get(tokenizer);
  if (bytes === undefined) {
    bytes = findByteTokens(tokenizer);
    known.set(tokenizer, bytes);
  }
  return bytes;
}

function findByteTokens(tokenizer: NativeTokenizer): ReadonlySet<number> {
  const bytes = new Set<number>();
  for (let byte = 0; byte < 256; byte++) {
    const hex = byte.toString(16).padStart(2, "0");
    for (const token of [`<0x${hex.toUpperCase()}>`, `<0x${hex}>`]) {
      const id = tokenizer.tokenToId(token);
      // Without the decoder's fallback the token is ordinary text.
      if (id !== null && !tokenizer.decode([id], false).includes(token)) bytes.add(id);
    }
  }
  return bytes;
}

/** Whether the token is special: it is left out of the text, so it does not end a row either. */
function isSpecial(tokenizer: NativeTokenizer, id: number): boolean {
  return tokenizer.decode([id], true) === "" && tokenizer.decode([id], false) !== "";
}
