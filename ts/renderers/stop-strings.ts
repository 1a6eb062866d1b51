/** A stop string ends a reply and is no part of it. */

/** The reply without the stop string that ended it and what its last token says behind that; as it is where none did. */
export function withoutStop<Reply extends { readonly content: string; readonly reasoning: string | null }>(
  reply: Reply,
  stopReason: number | string | null = null,
): Reply {
  if (typeof stopReason !== "string") return reply;
  const { content, reasoning } = reply;
  return content === "" && reasoning !== null
    ? { ...reply, reasoning: cut(reasoning, stopReason) }
    : { ...reply, content: cut(content, stopReason) };
}

function cut(text: string, stop: string): string {
  const at = text.lastIndexOf(stop);
  if (at >= 0) return text.slice(0, at).trimEnd();
  // Blanks at the end of a reply are left out, those of a stop string too.
  const rest = stop.trimEnd();
  return rest !== "" && text.endsWith(rest) ? text.slice(0, -rest.length).trimEnd() : text;
}
