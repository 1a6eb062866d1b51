/**
 * Conversations as tokens of one model: whole ones by its chat template, the next turn by extending the existing tokens.
 *
 * The bridge: the text behind an assistant's reply in a rendered conversation does not depend on the reply, so it is rendered once
 * behind a stand-in, cut off, and appended to the same tokens that the policy saw and sampled. Anything inexact (a reply that
 * stopped elsewhere, a template that looks further back) gives null, and the caller renders anew.
 */
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { checkOptions, only, table } from "../options.ts";
import type { ChatMessage } from "./chat-template.ts";
import { longestBeginning } from "./decode-stream.ts";
import { detectFamily, FAMILIES, type Family, type RendererName } from "./families.ts";
import { genericFamily } from "./generic-family.ts";
import { joinedIds } from "./joined-ids.ts";
import { argumentsFor } from "./read-arguments.ts";
import { callGrammar } from "./replies/call-grammar.ts";
import { GrowingReply, type GrowingReplyOptions } from "./replies/growing-reply.ts";
import { parseCompletion, type ParsedCompletion, type ReplyForm } from "./replies/parse-completion.ts";
import {
  REASONING_PARSERS,
  type ReasoningParser,
  TOOL_CALL_PARSERS,
  type ToolCallParser,
  withParsers,
} from "./replies/parsers.ts";
import type { Codec } from "./replies/pieces.ts";
import type { StoppedBy } from "./replies/stop-strings.ts";
import { readTokenizerConfig } from "./tokenizer-config.ts";
import { loadTokenizer, type Tokenizer } from "./tokenizer.ts";

export interface RendererOptions {
  /** `auto` (default) detects the family by the tokenizer's special tokens and its template. */
  name?: "auto" | RendererName;
  /** Variables for the template, for example `{ enable_thinking: false }`. */
  templateKwargs?: Readonly<Record<string, unknown>>;
  /**
   * Treatment of earlier thinking at a new user message: `template` does what the model's template does, so these turns are rendered
   * anew; `keep` leaves it in the context, so they are bridged. Default `template`.
   */
  earlierThinking?: "template" | "keep";
  /** A Jinja template in place of the model's. */
  chatTemplate?: string | undefined;
  /** How tool calls in replies are read. By default the family decides. */
  toolCallParser?: ToolCallParser | undefined;
  /** How thinking in replies is read: `deepseek_r1` takes a reply as thinking until it is closed. By default the family decides. */
  reasoningParser?: ReasoningParser | undefined;
}

export interface RenderOptions {
  tools?: readonly unknown[] | null;
  /** End with the beginning of an assistant turn. Default true. */
  addGenerationPrompt?: boolean;
}

export interface Renderer {
  readonly name: RendererName;
  /** Whether every reply begins with thinking, although no template opens it. */
  readonly thinksFirst: boolean;
  /** Ids at which sampling stops. */
  readonly stopTokenIds: readonly number[];
  /** The tokens of a whole conversation. Errors: PRL_TEMPLATE. */
  render(messages: readonly ChatMessage[], options?: RenderOptions): Uint32Array;
  /** The same, but the text is tokenized off the JavaScript thread, for servers, which a long conversation must not block. */
  renderAsync(messages: readonly ChatMessage[], options?: RenderOptions): Promise<Uint32Array>;
  /** The same renderer with these variables for its template instead of its present ones. */
  withTemplateKwargs(templateKwargs: Readonly<Record<string, unknown>>): Renderer;
  /** The same renderer, but special tokens of replies are text, except those that end a turn. */
  withSpecialTokens(): Renderer;
  /**
   * The tokens that a policy would sample for `reply` behind `render(messages)`, up to the one that closes the turn. Errors: PRL_TEMPLATE
   * when the template writes the conversation differently with the reply.
   */
  renderReply(
    messages: readonly ChatMessage[],
    reply: ChatMessage,
    options?: Pick<RenderOptions, "tools">,
  ): Uint32Array;
  /** The same, but the reply is tokenized off the JavaScript thread. */
  renderReplyAsync(
    messages: readonly ChatMessage[],
    reply: ChatMessage,
    options?: Pick<RenderOptions, "tools">,
  ): Promise<Uint32Array>;
  /**
   * `promptIds` and `completionIds` verbatim, then the new messages and the beginning of the next assistant turn; null when that cannot be
   * done exactly. New messages are those of users, tools and systems.
   */
  bridgeToNextTurn(
    promptIds: Uint32Array,
    completionIds: Uint32Array,
    newMessages: readonly ChatMessage[],
    options?: Pick<RenderOptions, "tools">,
  ): Uint32Array | null;
  /** The same, but the new messages are tokenized off the JavaScript thread: the result of a tool may be long. */
  bridgeToNextTurnAsync(
    promptIds: Uint32Array,
    completionIds: Uint32Array,
    newMessages: readonly ChatMessage[],
    options?: Pick<RenderOptions, "tools">,
  ): Promise<Uint32Array | null>;
  /** The text that the template adds where a reply follows: the beginning of the reply. Errors: PRL_TEMPLATE. */
  replyOpening(messages: readonly ChatMessage[], options?: Pick<RenderOptions, "tools">): string;
  /** `stopped`: the stop string that ended it, which is not part of the reply. */
  parse(completionIds: Uint32Array, stopped?: StoppedBy | null): ParsedCompletion;
  /** A reply that is parsed while it is sampled. */
  grow(options: GrowingReplyOptions): GrowingReply;
  /**
   * The beginning of a call of the function, or of any function for null: put before sampling, it forces the policy to call. Null where
   * the family has no calls.
   */
  callBeginning(name: string | null): string | null;
  /**
   * The grammar of what follows `callBeginning(name)` up to the end of the call, for the engine's `structuredOutput`: the arguments match the
   * schema of the function, which for a null name is one of `tools`. Null where the family has no calls.
   */
  callGrammar(name: string | null, tools: readonly unknown[]): string | null;
}

/** Replaces a content while the rest is rendered; no template changes it and no conversation holds it. */
const STAND_IN = "\uE0F2reply\uE0F2";

const rendererSchema = only<RendererOptions>({
  name: z.string().optional(),
  templateKwargs: table.optional(),
  earlierThinking: z.enum(["template", "keep"]).optional(),
  chatTemplate: z.string().optional(),
  toolCallParser: z.enum(TOOL_CALL_PARSERS).optional(),
  reasoningParser: z.enum(REASONING_PARSERS).optional(),
});
const renderSchema = only<RenderOptions>({
  tools: z.array(z.unknown()).nullable().optional(),
  addGenerationPrompt: z.boolean().optional(),
});
const toolsSchema = renderSchema.pick({ tools: true });
const growSchema = only<GrowingReplyOptions>({
  thinks: z.boolean(),
  tools: z.boolean(),
  stop: z.array(z.string()),
});

/** Errors: PRL_RENDERER_UNKNOWN for a name, PRL_TOKENIZER. */
export async function loadRenderer(dir: string, options: RendererOptions = {}): Promise<Renderer> {
  checkOptions("PRL_TOKENIZER", "loadRenderer", rendererSchema, options);
  const { name = "auto" } = options;
  if (name !== "auto" && !Object.hasOwn(FAMILIES, name)) {
    const known = ["auto", ...Object.keys(FAMILIES)].join(", ");
    throw new PrlError("PRL_RENDERER_UNKNOWN", `no renderer is named ${JSON.stringify(name)}; there are ${known}`);
  }
  const [tokenizer, config] = await Promise.all([loadTokenizer(dir), readTokenizerConfig(dir)]);
  const given = options.chatTemplate;
  const own = given ?? config.chatTemplates.get("default") ?? null;
  const known = name === "auto" ? detectFamily(tokenizer, own) : FAMILIES[name];
  const family = withParsers(known.name === "default" ? genericFamily(tokenizer, own) : known, options);
  // Without any template `render` throws; plain texts need no template.
  const plain = own === null ? (family.template ?? undefined) : undefined;
  return createRenderer(tokenizer, family, given ?? plain, options);
}

/** The state that the parts of a renderer share. */
interface Form extends Omit<ReplyForm, "tokenizer"> {
  readonly tokenizer: Tokenizer;
  /** The token that closes an assistant's turn; null: the family has none. */
  readonly close: number | null;
  /** A new user message changes what stands before it. */
  readonly forgetsThinking: boolean;
  /** A conversation as text. */
  readonly text: (
    messages: readonly ChatMessage[],
    tools: readonly unknown[] | null,
    addGenerationPrompt: boolean,
  ) => string;
}

/** `chatTemplate`: undefined takes the tokenizer's own, chosen by the tools as transformers does. */
export function createRenderer(
  tokenizer: Tokenizer,
  family: Family,
  chatTemplate: string | undefined,
  options: RendererOptions & { showsSpecialTokens?: boolean } = {},
): Renderer {
  const { templateKwargs = {}, earlierThinking = "template", showsSpecialTokens = false } = options;
  const close = family.close === null ? null : tokenizer.tokenToId(family.close);
  const stopIds = stopIdsOf(tokenizer, family, close);
  const written: Form["text"] = (messages, tools, addGenerationPrompt) => {
    const common = { tools, addGenerationPrompt, templateKwargs };
    return tokenizer.chatText(messages, chatTemplate === undefined ? common : { ...common, chatTemplate });
  };
  const expected = argumentsFor((messages) => written(messages, null, false));
  const text: Form["text"] = (messages, ...how) => written(expected(messages), ...how);
  const forgetsThinking = family.forgetsThinking && earlierThinking === "template";
  const form: Form = { tokenizer, family, stopIds, close, forgetsThinking, text };
  const replyForm: ReplyForm = {
    family,
    stopIds,
    tokenizer: showsSpecialTokens ? withSpecialText(tokenizer) : tokenizer,
  };
  const whole = (what: string, messages: readonly ChatMessage[], asked: RenderOptions): string => {
    checkOptions("PRL_TEMPLATE", what, renderSchema, asked);
    const { tools = null, addGenerationPrompt = true } = asked;
    return text(messages, tools, addGenerationPrompt);
  };
  const toolsOf = (what: string, asked: Pick<RenderOptions, "tools">): readonly unknown[] | null => {
    checkOptions("PRL_TEMPLATE", what, toolsSchema, asked);
    return asked.tools ?? null;
  };
  return {
    name: family.name,
    thinksFirst: family.thinksFirst === true,
    stopTokenIds: [...stopIds],
    render: (messages, asked = {}) => tokenizer.encode(whole("render", messages, asked)),
    renderAsync: async (messages, asked = {}) => tokenizer.encodeAsync(whole("renderAsync", messages, asked)),
    withTemplateKwargs: (kwargs) =>
      createRenderer(tokenizer, family, chatTemplate, { ...options, templateKwargs: kwargs }),
    withSpecialTokens: () => createRenderer(tokenizer, family, chatTemplate, { ...options, showsSpecialTokens: true }),
    renderReply: (messages, reply, asked = {}) =>
      replyTokens(form, tokenizer.encode(replyText(form, messages, reply, toolsOf("renderReply", asked)))),
    renderReplyAsync: async (messages, reply, asked = {}) => {
      const tools = toolsOf("renderReplyAsync", asked);
      return replyTokens(form, await tokenizer.encodeAsync(replyText(form, messages, reply, tools)));
    },
    bridgeToNextTurn(promptIds, completionIds, newMessages, asked = {}) {
      const tools = toolsOf("bridgeToNextTurn", asked);
      const behind = bridgeText(form, { promptIds, completionIds, newMessages, tools });
      return behind === null ? null : bridged(form, promptIds, completionIds, tokenizer.encode(behind));
    },
    async bridgeToNextTurnAsync(promptIds, completionIds, newMessages, asked = {}) {
      const tools = toolsOf("bridgeToNextTurnAsync", asked);
      const behind = bridgeText(form, { promptIds, completionIds, newMessages, tools });
      return behind === null ? null : bridged(form, promptIds, completionIds, await tokenizer.encodeAsync(behind));
    },
    callBeginning: (name) => callBeginning(family, name),
    callGrammar: (name, tools) =>
      callGrammar({ toolCalls: family.toolCalls, closing: tokenizer.tokenToId("</tool_call>") }, name, tools),
    replyOpening: (messages, asked = {}) => replyOpening(form, messages, toolsOf("replyOpening", asked)),
    parse: (completionIds, stopped) => parseCompletion(replyForm, completionIds, stopped),
    grow(growing) {
      checkOptions("PRL_TOKENIZER", "grow", growSchema, growing);
      return new GrowingReply(replyForm, growing);
    },
  };
}

/** A tokenizer for which special tokens are text like others. */
function withSpecialText(tokenizer: Tokenizer): Codec {
  return {
    tokenToId: (token) => tokenizer.tokenToId(token),
    decode: (ids) => tokenizer.decode(ids),
    decodeStream: (options) => tokenizer.decodeStream({ ...options, skipSpecialTokens: false }),
  };
}

function stopIdsOf(tokenizer: Tokenizer, family: Family, close: number | null): ReadonlySet<number> {
  const ids = [close, ...family.stop.map((token) => tokenizer.tokenToId(token)), tokenizer.eosTokenId];
  return new Set(ids.filter((id) => id !== null));
}

/** Renders a reply behind the conversation by the template. */
function replyText(
  { text }: Form,
  messages: readonly ChatMessage[],
  reply: ChatMessage,
  tools: readonly unknown[] | null,
): string {
  const before = text(messages, tools, true);
  const after = text([...messages, reply], tools, false);
  if (!after.startsWith(before)) throw notLearnable("changes what stands before a reply");
  return after.slice(before.length);
}

/** The tokens of a reply up to the one that closes the turn. `ids`: those of `replyText`. */
function replyTokens({ stopIds }: Form, ids: Uint32Array): Uint32Array {
  const end = ids.findIndex((id) => stopIds.has(id));
  if (end < 0) throw notLearnable("writes no token that ends a reply");
  return ids.subarray(0, end + 1);
}

function notLearnable(reason: string): PrlError {
  return new PrlError("PRL_TEMPLATE", `the chat template ${reason}, so it cannot be learnt`);
}

interface Turn {
  readonly promptIds: Uint32Array;
  readonly completionIds: Uint32Array;
  readonly newMessages: readonly ChatMessage[];
  readonly tools: readonly unknown[] | null;
}

/** Renders the text between a reply and the beginning of the next assistant turn, its closing token included; null when the template does not say it exactly. */
function bridgeText(form: Form, { promptIds, completionIds, newMessages, tools }: Turn): string | null {
  const { close, forgetsThinking } = form;
  if (close === null || promptIds.length === 0 || newMessages.length === 0) return null;
  if (newMessages.some(({ role }) => role === "assistant" || (forgetsThinking && role === "user"))) return null;
  // A turn that another token ended, or that goes on behind its end, cannot come from the template.
  const stopped = stopOf(form, completionIds);
  const isExact = stopped < 0 || (completionIds[stopped] === close && stopped === completionIds.length - 1);
  return isExact ? continuation(form, newMessages, tools) : null;
}

/** `rest`: the tokens of `bridgeText`. Null where they do not begin with the token that closes a turn. */
function bridged(
  form: Form,
  promptIds: Uint32Array,
  completionIds: Uint32Array,
  rest: Uint32Array,
): Uint32Array | null {
  if (rest[0] !== form.close) return null;
  return joinedIds(promptIds, completionIds, stopOf(form, completionIds) < 0 ? rest : rest.subarray(1));
}

/** Index of the first token that ends a turn; -1 without one. */
function stopOf({ stopIds }: Form, completionIds: Uint32Array): number {
  return completionIds.findIndex((id) => stopIds.has(id));
}

/** The text behind a reply; null when it depends on the text before it. */
function continuation(form: Form, messages: readonly ChatMessage[], tools: readonly unknown[] | null): string | null {
  try {
    return behindStandIn(form, messages, tools);
  } catch (cause) {
    // A template may refuse a tool's answer behind a reply without a call, and take the conversation itself.
    if (cause instanceof PrlError && cause.code === "PRL_TEMPLATE") return null;
    throw cause;
  }
}

function behindStandIn(
  { text }: Form,
  messages: readonly ChatMessage[],
  tools: readonly unknown[] | null,
): string | null {
  const reply: ChatMessage = { role: "assistant", content: STAND_IN };
  const user = (content: string): ChatMessage => ({ role: "user", content });
  const before = [[user("a")], [user("b"), { role: "assistant", content: "c" }, user("d")]];
  const behind = before.map((start) => {
    const [, rest, more] = text([...start, reply, ...messages], tools, true).split(STAND_IN);
    return more === undefined ? rest : undefined;
  });
  const [rest, other] = behind;
  return rest === undefined || rest !== other ? null : rest;
}

function callBeginning({ toolCalls }: Family, name: string | null): string | null {
  if (toolCalls === null) return null;
  if (toolCalls === "xml") return `<tool_call>\n<function=${name === null ? "" : `${name}>\n`}`;
  const [open, key] = toolCalls === "tagged" ? ["<tool_call>\n", "arguments"] : ["", "parameters"];
  return `${open}{"name": "${name === null ? "" : `${name}", "${key}":`}`;
}

function replyOpening({ text }: Form, messages: readonly ChatMessage[], tools: readonly unknown[] | null): string {
  const [closed, open] = [text(messages, tools, false), text(messages, tools, true)];
  let same = 0;
  // A template may write an end of the conversation where no reply follows.
  while (same < closed.length && closed[same] === open[same]) same += 1;
  return open.slice(same - longestBeginning(open.slice(0, same), ["<think>", "</think>"]));
}
