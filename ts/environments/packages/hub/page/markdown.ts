/**
 * READMEs of packages as HTML. They are foreign text: HTML in them is shown as text, and only links that markdown-it takes for safe become links
 * (no `javascript:`, no `data:` but images). Without scripts the worst that is left is a picture from another host, which the page forbids.
 */
import { Html } from "../../../../html.ts";

/** Longer READMEs are cut. */
const LONGEST = 100_000;

export async function markdownHtml(text: string): Promise<Html> {
  const { default: MarkdownIt } = await import("markdown-it");
  const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}\n\n(cut)` : text;
  return new Html(new MarkdownIt({ html: false, linkify: true }).render(cut));
}
