/** The style and the tables of the pages of evaluations. */
import { html, pageText, type Html } from "../../html.ts";

const STYLE = `
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}
table{border-collapse:collapse;display:block;overflow-x:auto}
th,td{padding:.3rem .8rem;border-bottom:1px solid #8884;text-align:right}th:first-child,td:first-child{text-align:left}
pre{background:#8882;padding:.6rem 1rem;overflow-x:auto;border-radius:6px;white-space:pre-wrap}
details{border-bottom:1px solid #8884;padding:.3rem 0}summary{cursor:pointer}.small{font-size:.85em;opacity:.75}
`;
const POLICY = "default-src 'none'; style-src 'unsafe-inline'";

/** The page of an evaluation: one file, which needs nothing beside it and runs nothing. */
export function resultsText(title: string, body: Html): string {
  return pageText({ title, style: STYLE, policy: POLICY, body });
}

export function table(header: readonly string[], rows: readonly (readonly string[])[]): Html {
  return html`<table>
    <thead>
      <tr>
        ${header.map((cell) => html`<th>${cell}</th>`)}
      </tr>
    </thead>
    <tbody>
      ${rows.map(
        (cells) =>
          html`<tr>
            ${cells.map((cell) => html`<td>${cell}</td>`)}
          </tr>`,
      )}
    </tbody>
  </table>`;
}
