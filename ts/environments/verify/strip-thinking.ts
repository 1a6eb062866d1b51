/** What stands behind a reply's thinking. */

export interface StripThinkingOptions {
  /** Without a closing tag there is no reply: "". Else the text stays as it is. Default true. */
  strict?: boolean;
}

/** The text behind the last `</think>`, without surrounding space. */
export function stripThinking(text: string, { strict = true }: StripThinkingOptions = {}): string {
  const close = text.lastIndexOf("</think>");
  if (close >= 0) return text.slice(close + "</think>".length).trim();
  return strict ? "" : text;
}
