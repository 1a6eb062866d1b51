/** The part of a tokenizer that environments use; `loadTokenizer` of `prl/tokenizer` gives one. */
import type { Tokenizer } from "../renderers/index.ts";

export type PolicyTokenizer = Pick<Tokenizer, "encode" | "decode" | "applyChatTemplate">;
