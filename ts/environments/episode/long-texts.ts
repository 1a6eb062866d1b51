/**
 * Keeps the long texts of a received episode outside the JavaScript heap, as bytes in native memory, and makes a string of them at each
 * read. Hundreds of rollouts of 100,000 tokens wait for a batch at once, and garbage collection takes longer with a larger heap.
 *
 * Reading, spreading and serialising a message give the same text as before, character for character.
 */
import type { Episode } from "./episode.ts";

/** Texts with at least this many characters are moved. */
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
  // Both encodings are exact for any string; UTF-8 is not for half a surrogate pair.
  const encoding = ONE_BYTE.test(text) ? "latin1" : "utf16le";
  const bytes = Buffer.from(text, encoding);
  Object.defineProperty(owner, key, { enumerable: true, configurable: true, get: () => bytes.toString(encoding) });
}
