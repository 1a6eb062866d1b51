/**
 * Splits sampled tokens into text and delimiters, all at once or as they come.
 *
 * A delimiter with its own token is recognised by its id, so that one spelled in ordinary tokens is text; only where the vocabulary has no
 * token for it, it is found in the text. Other sampled special tokens are not text: they would become special tokens
 * again where the text is rendered into a prompt.
 */
import { type DecodeStream, longestBeginning } from "../decode-stream.ts";
import type { Tokenizer } from "../tokenizer.ts";

/** Text, or one of the delimiters. */
export type Piece = { readonly text: string; readonly delimiter: boolean };

export type Codec = Pick<Tokenizer, "decode" | "decodeStream" | "tokenToId">;

const DELIMITERS = ["<think>", "</think>", "<tool_call>", "</tool_call>"];

/** The pieces of all tokens. */
export function splitTokens(tokenizer: Codec, ids: Uint32Array): Piece[] {
  const { byId, spelled } = delimitersOf(tokenizer);
  const pieces: Piece[] = [];
  let start = 0;
  const flush = (upTo: number): void => {
    if (upTo > start) pieces.push(...splitText(textOf(tokenizer, ids.subarray(start, upTo)), spelled));
  };
  ids.forEach((id, index) => {
    const delimiter = byId.get(id);
    if (delimiter === undefined) return;
    flush(index);
    pieces.push({ text: delimiter, delimiter: true });
    start = index + 1;
  });
  flush(ids.length);
  return pieces;
}

/** The same for tokens that come one after the other, each read once; a text may come in several pieces. */
export class PieceStream {
  readonly #tokenizer: Codec;
  readonly #delimiters: ReturnType<typeof delimitersOf>;
  #run: DecodeStream;
  /** Text that may be the beginning of a delimiter spelled in ordinary tokens. */
  #held = "";

  constructor(tokenizer: Codec) {
    this.#tokenizer = tokenizer;
    this.#delimiters = delimitersOf(tokenizer);
    this.#run = this.#newRun();
  }

  /** The pieces that become certain with this token. */
  push(id: number): Piece[] {
    const delimiter = this.#delimiters.byId.get(id);
    if (delimiter === undefined) return this.#take(this.#run.push(id));
    const pieces = this.#take(this.#run.flush());
    if (this.#held !== "") pieces.push({ text: this.#held, delimiter: false });
    this.#held = "";
    this.#run = this.#newRun();
    return [...pieces, { text: delimiter, delimiter: true }];
  }

  #newRun(): DecodeStream {
    return this.#tokenizer.decodeStream({ skipSpecialTokens: true });
  }

  #take(text: string): Piece[] {
    const { spelled } = this.#delimiters;
    const pieces = splitText(this.#held + text, spelled);
    const last = pieces.at(-1);
    this.#held = "";
    if (last === undefined || last.delimiter) return pieces;
    const certain = last.text.length - longestBeginning(last.text, spelled);
    this.#held = last.text.slice(certain);
    return [...pieces.slice(0, -1), { text: last.text.slice(0, certain), delimiter: false }];
  }
}

function textOf(tokenizer: Codec, ids: Uint32Array | readonly number[]): string {
  return tokenizer.decode(ids, { skipSpecialTokens: true });
}

function delimitersOf(tokenizer: Codec): { byId: ReadonlyMap<number, string>; spelled: readonly string[] } {
  const byId = new Map<number, string>();
  const spelled: string[] = [];
  for (const delimiter of DELIMITERS) {
    const id = tokenizer.tokenToId(delimiter);
    if (id === null) spelled.push(delimiter);
    else byId.set(id, delimiter);
  }
  return { byId, spelled };
}

function splitText(whole: string, delimiters: readonly string[]): Piece[] {
  if (delimiters.length === 0) return [{ text: whole, delimiter: false }];
  const parts = whole.split(new RegExp(`(${delimiters.map((one) => one.replace("/", "\\/")).join("|")})`, "u"));
  return parts.filter((part) => part !== "").map((part) => ({ text: part, delimiter: delimiters.includes(part) }));
}
