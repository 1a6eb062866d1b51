/**
 * Chat templates: turns messages into text with the model's Jinja template, as transformers' `apply_chat_template` does.
 *
 * `{% generation %}` spans (the assistant's text) become character ranges of the text: the template is rendered a second
 * time with sentinels around each block, the sentinels are cut out, and the rest must equal the plain text. This module knows nothing of
 * tokens.
 */
import { PrlError } from "../errors.ts";
import { type GenerationMarks, Template, TemplateFailure, TemplateUnsupported } from "../jinja/index.ts";

/** A message of a conversation; templates may read further keys. */
export interface ChatMessage {
  role: string;
  content?: unknown;
  [key: string]: unknown;
}

export interface RenderOptions {
  /** JSON schemas of functions that the model may call. */
  tools?: readonly unknown[] | null;
  /** End with the beginning of an assistant turn. Default false. */
  addGenerationPrompt?: boolean;
  /** Additional variables for the template, `{ enable_thinking: false }`. They win over the special tokens. */
  templateKwargs?: Readonly<Record<string, unknown>>;
  /** Special tokens by key (`eos_token`, ...). */
  specialTokens?: Readonly<Record<string, string>>;
  /** Name of the template in error messages. Default `the chat template`. */
  templateName?: string;
}

/** A half-open range of UTF-16 units. */
export interface TextSpan {
  start: number;
  end: number;
}

/** Two private-use characters around a digit, which no tokenizer, template or normal message has. */
const SPAN_START = "\uE0F1\uF8E10\uE0F1";
const SPAN_END = "\uE0F1\uF8E11\uE0F1";
const MARKS: GenerationMarks = { start: SPAN_START, end: SPAN_END };

const MAX_COMPILED = 64;
const compiled = new Map<string, Template>();

/** Renders a conversation. Errors: PRL_TEMPLATE, also for a template's own `raise_exception`; PRL_TEMPLATE_UNSUPPORTED. */
export function renderChat(template: string, messages: readonly ChatMessage[], options: RenderOptions = {}): string {
  return render(template, messages, options, null);
}

function render(
  template: string,
  messages: readonly ChatMessage[],
  options: RenderOptions,
  marks: GenerationMarks | null,
): string {
  if (!Array.isArray(messages)) {
    throw new PrlError("PRL_TEMPLATE", "messages must be a list of { role, content } objects");
  }
  try {
    const variables = {
      ...options.specialTokens,
      documents: null,
      ...options.templateKwargs,
      messages,
      tools: options.tools ?? null,
      add_generation_prompt: options.addGenerationPrompt ?? false,
    };
    return compile(template).render(variables, marks === null ? {} : { marks });
  } catch (cause) {
    const { templateName = "the chat template" } = options;
    if (cause instanceof TemplateUnsupported) {
      const cure = "rewrite that part of the template";
      throw new PrlError("PRL_TEMPLATE_UNSUPPORTED", `${templateName}, ${cause.message}: ${cure}`, { cause });
    }
    if (!(cause instanceof TemplateFailure)) throw cause;
    throw new PrlError("PRL_TEMPLATE", `${templateName} failed: ${cause.message}`, { cause });
  }
}

/** Renders a conversation and finds the text of its `{% generation %}` blocks. */
export function renderChatWithSpans(
  template: string,
  messages: readonly ChatMessage[],
  options: RenderOptions = {},
): { text: string; spans: TextSpan[] } {
  const text = renderChat(template, messages, options);
  if (!compile(template).hasGeneration) {
    const cure = "give a chatTemplate that has them";
    throw new PrlError(
      "PRL_TEMPLATE",
      `the template has no {% generation %} blocks, which assistantMask needs: ${cure}`,
    );
  }
  if (text.includes(SPAN_START) || text.includes(SPAN_END)) {
    throw new PrlError("PRL_TEMPLATE", "the messages contain the private-use characters that assistantMask works with");
  }
  const marked = render(template, messages, options, MARKS);
  const { text: unmarked, spans } = cutSentinels(marked);
  if (unmarked !== text) {
    const why = "its {% generation %} blocks change the text around them";
    throw new PrlError("PRL_TEMPLATE", `assistantMask cannot be found for this template: ${why}`);
  }
  return { text, spans };
}

function cutSentinels(marked: string): { text: string; spans: TextSpan[] } {
  const spans: TextSpan[] = [];
  let text = "";
  let start = -1;
  for (const part of marked.split(new RegExp(`(${SPAN_START}|${SPAN_END})`))) {
    if (part === SPAN_START) {
      start = text.length;
    } else if (part === SPAN_END) {
      if (start >= 0 && text.length > start) spans.push({ start, end: text.length });
      start = -1;
    } else {
      text += part;
    }
  }
  return { text, spans };
}

function compile(source: string): Template {
  const known = compiled.get(source);
  if (known !== undefined) return known;
  const template = new Template(source);
  if (compiled.size >= MAX_COMPILED) compiled.clear();
  compiled.set(source, template);
  return template;
}
