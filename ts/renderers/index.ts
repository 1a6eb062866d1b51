/** The text layer: tokenizers, streaming decoding, chat templates. Public as `prl/tokenizer`. */

export { loadTokenizer } from "./tokenizer.ts";
export type { ChatTemplateOptions, RenderedChat, Tokenizer } from "./tokenizer.ts";
export type { ChatMessage } from "./chat-template.ts";
export type { DecodeStream, DecodeStreamOptions } from "./decode-stream.ts";
