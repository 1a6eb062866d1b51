/** Where the pages of a hub are, relative to its first page. Links name files, so that they hold in a folder without a server, too. */
import type { PlacedRow } from "../../../catalogue/row-environment.ts";

export const LISTING_PATH = "index.html";

export function packagePath(name: string): string {
  return `environments/${name}/index.html`;
}

export function tasksPath(category: string): string {
  return `tasks/${category}/index.html`;
}

export function taskAnchor({ row }: PlacedRow): string {
  return row.id;
}

/** From a page to the first one. */
export function homeFrom(path: string): string {
  return `${"../".repeat(path.split("/").length - 1)}${LISTING_PATH}`;
}

/** Reads the thing that a path names: a package, a category, or null. */
export function pageOf(path: string): { kind: "listing" } | { kind: "package" | "tasks"; name: string } | null {
  if (path === LISTING_PATH || path === "") return { kind: "listing" };
  const [, folder, name] = /^(environments|tasks)\/((?:@[^/]+\/)?[^/]+)\/(?:index\.html)?$/u.exec(path) ?? [];
  if (name === undefined) return null;
  return { kind: folder === "tasks" ? "tasks" : "package", name };
}
