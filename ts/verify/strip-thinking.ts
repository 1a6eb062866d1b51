/** What stands behind a reply's thinking. */
import { z } from "zod";

import { checkOptions, only } from "../options.ts";

export interface StripThinkingOptions {
  /** Without a closing tag there is no reply: "". Else the text stays as it is. Default true. */
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
