/** The pages of a hub, made when they are asked for, or written into a folder that any web server, or none, can show. */
import { atomicWriteFile } from "../../../../files/atomic-write.ts";
import { makeFolder } from "../../../../files/make-folder.ts";
import { dirname, join } from "node:path";

import { CATALOGUE_CATEGORIES } from "../../../catalogue/index.ts";
import type { HubIndex } from "../package-index.ts";
import { listingPage } from "./listing-page.ts";
import { packagePage } from "./package-page.ts";
import { LISTING_PATH, packagePath, pageOf, tasksPath } from "./paths.ts";
import { tasksPage } from "./tasks-page.ts";

export interface SiteOptions {
  readonly index: HubIndex;
  /** The hub's address as readers write it; null: it is not named. */
  readonly registry: string | null;
}

/**
 * The page at a path relative to the first page; null where there is none.
 *
 * @throws PrlError `PRL_IO`
 */
export async function sitePage(path: string, { index, registry }: SiteOptions): Promise<string | null> {
  const asked = pageOf(path);
  if (asked === null) return null;
  if (asked.kind === "listing") return listingPage(await index.environments());
  if (asked.kind === "tasks") {
    const category = CATALOGUE_CATEGORIES.find((each) => each === asked.name);
    return category === undefined ? null : tasksPage(category);
  }
  const record = await index.environment(asked.name);
  return record === null ? null : packagePage(record, registry);
}

/**
 * Writes every page below a folder. Returns how many.
 *
 * @throws PrlError `PRL_IO`
 */
export async function writeSite(folder: string, options: SiteOptions): Promise<number> {
  const packages = await options.index.environments();
  const paths = [
    LISTING_PATH,
    ...CATALOGUE_CATEGORIES.map(tasksPath),
    ...packages.map(({ name }) => packagePath(name)),
  ];
  for (const path of paths) {
    const page = await sitePage(path, options);
    if (page === null) continue; // It was unpublished since the list was made.
    const file = join(folder, path);
    makeFolder(dirname(file));
    await atomicWriteFile(file, page);
  }
  return paths.length;
}
