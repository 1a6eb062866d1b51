/** distance-tree: the unrooted tree of species from a table of additive distances, where rates of evolution differ. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";

/** A leaf by its number, or a list of subtrees. */
type Tree = number | Tree[];

interface Instance {
  taxa: string[];
  distances: number[][];
  tree: Tree;
}

/** By level: species, largest deviation of a distance from the tree. */
const KNOBS = [
  [4, 0],
  [5, 0],
  [6, 0],
  [7, 0],
  [9, 1],
] as const;
/** With deviations of 1, inner branches of 6 or more still decide every group of four. */
const SHORTEST_INNER = 6;
const LETTERS = ["A", "B", "C", "D", "E", "F", "G", "H", "J"];

export const distanceTree = defineRow<Instance>({
  id: "distance-tree",
  asks: "the unrooted tree of species from their distances, where the nearest pair is no pair of neighbours",
  place: "answer",
  make,
  effort: ({ taxa }) => taxa.length ** 3,
  canonical: ({ distances }) => distances,
  prompts: [
    (one) =>
      `Distances between species:\n${table(one)}\nThey follow from a tree without a root: a distance is the length of the path between two leaves${noise(one)}. Branches may have any positive length, so there is no clock. ${format(one)}`,
    (one) =>
      `Reconstruct the unrooted binary tree whose path lengths are these numbers${noise(one)}. Some lineages evolved much faster than others; the two most similar species need not be next of kin.\n${table(one)}\n${format(one)}`,
    (one) =>
      `${format(one)}\nFind the tree of the following species from their path distances${noise(one)}; rates differ among branches.\n${table(one)}`,
    (one) =>
      `Which species are grouped together? The matrix has the sums of branch lengths along paths in a tree with three branches at every inner node${noise(one)}:\n${table(one)}\nUnequal rates mean that clustering by the smallest distance fails. ${format(one)}`,
  ],
  gold: ({ tree, taxa }) => written(tree, taxa),
  nearMisses: ({ tree, taxa }, rng) => missesOf(tree, taxa, rng),
  variants: ({ tree, taxa }) => [
    `${written(turned(tree), taxa)};`,
    written(turned(tree), taxa).replaceAll(",", ", ").toLowerCase(),
  ],
  score: ({ tree, taxa }, answer) => {
    const stated = parsed(answer, taxa);
    if (stated === null) return 0;
    const [gold, own] = [splitsOf(tree, taxa.length), splitsOf(stated, taxa.length)];
    return gold.size === own.size && [...gold].every((split) => own.has(split)) ? 1 : 0;
  },
});

function make(rng: Rng, level: Level): Instance | null {
  const [count, deviation] = at(KNOBS, level - 1);
  const taxa = LETTERS.slice(0, count);
  // Subtrees with the distance of each leaf from the open end of the subtree.
  let parts = shuffled(range(count), rng).map((leaf): { tree: Tree; leaves: [number, number][] } => ({
    tree: leaf,
    leaves: [[leaf, between(rng, 2, 40)]],
  }));
  const distances = taxa.map(() => taxa.map(() => 0));
  const join = (some: readonly (typeof parts)[number][]): void => {
    for (const [index, one] of some.entries())
      for (const other of some.slice(index + 1))
        for (const [a, x] of one.leaves)
          for (const [b, y] of other.leaves) at(distances, a)[b] = at(distances, b)[a] = x + y;
  };
  while (parts.length > 3) {
    const [one, other, ...rest] = shuffled(parts, rng);
    if (one === undefined || other === undefined) return null;
    join([one, other]);
    const branch = between(rng, SHORTEST_INNER, 15);
    const leaves = [...one.leaves, ...other.leaves].map(([leaf, far]): [number, number] => [leaf, far + branch]);
    parts = [...rest, { tree: [one.tree, other.tree], leaves }];
  }
  join(parts);
  for (const a of range(count))
    for (const b of range(a))
      at(distances, a)[b] = at(distances, b)[a] = at(at(distances, a), b) + between(rng, -deviation, deviation);
  const tree = parts.map((part) => part.tree);
  return isMisleading(distances, tree, count) ? { taxa, distances, tree } : null;
}

/** The nearest pair is no pair of neighbours in the tree, so the smallest distance leads astray. */
function isMisleading(distances: readonly (readonly number[])[], tree: Tree, count: number): boolean {
  const pairs = range(count).flatMap((a) => range(a).map((b): [number, number] => [b, a]));
  const nearest = Math.min(...pairs.map(([a, b]) => at(at(distances, a), b)));
  const splits = splitsOf(tree, count);
  return pairs
    .filter(([a, b]) => at(at(distances, a), b) === nearest)
    .every((pair) => {
      const rest = range(count).filter((leaf) => !pair.includes(leaf));
      return !splits.has(pair.join()) && !splits.has(rest.join());
    });
}

/** Every inner branch as the side without leaf 0. */
function splitsOf(tree: Tree, count: number): Set<string> {
  const splits = new Set<string>();
  const walk = (node: Tree): number[] => {
    const leaves = typeof node === "number" ? [node] : node.flatMap(walk);
    const side = leaves.includes(0) ? range(count).filter((leaf) => !leaves.includes(leaf)) : leaves;
    if (side.length > 1 && side.length < count - 1) splits.add(side.toSorted((a, b) => a - b).join());
    return leaves;
  };
  walk(tree);
  return splits;
}

function written(tree: Tree, taxa: readonly string[]): string {
  return typeof tree === "number" ? at(taxa, tree) : `(${tree.map((part) => written(part, taxa)).join(",")})`;
}

/** The same tree, written from the other end and with a root on a branch. */
function turned(tree: Tree): Tree {
  if (typeof tree === "number") return tree;
  const parts = tree.map(turned).toReversed();
  return parts.length === 3 ? [at(parts, 0), [at(parts, 1), at(parts, 2)]] : parts;
}

/** Null unless every species stands in it once. Bounded by the number of species. */
function parsed(text: string, taxa: readonly string[]): Tree | null {
  const bare = text.replaceAll(/[\s;]/gu, "").toUpperCase();
  if (bare.length > 8 * taxa.length) return null;
  const seen = new Set<number>();
  let place = 0;
  const node = (): Tree | null => {
    if (bare[place] !== "(") {
      const leaf = taxa.indexOf(bare[place] ?? "");
      if (leaf < 0 || seen.has(leaf)) return null;
      seen.add(leaf);
      place += 1;
      return leaf;
    }
    const parts: Tree[] = [];
    do {
      place += 1;
      const part = node();
      if (part === null) return null;
      parts.push(part);
    } while (bare[place] === ",");
    if (bare[place] !== ")" || parts.length < 2) return null;
    place += 1;
    return parts;
  };
  const tree = node();
  return tree === null || place < bare.length || seen.size < taxa.length ? null : tree;
}

function missesOf(tree: Tree, taxa: readonly string[], rng: Rng): string[] {
  const gold = splitsOf(tree, taxa.length);
  const misses = new Set<string>();
  for (let tries = 0; tries < 60 && misses.size < 4; tries++) {
    const [a = 0, b = 1] = shuffled(range(taxa.length), rng);
    const swap = (node: Tree): Tree =>
      typeof node === "number" ? (node === a ? b : node === b ? a : node) : node.map(swap);
    const other = swap(tree);
    if ([...splitsOf(other, taxa.length)].some((split) => !gold.has(split))) misses.add(written(other, taxa));
  }
  return [
    ...misses,
    `(${taxa.join(",")})`,
    taxa.slice(2).reduce((text, leaf) => `(${text},${leaf})`, `(${taxa[0]},${taxa[0]})`),
  ];
}

function noise({ taxa }: Instance): string {
  return taxa.length === 9 ? ", up to rounding errors of at most 1" : "";
}

function table({ taxa, distances }: Instance): string {
  return ["  ", ...taxa.slice(0, -1)].join("  ").concat(
    ...taxa.slice(1).map(
      (name, index) =>
        `\n${name}: ${at(distances, index + 1)
          .slice(0, index + 1)
          .join(", ")}`,
    ),
  );
}

function format({ taxa }: Instance): string {
  return `Write the tree with nested brackets and commas over the letters ${taxa.join(", ")}, without branch lengths, as in (X,Y,(Z,W)); order and the place of the root do not matter. Only a tree in which every inner branch is right counts.`;
}
