/**
 * Text to token ids and back, streaming, chat templates: `loadTokenizer`, public as `prl-lm/tokenizer`.
 *
 * It stands on the `tokenizers` crate for ids and on the model's own Jinja template for conversations. Text becomes tokens once, here;
 * sampled tokens are never tokenised again.
 */
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { loadNativeTokenizer, type NativeTokenizer } from "../native/index.ts";
import { checkOptions, only, table } from "../options.ts";
import { byteRows } from "./byte-tokens.ts";
import { renderChat, renderChatWithSpans, type ChatMessage, type RenderOptions } from "./chat-template.ts";
import { createDecodeStream, type DecodeStream, type DecodeStreamOptions } from "./decode-stream.ts";
import { tokensInSpans } from "./token-spans.ts";
import { readTokenizerConfig, type TokenizerConfig } from "./tokenizer-config.ts";

export interface ChatTemplateOptions extends Pick<RenderOptions, "tools" | "addGenerationPrompt" | "templateKwargs"> {
  /** Template source, or the name of one of the tokenizer's templates. Default: the tokenizer's own. */
  chatTemplate?: string;
  /** Also return which tokens are in `{% generation %}` blocks. Default false. */
  assistantMask?: boolean;
}

export interface RenderedChat {
  text: string;
  /** `encode(text)`, with only the special tokens that the template wrote. */
  ids: Uint32Array;
  /** One entry per id, 1 for tokens of the assistant; null unless requested. */
  assistantMask: Uint8Array | null;
}

export interface Tokenizer {
  /** Number of ids, added tokens included; ids are below it. */
  readonly vocabSize: number;
  /** Id of tokenizer_config.json's `eos_token`, null when it names none. */
  readonly eosTokenId: number | null;
  /** Id of tokenizer_config.json's `pad_token`, null when it names none. */
  readonly padTokenId: number | null;
  /** Token ids of a text. Special tokens written in the text are recognised; none are added unless requested. */
  encode(text: string, options?: { addSpecialTokens?: boolean }): Uint32Array;
  /** The same off the JavaScript thread, for long texts. */
  encodeAsync(text: string, options?: { addSpecialTokens?: boolean }): Promise<Uint32Array>;
  /** Text of token ids; invalid UTF-8 becomes U+FFFD. */
  decode(ids: Uint32Array | readonly number[], options?: { skipSpecialTokens?: boolean }): string;
  /** Text of each token alone, off the JavaScript thread. */
  decodeEach(ids: Uint32Array): Promise<string[]>;
  /** A decoder for ids that arrive one by one. */
  decodeStream(options?: DecodeStreamOptions): DecodeStream;
  /** A conversation as text and ids by the model's chat template. Errors: PRL_TEMPLATE. */
  applyChatTemplate(messages: readonly ChatMessage[], options?: ChatTemplateOptions): RenderedChat;
  /** The text of a conversation, without ids. */
  chatText(messages: readonly ChatMessage[], options?: Omit<ChatTemplateOptions, "assistantMask">): string;
  /** Id of a token as written in the vocabulary, or null. */
  tokenToId(token: string): number | null;
}

interface EncodeOptions {
  addSpecialTokens?: boolean;
}

interface DecodeOptions {
  skipSpecialTokens?: boolean;
}

const encodeSchema = only<EncodeOptions>({ addSpecialTokens: z.boolean().optional() });
const decodeSchema = only<DecodeOptions>({ skipSpecialTokens: z.boolean().optional() });
const streamSchema = only<DecodeStreamOptions>({
  skipSpecialTokens: z.boolean().optional(),
  stop: z.union([z.string(), z.array(z.unknown())], "must be a string or a list of strings").optional(),
  stopAfter: z.int().nonnegative().optional(),
});
const templateSchema = only<ChatTemplateOptions>({
  tools: z.array(z.unknown()).nullable().optional(),
  addGenerationPrompt: z.boolean().optional(),
  templateKwargs: table.optional(),
  chatTemplate: z.string().optional(),
  assistantMask: z.boolean().optional(),
});
const textSchema = templateSchema.omit({ assistantMask: true });

/**
 * Loads the tokenizer of a Hugging Face folder: tokenizer.json, tokenizer_config.json and chat templates.
 * Errors: PRL_TOKENIZER naming the file.
 */
export async function loadTokenizer(dir: string): Promise<Tokenizer> {
  const native = await loadNativeTokenizer(dir);
  const config = await readTokenizerConfig(dir);
  const specialTokens = (what: string, options: EncodeOptions): boolean => {
    checkOptions("PRL_TOKENIZER", what, encodeSchema, options);
    return options.addSpecialTokens ?? false;
  };
  return {
    vocabSize: native.vocabSize,
    eosTokenId: specialTokenId(dir, native, config, "eos_token"),
    padTokenId: specialTokenId(dir, native, config, "pad_token"),
    encode: (text, options = {}) => native.encode(text, specialTokens("encode", options)),
    encodeAsync: async (text, options = {}) => native.encodeAsync(text, specialTokens("encodeAsync", options)),
    decode(ids, options = {}) {
      checkOptions("PRL_TOKENIZER", "decode", decodeSchema, options);
      return native.decode(ids instanceof Uint32Array ? ids : [...ids], options.skipSpecialTokens ?? false);
    },
    decodeEach: (ids) => native.decodeEach(ids),
    decodeStream(options = {}) {
      checkOptions("PRL_TOKENIZER", "decodeStream", streamSchema, options);
      return decodeStream(native, options);
    },
    applyChatTemplate(messages, options = {}) {
      checkOptions("PRL_TEMPLATE", "applyChatTemplate", templateSchema, options);
      return applyChatTemplate(native, config, messages, options);
    },
    chatText(messages, options = {}) {
      checkOptions("PRL_TEMPLATE", "chatText", textSchema, options);
      return chatText(config, messages, options);
    },
    tokenToId: (token) => native.tokenToId(token),
  };
}

function chatText(
  config: TokenizerConfig,
  messages: readonly ChatMessage[],
  { chatTemplate, ...options }: Omit<ChatTemplateOptions, "assistantMask">,
): string {
  const { template, templateName } = chooseTemplate(config, chatTemplate, options.tools ?? null);
  return renderChat(template, messages, { ...options, specialTokens: config.specialTokens, templateName });
}

function decodeStream(
  native: NativeTokenizer,
  { skipSpecialTokens = false, ...stops }: DecodeStreamOptions = {},
): DecodeStream {
  const decode = (ids: number[]): string => native.decode(ids, skipSpecialTokens);
  return createDecodeStream(decode, stops, byteRows(native, skipSpecialTokens));
}

function applyChatTemplate(
  native: NativeTokenizer,
  config: TokenizerConfig,
  messages: readonly ChatMessage[],
  { assistantMask = false, ...given }: ChatTemplateOptions,
): RenderedChat {
  if (!assistantMask) {
    const text = chatText(config, messages, given);
    return { text, ids: native.encode(text, false), assistantMask: null };
  }
  const { chatTemplate, ...options } = given;
  const { template, templateName } = chooseTemplate(config, chatTemplate, options.tools ?? null);
  const renderOptions: RenderOptions = { ...options, specialTokens: config.specialTokens, templateName };
  const { text, spans } = renderChatWithSpans(template, messages, renderOptions);
  const ids = native.encode(text, false);
  return { text, ids, assistantMask: tokensInSpans(text, ids, spans, decodeStream(native)) };
}

/** transformers' rule: the template asked for, else `tool_use` when there are tools and such a template, else `default`. */
function chooseTemplate(
  { dir, chatTemplates }: TokenizerConfig,
  asked: string | undefined,
  tools: readonly unknown[] | null,
): { template: string; templateName: string } {
  const names = asked === undefined ? [...(tools === null ? [] : ["tool_use"]), "default"] : [asked];
  for (const name of names) {
    const template = chatTemplates.get(name);
    if (template !== undefined) return { template, templateName: `the chat template "${name}" of ${dir}` };
  }
  if (asked !== undefined) return { template: asked, templateName: "the chat template that was given" };
  const known = [...chatTemplates.keys()];
  const cure = known.length === 0 ? "give one as chatTemplate" : `choose one as chatTemplate: ${known.join(", ")}`;
  throw new PrlError("PRL_TEMPLATE", `the tokenizer has no default chat template: ${cure}`);
}

function specialTokenId(dir: string, native: NativeTokenizer, config: TokenizerConfig, key: string): number | null {
  const token = config.specialTokens[key];
  if (token === undefined) return null;
  const id = native.tokenToId(token);
  if (id === null) {
    throw new PrlError("PRL_TOKENIZER", `${dir}: ${key} is "${token}", which tokenizer.json does not have`);
  }
  return id;
}
