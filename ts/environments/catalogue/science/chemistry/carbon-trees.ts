/** Carbon skeletons without rings, as trees, and their substituted forms, each once. */
import { at, range } from "../../lists.ts";

/** Neighbours of each carbon, and the substituents at it in alphabetical order. */
export interface Skeleton {
  readonly bonds: readonly (readonly number[])[];
  readonly labels: readonly string[];
}

const VALENCE = 4;
const known = new Map<string, readonly Skeleton[]>();

/** All different molecules of so many carbons with these one-bonded substituents; hydrogens fill the rest. */
export function molecules(carbons: number, substituents: readonly string[]): readonly Skeleton[] {
  const key = `${carbons} ${substituents.join(" ")}`;
  const found = known.get(key) ?? grown(carbons, substituents);
  known.set(key, found);
  return found;
}

function grown(carbons: number, substituents: readonly string[]): Skeleton[] {
  const last = substituents.at(-1);
  if (last !== undefined)
    return unique(
      molecules(carbons, substituents.slice(0, -1)).flatMap((one) =>
        range(carbons)
          .filter((carbon) => freeAt(one, carbon) > 0)
          .map((carbon) => ({
            ...one,
            labels: one.labels.map((label, index) =>
              index === carbon ? [...label.split(""), last].toSorted().join("") : label,
            ),
          })),
      ),
    );
  if (carbons === 1) return [{ bonds: [[]], labels: [""] }];
  return unique(
    molecules(carbons - 1, []).flatMap((one) =>
      range(carbons - 1)
        .filter((carbon) => freeAt(one, carbon) > 0)
        .map((carbon) => ({
          bonds: [...one.bonds.map((near, index) => (index === carbon ? [...near, carbons - 1] : near)), [carbon]],
          labels: [...one.labels, ""],
        })),
    ),
  );
}

/** Hydrogens at a carbon. */
export function freeAt({ bonds, labels }: Skeleton, carbon: number): number {
  return VALENCE - at(bonds, carbon).length - at(labels, carbon).length;
}

/** Carbons of the longest chain. */
export function longestChain({ bonds }: Skeleton): number {
  const depth = (carbon: number, from: number): number =>
    1 +
    Math.max(
      0,
      ...at(bonds, carbon)
        .filter((next) => next !== from)
        .map((next) => depth(next, carbon)),
    );
  return Math.max(...range(bonds.length).map((carbon) => depth(carbon, -1)));
}

function unique(all: readonly Skeleton[]): Skeleton[] {
  return [...new Map(all.map((one) => [canonical(one), one])).values()];
}

/** The least text among those that begin at any carbon. */
function canonical({ bonds, labels }: Skeleton): string {
  const text = (carbon: number, from: number): string =>
    `${at(labels, carbon)}(${at(bonds, carbon)
      .filter((next) => next !== from)
      .map((next) => text(next, carbon))
      .toSorted()
      .join("")})`;
  return range(bonds.length)
    .map((carbon) => text(carbon, -1))
    .reduce((a, b) => (b < a ? b : a));
}
