/** Text to token ids and back by the `tokenizers` crate. Chat templates and streaming live in `ts/renderers`. */

import { addon } from "./addon.ts";
import { whole, wholes } from "./checks.ts";
import { native, nativeAsync } from "./errors.ts";

export interface NativeTokenizer {
  readonly vocabSize: number;
  encode(text: string, addSpecialTokens: boolean): Uint32Array;
  encodeAsync(text: string, addSpecialTokens: boolean): Promise<Uint32Array>;
  decode(ids: Uint32Array | number[], skipSpecialTokens: boolean): string;
  decodeEach(ids: Uint32Array): Promise<string[]>;
  tokenToId(token: string): number | null;
  idToToken(id: number): string | null;
}

/** Loads `tokenizer.json` of a folder. Errors: PRL_TOKENIZER naming the file. */
export async function loadNativeTokenizer(dir: string): Promise<NativeTokenizer> {
  const { NativeTokenizer: Native } = addon();
  const tokenizer = await nativeAsync(() => Native.load(dir));
  return {
    vocabSize: native(() => tokenizer.vocabSize()),
    encode: (text, addSpecialTokens) => native(() => tokenizer.encode(text, addSpecialTokens)),
    encodeAsync: (text, addSpecialTokens) => nativeAsync(() => tokenizer.encodeAsync(text, addSpecialTokens)),
    decodeEach: (ids) => nativeAsync(() => tokenizer.decodeEach(ids)),
    decode: (ids, skipSpecialTokens) =>
      native(() => tokenizer.decode(wholes("PRL_ENGINE_INPUT", "ids", ids), skipSpecialTokens)),
    tokenToId: (token) => native(() => tokenizer.tokenToId(token)),
    idToToken: (id) => native(() => tokenizer.idToToken(whole("PRL_ENGINE_INPUT", "id", id))),
  };
}
