/** The generated tasks of one category by family, each with a sample and its gold answer. */
import { html, type Html } from "../../../../html.ts";
import { createRng } from "../../../../random/rng.ts";
import { catalogueRows } from "../../../catalogue/index.ts";
import { drawInstance } from "../../../catalogue/drawn.ts";
import { idOf, type PlacedRow } from "../../../catalogue/row-environment.ts";
import { type AnyRow, type Category, isBoxRow, isWorldRow } from "../../../catalogue/row.ts";
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
  const { text: gold, is } = goldOf(row, instance);
  return html`<details id="${taskAnchor(placed)}">
    <summary><b>${idOf(placed)}</b> ${row.asks}</summary>
    <pre>${cut(prompt)}</pre>
    <p class="small">${is}</p>
    <pre>${cut(gold)}</pre>
  </details> `;
}

function goldOf(row: AnyRow, instance: object): { text: string; is: string } {
  if (isBoxRow(row)) {
    const commands = row.gold(instance).map(({ command }) => command);
    return { text: commands.join("\n"), is: "Commands that earn 1" };
  }
  if (!isWorldRow(row)) return { text: row.gold(instance), is: "An answer that earns 1" };
  const calls = row.gold(instance).map(({ tool, args }) => `${tool} ${JSON.stringify(args)}`);
  return { text: calls.join("\n"), is: "Calls that earn 1" };
}

function cut(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}... (${text.length - LONGEST} more characters)` : text;
}
