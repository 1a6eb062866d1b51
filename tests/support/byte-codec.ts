/** A tokenizer of bytes, and of the words that it is given. */
import { createDecodeStream } from "../../ts/renderers/decode-stream.ts";
import type { Tokenizer } from "../../ts/renderers/index.ts";

/** Ends a turn; the one special token. */
export const STOP_ID = 256;

/** Words are one token each, each where it stands first in a text. */
export function codecOf(words: readonly string[]) {
  const known = ["<|end|>", ...words];
  const encode = (text: string): number[] => {
    const parts = text.split(new RegExp(`(${known.map((one) => one.replaceAll(/[|{}]/gu, "\\$&")).join("|")})`, "u"));
    return parts.flatMap((part) => (known.includes(part) ? [STOP_ID + known.indexOf(part)] : [...Buffer.from(part)]));
  };
  const decode = (ids: Iterable<number>, { skipSpecialTokens = false } = {}): string => {
    let text = "";
    let bytes: number[] = [];
    for (const id of ids) {
      if (id < STOP_ID) bytes.push(id);
      else if (id > STOP_ID || !skipSpecialTokens) {
        text += Buffer.from(bytes).toString() + known[id - STOP_ID];
        bytes = [];
      }
    }
    return text + Buffer.from(bytes).toString();
  };
  const tokenToId = (token: string) => (known.includes(token) ? STOP_ID + known.indexOf(token) : null);
  const decodeStream: Tokenizer["decodeStream"] = ({ stop = [], stopAfter = 0, ...options } = {}) =>
    createDecodeStream((ids) => decode(ids, options), { stop, stopAfter });
  return { encode, decode, decodeStream, tokenToId };
}
