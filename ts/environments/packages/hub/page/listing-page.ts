/** The first page of a hub: its environments, those that come with prl, and the generated tasks, with a search over all. */
import { html, type Html } from "../../../../html.ts";
import { BUILTIN } from "../../../builtin/index.ts";
import { catalogueRows } from "../../../catalogue/index.ts";
import { idOf, type PlacedRow } from "../../../catalogue/row-environment.ts";
import { ENVIRONMENT_KEYWORD } from "../../environment-package.ts";
import type { IndexedPackage } from "../package-index.ts";
import { badge } from "./badge.ts";
import { documentText } from "./document.ts";
import { packagePath, taskAnchor, tasksPath } from "./paths.ts";

/** Keywords that are offered as buttons: the most frequent ones. */
const MOST_KEYWORDS = 24;

interface Item {
  readonly name: string;
  /** Relative to this page; null: there is no page of it. */
  readonly href: string | null;
  readonly description: string;
  readonly keywords: readonly string[];
  readonly notes: readonly Html[];
}

export async function listingPage(packages: readonly IndexedPackage[]): Promise<string> {
  const rows = await catalogueRows();
  const parts: readonly (readonly [string, readonly Item[]])[] = [
    ["Environments of this hub", packages.map(packageItem)],
    ["Environments that come with prl", [...BUILTIN].map(([id, { description }]) => builtinItem(id, description))],
    ["Generated tasks", rows.map(taskItem)],
  ];
  const items = parts.flatMap(([, list]) => list);
  const body = html`<h1>Environments</h1>
    <p>
      <input id="search" type="search" placeholder="Search names, descriptions and keywords" aria-label="Search" />
      <span id="count" class="small">${items.length}</span>
    </p>
    <p>
      ${frequentKeywords(items).map(([keyword, count]) => html`<button data-keyword="${keyword}" aria-pressed="false">${keyword} ${count}</button>`)}
    </p>
    ${parts.map(([title, list]) => section(title, list))}`;
  return documentText({ title: "Environments", home: null, body });
}

function packageItem({ name, version, description, keywords, checks }: IndexedPackage): Item {
  const named = keywords.filter((keyword) => keyword !== ENVIRONMENT_KEYWORD);
  const notes = [html`<span class="small">${version}</span>`, badge(checks)];
  return { name: name.replace(/^@/u, ""), href: packagePath(name), description, keywords: named, notes };
}

function builtinItem(id: string, description: string): Item {
  return { name: id, href: null, description, keywords: ["built-in"], notes: [] };
}

function taskItem(placed: PlacedRow): Item {
  const { category, family, row } = placed;
  const href = `${tasksPath(category)}#${taskAnchor(placed)}`;
  return { name: idOf(placed), href, description: row.asks, keywords: [category, family], notes: [] };
}

function section(title: string, items: readonly Item[]): Html {
  const list =
    items.length === 0
      ? html`<p class="none">none yet: prl env push</p>`
      : html`<ul>
          ${items.map(itemHtml)}
        </ul>`;
  return html`<section>
    <h2>${title} <span class="small">${items.length}</span></h2>
    ${list}
  </section> `;
}

function itemHtml({ name, href, description, keywords, notes }: Item): Html {
  const title = href === null ? html`<b>${name}</b>` : html`<a href="${href}"><b>${name}</b></a>`;
  const text = [name, description, ...keywords].join(" ").toLowerCase();
  const joined = keywords.map((keyword) => keyword.toLowerCase().replaceAll(/\s+/gu, "-")).join(" ");
  return html`<li data-text="${text}" data-keywords="${joined}">
    ${title} ${notes.flatMap((note) => [note, html``])}<br />${description}
  </li> `;
}

function frequentKeywords(items: readonly Item[]): (readonly [string, number])[] {
  const counts = new Map<string, number>();
  for (const keyword of items.flatMap(({ keywords }) => keywords)) {
    const word = keyword.toLowerCase().replaceAll(/\s+/gu, "-");
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].toSorted(([a, most], [b, count]) => count - most || (a < b ? -1 : 1)).slice(0, MOST_KEYWORDS);
}
