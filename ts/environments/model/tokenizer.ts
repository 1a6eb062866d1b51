/** The parts of a tokenizer and a renderer that environments use; `prl-lm/tokenizer` gives them. */
import type { Renderer, Tokenizer } from "../../renderers/index.ts";

export type PolicyTokenizer = Pick<
  Tokenizer,
  "encode" | "encodeAsync" | "decode" | "decodeStream" | "applyChatTemplate"
>;
export type PolicyRenderer = Pick<
  Renderer,
  "renderAsync" | "bridgeToNextTurnAsync" | "replyOpening" | "parse" | "grow" | "callBeginning"
>;
