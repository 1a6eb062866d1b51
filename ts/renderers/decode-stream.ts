/**
 * Turns a stream of token ids into text, piece by piece.
 *
 * Invariants: the pieces that `push` and `flush` return, joined, are the decoding of all ids pushed (cut at the first stop string, if
 * one occurs); returned text never changes. It holds back a trailing incomplete UTF-8 sequence, a row of byte tokens that may
 * go on, and text that may be the beginning of a stop string. It does not know where the ids come from.
 *
 * Method: only a window of the last ids is decoded. Its first part, the context, was returned already and stays in the window because
 * decoders treat the first token of a text differently (a leading space, for instance).
 */
import { PrlError } from "../errors.ts";
import type { OpenRow } from "./byte-tokens.ts";

/** The character that decoders print for invalid UTF-8. */
const REPLACEMENT = "\uFFFD";
/** An incomplete UTF-8 sequence has at most three bytes, so what lies before the last few tokens can no longer change. */
const UNSETTLED_TOKENS = 8;
/** Above this size a window without a clean end is cut, so that long runs of invalid bytes stay linear. */
const MAX_WINDOW_TOKENS = 64;

export interface DecodeStreamOptions {
  /** Leave special tokens out of the text. Default false. */
  skipSpecialTokens?: boolean;
  /** Strings that end the text; they are not part of it. */
  stop?: string | readonly string[];
  /** Number of tokens of which none ends the text: a string that one of them completes stays text. Default 0. */
  stopAfter?: number;
}

export interface DecodeStream {
  /** Adds one token; returns the text that became certain, '' when text is withheld or the stream has stopped. */
  push(id: number): string;
  /** Ends the stream; returns the withheld text. */
  flush(): string;
  /** True once a stop string occurred. */
  readonly stopped: boolean;
  /** The stop string that occurred, or null. */
  readonly stopReason: string | null;
}

/** A decode stream over any decoder of id lists; `isOpen` says which tokens the decoder reads together with later ones. */
export function createDecodeStream(
  decode: (ids: number[]) => string,
  { stop = [], stopAfter = 0 }: Pick<DecodeStreamOptions, "stop" | "stopAfter"> = {},
  isOpen: OpenRow = () => false,
): DecodeStream {
  const stops = new StopStrings(typeof stop === "string" ? [stop] : stop);
  const window = new DecodeWindow(decode, isOpen);
  let ended = false;
  let tokens = 0;
  return {
    push(id) {
      if (ended || stops.found !== null) return "";
      tokens += 1;
      return stops.take(window.push(id), tokens > stopAfter);
    },
    flush() {
      if (ended || stops.found !== null) return "";
      ended = true;
      return stops.take(window.rest(), tokens > stopAfter) + stops.rest();
    },
    get stopped() {
      return stops.found !== null;
    },
    get stopReason() {
      return stops.found;
    },
  };
}

/** Turns ids into text that can no longer change. */
class DecodeWindow {
  readonly #decode: (ids: number[]) => string;
  readonly #isOpen: OpenRow;
  /** The window ends in a row of tokens that may go on. */
  #isRowOpen = false;
  #ids: number[] = [];
  /** Ids of the window that are context: their text was returned before the window got its newer ids. */
  #context = 0;
  /** UTF-16 units of the window's text that were returned. */
  #returned = 0;

  constructor(decode: (ids: number[]) => string, isOpen: OpenRow) {
    this.#decode = decode;
    this.#isOpen = isOpen;
  }

  push(id: number): string {
    this.#ids.push(id);
    this.#isRowOpen = this.#isOpen(id, this.#isRowOpen);
    if (this.#isRowOpen) return "";
    const text = this.#decode(this.#ids);
    const incomplete = text.endsWith(REPLACEMENT);
    const certain = incomplete ? text.length - REPLACEMENT.length : text.length;
    const piece = certain > this.#returned ? text.slice(this.#returned, certain) : "";
    this.#returned = Math.max(this.#returned, certain);
    if (!incomplete && piece !== "") this.#dropBefore(this.#context);
    else if (this.#ids.length > MAX_WINDOW_TOKENS) this.#cutUncleanWindow(text);
    return piece;
  }

  rest(): string {
    const piece = this.#decode(this.#ids).slice(this.#returned);
    this.#returned += piece.length;
    return piece;
  }

  /** The new part becomes the context. */
  #dropBefore(first: number): void {
    this.#ids = this.#ids.slice(first);
    this.#context = this.#ids.length;
    if (first > 0) this.#returned = this.#decode(this.#ids).length;
  }

  #cutUncleanWindow(text: string): void {
    const cut = this.#ids.length - UNSETTLED_TOKENS;
    const settled = this.#decode(this.#ids.slice(0, cut));
    const tail = this.#ids.slice(cut);
    if (settled.length > this.#returned || settled + this.#decode(tail) !== text) return;
    this.#ids = tail;
    this.#context = 0;
    this.#returned -= settled.length;
  }
}

/** Passes text on up to the first stop string; holds back text that may become one. */
class StopStrings {
  readonly #stops: readonly string[];
  #held = "";
  found: string | null = null;

  constructor(stops: readonly string[]) {
    for (const stop of stops) {
      if (typeof stop !== "string" || stop === "") {
        throw new PrlError("PRL_TOKENIZER", `a stop string must be a non-empty string, got ${JSON.stringify(stop)}`);
      }
    }
    this.#stops = stops;
  }

  /** `mayEnd`: whether a string that the piece completes ends the text. */
  take(piece: string, mayEnd: boolean): string {
    if (this.#stops.length === 0) return piece;
    const text = this.#held + piece;
    let end = -1;
    for (const stop of mayEnd ? this.#stops : []) {
      const at = text.indexOf(stop, Math.max(this.#held.length - stop.length + 1, 0));
      if (at >= 0 && (end < 0 || at < end)) {
        end = at;
        this.found = stop;
      }
    }
    if (end >= 0) {
      this.#held = "";
      return text.slice(0, end);
    }
    const held = longestBeginning(text, this.#stops);
    this.#held = text.slice(text.length - held);
    return text.slice(0, text.length - held);
  }

  rest(): string {
    const held = this.#held;
    this.#held = "";
    return held;
  }
}

/** Length of the longest end of `text` that is a proper beginning of one of `marks`. */
export function longestBeginning(text: string, marks: readonly string[]): number {
  let longest = 0;
  for (const mark of marks) {
    for (let length = Math.min(mark.length - 1, text.length); length > longest; length--) {
      if (mark.startsWith(text.slice(text.length - length))) longest = length;
    }
  }
  return longest;
}
