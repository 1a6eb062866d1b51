/** tree-change-count: the least number of changes of characters on a tree, with stated costs, and the states that its root may have. */
import { between, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

type Tree = number | [Tree, Tree];

interface Given {
  tree: Tree;
  /** `leaves[l]`: states of the species, one for each character. */
  leaves: string[];
  /** Cost of a change inside A-G and C-T, and of any other change. */
  costs: [number, number];
}

/** By level: species, characters, whether changes have two costs. */
const SIZES = [
  [5, 1, false],
  [6, 2, false],
  [8, 2, true],
  [11, 3, true],
  [15, 4, true],
] as const;
const STATES = ["A", "C", "G", "T"];

export const treeChangeCount = fieldRow<Given>({
  id: "tree-change-count",
  asks: "the least cost of changes of characters on a given tree and the states that the root may have",
  draw,
  solve,
  values: ({ leaves }) =>
    range(at(leaves, 0).length)
      .map(
        (one) =>
          `cost${one + 1} is the least total cost for site ${one + 1} and root${one + 1} lists all states of the root in histories of that cost`,
      )
      .join("; "),
  wordings: [
    (one) => `${species(one)}\n\nTheir tree, in brackets: ${treeText(one.tree)}\n\n${rule(one)}`,
    (one) =>
      `${rule(one)}\n\nTree: ${treeText(one.tree)}\nSequences:\n${species(one)}\n\nFind the cheapest histories of all sites.`,
    (one) => `Parsimony on the fixed tree ${treeText(one.tree)}. ${rule(one)} The data are\n${species(one)}`,
    (one) =>
      `Biologists compare homologous sites of ${one.leaves.length} species.\n${species(one)}\nThe branching order is known: ${treeText(one.tree)}. ${rule(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, sites, hasTwo] = at(SIZES, level - 1);
  const parts: Tree[] = shuffled(range(count), rng);
  while (parts.length > 1) {
    const [a = 0] = parts.splice(rng.integer(parts.length), 1);
    const [b = 0] = parts.splice(rng.integer(parts.length), 1);
    parts.push([a, b]);
  }
  const leaves = range(count).map(() =>
    range(sites)
      .map(() => rng.pick(STATES))
      .join(""),
  );
  const low = between(rng, 1, 3);
  return { tree: at(parts, 0), leaves, costs: hasTwo ? [low, low + between(rng, 1, 4)] : [1, 1] };
}

/** Least cost below a node for each of its states (Sankoff). */
function costsOf(tree: Tree, stateOf: (leaf: number) => string, price: (a: string, b: string) => number): number[] {
  if (typeof tree === "number") return STATES.map((state) => (state === stateOf(tree) ? 0 : Infinity));
  const parts = tree.map((part) => costsOf(part, stateOf, price));
  return STATES.map((state) =>
    parts.reduce(
      (sum, costs) => sum + Math.min(...costs.map((cost, other) => cost + price(state, at(STATES, other)))),
      0,
    ),
  );
}

function solve({ tree, leaves, costs: [near, far] }: Given): Solution | null {
  const sites = range(at(leaves, 0).length);
  const price = (a: string, b: string): number =>
    a === b ? 0 : Math.abs(STATES.indexOf(a) - STATES.indexOf(b)) === 2 ? near : far;
  const results = sites.map((site) => {
    const costs = costsOf(tree, (leaf) => at(leaves, leaf).charAt(site), price);
    const least = Math.min(...costs);
    return { least, states: STATES.filter((_, state) => costs[state] === least) };
  });
  const values = results.flatMap(({ least, states }) => [String(least), marked(states)]);
  const naive = sites.flatMap((site) => {
    const held = leaves.map((leaf) => leaf.charAt(site));
    const counts = STATES.map((state) => held.filter((one) => one === state).length);
    return [
      String((new Set(held).size - 1) * near),
      marked(STATES.filter((_, state) => counts[state] === Math.max(...counts))),
    ];
  });
  if (naive.join(";") === values.join(";") || results.some(({ least, states }) => least < 2 || states.length === 4))
    return null;
  return {
    fields: values.map((value, index) =>
      index % 2 === 0
        ? { name: `cost${index / 2 + 1}`, kind: "number", value }
        : { name: `root${(index + 1) / 2}`, kind: "set", value, options: STATES },
    ),
    slips: [naive],
    steps: sites.length * leaves.length * (near === far ? 4 : 16),
  };
}

function rule({ costs: [near, far] }: Given): string {
  const prices =
    near === far
      ? "Every change of a state along a branch costs 1."
      : `A change between A and G or between C and T along a branch costs ${near}, any other change ${far}.`;
  return `${prices} Inner nodes may have any of the states A, C, G, T; the root is the outermost bracket.`;
}

function species({ leaves }: Given): string {
  return leaves.map((sites, leaf) => `S${leaf + 1}: ${sites}`).join("\n");
}

function treeText(tree: Tree): string {
  return typeof tree === "number" ? `S${tree + 1}` : `(${treeText(tree[0])},${treeText(tree[1])})`;
}
