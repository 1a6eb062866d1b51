/** The text layer: tokenizers, streaming decoding, chat templates. Public as `prl-lm/tokenizer`. */

export { loadTokenizer } from "./tokenizer.ts";
export type { ChatTemplateOptions, RenderedChat, Tokenizer } from "./tokenizer.ts";
export type { ChatMessage } from "./chat-template.ts";
export type { DecodeStream, DecodeStreamOptions } from "./decode-stream.ts";
export { loadRenderer } from "./renderer.ts";
export type { Renderer, RendererOptions, RenderOptions as RendererRenderOptions } from "./renderer.ts";
export type { RendererName } from "./families.ts";
export type { ReasoningParser, ToolCallParser } from "./replies/parsers.ts";
export type { ParsedCompletion, ParsedToolCall, ToolCallStatus } from "./replies/parse-completion.ts";
export type { GrowingReply, GrowingReplyOptions } from "./replies/growing-reply.ts";
export type { ReplyDelta } from "./replies/reply-growth.ts";
export type { StoppedBy } from "./replies/stop-strings.ts";
