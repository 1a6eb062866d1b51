/** HTML from template literals: every value is escaped, except what is HTML already. */

/** Text that is HTML. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

type HtmlValue = string | number | Html | readonly Html[];

/** `html\`<p>${text}</p>\``: the values are escaped for the content of an element and for a quoted attribute. */
export function html(parts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(parts.map((part, at) => (at === 0 ? part : `${textOf(values[at - 1])}${part}`)).join(""));
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

function textOf(value: HtmlValue = ""): string {
  if (value instanceof Html) return value.text;
  if (typeof value === "string" || typeof value === "number") return escapeHtml(String(value));
  return value.map(({ text }) => text).join("");
}
