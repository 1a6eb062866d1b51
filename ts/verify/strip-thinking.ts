/** The part of a reply behind its thinking. */
import { z } from "zod";

import { checkOptions, only } from "../options.ts";

export interface StripThinkingOptions {
  /** True: without a closing tag the reply is "". False: the text then stays the same. Default true. */
  strict?: boolean;
}

const optionsSchema = only<StripThinkingOptions>({ strict: z.boolean().optional() });

/** The text behind the last `</think>`, without surrounding space. Errors: PRL_VERIFY_OPTIONS for an unknown option. */
export function stripThinking(text: string, options: StripThinkingOptions = {}): string {
  checkOptions("PRL_VERIFY_OPTIONS", "stripThinking", optionsSchema, options);
  const { strict = true } = options;
  const close = text.lastIndexOf("</think>");
  if (close >= 0) return text.slice(close + "</think>".length).trim();
  return strict ? "" : text;
}
