/**
 * Keeps the long texts of a received episode out of the JavaScript heap: as bytes in native memory, of which a string is made each time that one
 * is read. Hundreds of rollouts of 100,000 tokens wait for a batch at once; collections of garbage are the longer the more there is to look at.
 *
 * Whoever reads, spreads or serialises a message sees what was there before, character for character.
 */
import type { Episode } from "./episode.ts";

/** Characters from which on a text is worth it. */
const LONG = 4096;
const ONE_BYTE = /^[^\u0100-\uffff]*$/;

/** Changes the episode in place. */
export function keepLongTextsNative({ traces }: Episode): void {
  for (const { nodes } of traces) {
    for (const { message } of nodes) {
      keepNative(message, "content");
      keepNative(message, "reasoning_content");
      if (message.tool_calls === undefined) continue;
      for (const call of message.tool_calls) keepNative(call.function, "arguments");
    }
  }
}

function keepNative<Key extends string>(owner: { [key in Key]?: string | undefined }, key: Key): void {
  const text = owner[key];
  if (text === undefined || text.length < LONG) return;
  // Both are exact for any string, also for half a surrogate pair, which UTF-8 is not.
  const encoding = ONE_BYTE.test(text) ? "latin1" : "utf16le";
  const bytes = Buffer.from(text, encoding);
  Object.defineProperty(owner, key, { enumerable: true, configurable: true, get: () => bytes.toString(encoding) });
}
