/**
 * Tokens that stand for one byte each, as `<0xE4>`, which tokenizers write what their vocabulary lacks with (byte fallback).
 *
 * Their decoder takes a row of them as a whole: valid UTF-8 becomes its text, and otherwise every byte of the row becomes U+FFFD, those
 * of characters that were complete too. So what a row says is certain only once it has ended.
 */
import type { NativeTokenizer } from "../native/index.ts";

/** Whether more tokens can change what a row of tokens says, given its last one and whether they could before it. */
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
      // Without the decoder's fallback it is a text like others.
      if (id !== null && !tokenizer.decode([id], false).includes(token)) bytes.add(id);
    }
  }
  return bytes;
}

/** A special token that is left out of the text, so that it does not end a row either. */
function isSpecial(tokenizer: NativeTokenizer, id: number): boolean {
  return tokenizer.decode([id], true) === "" && tokenizer.decode([id], false) !== "";
}
