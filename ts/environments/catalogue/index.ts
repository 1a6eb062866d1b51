/**
 * The catalogue of generated tasks: finds a row by its id (`logic/keyed-maze-route`), and a mixture by its (`catalogue/logic`,
 * `catalogue/all`). A category is loaded at its first use.
 */
import { nearest } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import type { Environment } from "../model/environment.ts";
import type { PlacedRow } from "./row-environment.ts";
import type { AnyRow, Category, Family } from "./row.ts";

/** The categories that have families. */
const FOLDERS: ReadonlyMap<Category, () => Promise<{ readonly FAMILIES: readonly Family<AnyRow>[] }>> = new Map([
  ["math", () => import("./math/index.ts")],
  ["code", () => import("./code/index.ts")],
  ["logic", () => import("./logic/index.ts")],
  ["science", () => import("./science/index.ts")],
  ["research", () => import("./research/index.ts")],
  ["agentic", () => import("./agentic/index.ts")],
  ["instructions", () => import("./instructions/index.ts")],
]);

/** Owner of the mixtures' ids. */
const MIXTURES = "catalogue";
/** The mixture of every category. */
const ALL = "all";

export const CATALOGUE_CATEGORIES: readonly Category[] = [...FOLDERS.keys()];

/** Whether an id belongs to the catalogue: packages cannot have these owners. */
export function isCatalogueId(id: string): boolean {
  const owner = /^([a-z]+)\/./u.exec(id)?.[1] ?? "";
  return owner === MIXTURES || CATALOGUE_CATEGORIES.some((category) => category === owner);
}

/** The rows of some categories, in the order of the catalogue; of all of them by default. */
export async function catalogueRows(categories: readonly Category[] = CATALOGUE_CATEGORIES): Promise<PlacedRow[]> {
  const loaded = categories.map(async (category) => {
    const families = (await FOLDERS.get(category)?.())?.FAMILIES ?? [];
    return families.flatMap(({ id: family, rows }) => rows.map((row): PlacedRow => ({ category, family, row })));
  });
  return (await Promise.all(loaded)).flat();
}

/** The environment of a row or a mixture. Throws PRL_ENVIRONMENT_UNKNOWN. */
export async function catalogueEnvironment(id: string): Promise<Environment> {
  const { familyEnvironment, idOf, mixtureEnvironment } = await import("./row-environment.ts");
  const [owner = "", name = ""] = id.split("/");
  if (owner === MIXTURES) {
    const category = CATALOGUE_CATEGORIES.find((one) => one === name);
    if (category === undefined && name !== ALL)
      throw unknown(
        id,
        [...CATALOGUE_CATEGORIES, ALL].map((one) => `${MIXTURES}/${one}`),
      );
    return mixtureEnvironment(id, await catalogueRows(category === undefined ? undefined : [category]));
  }
  const rows = await catalogueRows(CATALOGUE_CATEGORIES.filter((category) => category === owner));
  const placed = rows.find((row) => idOf(row) === id);
  if (placed === undefined) throw unknown(id, rows.map(idOf));
  return familyEnvironment(placed);
}

function unknown(id: string, names: readonly string[]): PrlError {
  const near = nearest(id, [...names]);
  const advice = near === null ? "prl env list --catalogue has them all" : `did you mean "${near}"?`;
  return new PrlError("PRL_ENVIRONMENT_UNKNOWN", `the catalogue has no task with the id "${id}"; ${advice}`);
}
