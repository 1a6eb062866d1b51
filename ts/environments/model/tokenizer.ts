/** The parts of a tokenizer and a renderer that environments use; `prl-lm/tokenizer` gives them. */
import type { Renderer, Tokenizer } from "../../renderers/index.ts";

export type PolicyTokenizer = Pick<Tokenizer, "encode" | "decode" | "decodeStream" | "applyChatTemplate">;
export type PolicyRenderer = Pick<
  Renderer,
  "render" | "bridgeToNextTurn" | "replyOpening" | "parse" | "grow" | "callBeginning"
>;
