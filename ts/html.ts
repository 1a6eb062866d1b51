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

export interface Page {
  readonly title: string;
  /** CSS of the page. */
  readonly style: string;
  /** Its content security policy: what it may load and run. A page that needs nothing beside it can be saved, sent and hosted anywhere. */
  readonly policy: string;
  readonly body: Html;
}

/** A whole document of one file. */
export function pageText({ title, style, policy, body }: Page): string {
  const { text } = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <meta http-equiv="Content-Security-Policy" content="${policy}" />
        <title>${title}</title>
        <style>
          ${new Html(style)}
        </style>
      </head>
      <body>
        ${body}
      </body>
    </html>`;
  return `${text}\n`;
}

export function escapeHtml(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}

function textOf(value: HtmlValue = ""): string {
  if (value instanceof Html) return value.text;
  if (typeof value === "string" || typeof value === "number") return escapeHtml(String(value));
  return value.map(({ text }) => text).join("");
}
