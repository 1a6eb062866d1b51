/** The generated tasks of one category by family, each with a sample and its gold answer. */
import { html, type Html } from "../../../../html.ts";
import { createRng } from "../../../../random/rng.ts";
import { catalogueRows } from "../../../catalogue/index.ts";
import { drawInstance } from "../../../catalogue/drawn.ts";
import { idOf, type PlacedRow } from "../../../catalogue/row-environment.ts";
import { type Category, isWorldRow } from "../../../catalogue/row.ts";
import { documentText } from "./document.ts";
import { homeFrom, taskAnchor, tasksPath } from "./paths.ts";

const LEVEL = 2;
const LONGEST = 4_000;

export async function tasksPage(category: Category): Promise<string> {
  const rows = await catalogueRows([category]);
  const families = [...new Set(rows.map(({ family }) => family))];
  const body = html`<h1>Generated tasks: ${category}</h1>
    <p>
      ${rows.length} tasks without end, each with five levels of difficulty. A sample of level ${LEVEL} stands under
      each.
    </p>
    <pre>
env = { id = "${rows[0] === undefined ? category : idOf(rows[0])}", args = { level = [1, 3] } }
env = { id = "catalogue/${category}", args = { level = ${LEVEL} } }</pre>
    ${families.map((family) =>
      familyHtml(
        family,
        rows.filter((placed) => placed.family === family),
      ),
    )}`;
  return documentText({ title: `Generated tasks: ${category}`, home: homeFrom(tasksPath(category)), body });
}

function familyHtml(family: string, rows: readonly PlacedRow[]): Html {
  return html`<h2 id="family-${family}">${family.replaceAll("-", " ")}</h2>
    ${rows.map(taskHtml)}`;
}

function taskHtml(placed: PlacedRow): Html {
  const { row } = placed;
  const { prompt, instance } = drawInstance(row, LEVEL, createRng(0));
  const gold = isWorldRow(row)
    ? row
        .gold(instance)
        .map(({ tool, args }) => `${tool} ${JSON.stringify(args)}`)
        .join("\n")
    : row.gold(instance);
  return html`<details id="${taskAnchor(placed)}">
    <summary><b>${idOf(placed)}</b> ${row.asks}</summary>
    <pre>${cut(prompt)}</pre>
    <p class="small">${isWorldRow(row) ? "Calls that earn 1" : "An answer that earns 1"}</p>
    <pre>${cut(gold)}</pre>
  </details> `;
}

function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}... (${text.length - LONGEST} more characters)` : text;
}
