/** three-point-map: the order of linked genes and the distances between neighbours, from the offspring of a test cross. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { fractionText } from "../../math/exact-answer.ts";
import type { Level } from "../../row.ts";

interface Given {
  genes: string[];
  /** For each class of offspring: a bit for each gene, whether the allele comes from the first grandparent; and its count. */
  classes: { bits: number[]; count: number }[];
}

/** By level: genes, whether chromosomes may cross over more than once. */
const KNOBS = [
  [3, false],
  [3, true],
  [4, true],
  [5, true],
  [6, true],
] as const;
const OFFSPRING = 1000;
const LETTERS = ["a", "b", "d", "f", "g", "h", "k", "m", "r", "t"];

export const threePointMap = fieldRow<Given>({
  id: "three-point-map",
  asks: "order of linked genes and the distances between neighbours from the offspring of a test cross",
  draw,
  solve,
  values: ({ genes }) =>
    `order lists the ${genes.length} genes along the chromosome, separated by commas, from the end whose gene comes first in the alphabet, and d1, d2, ... are the distances between neighbours in this order, as exact percentages without the sign`,
  wordings: [
    (one) =>
      `Test cross of a plant that is heterozygous for ${one.genes.length} linked genes. Offspring by the allele that they show (+ for the normal, the letter for the mutant one):\n${table(one)}\n\nBring the genes into their order, the one that needs the fewest crossovers for these offspring, and give the distance of neighbours as the percentage of all offspring that recombine between the two.`,
    (one) =>
      `Order of the genes ${one.genes.join(", ")} (written here in no particular order)? The counts of a test cross with ${OFFSPRING} offspring:\n${table(one)}\n\nThe right order has the least total of crossovers. Distances: recombinants between two neighbours, in percent of the offspring; do not forget those with several crossovers.`,
    (one) =>
      `Counts of phenotypes, a + stands for the wild allele:\n${table(one)}\n\nThe genes are linked, the mother carried two kinds of chromosomes (the two most frequent classes) and the father only mutant alleles. Which order of genes explains the table with the fewest crossovers, and how many percent of the offspring recombine in each interval?`,
    (one) =>
      `Map ${one.genes.length} genes. A chromosome map wanted: the order with the smallest number of exchanges in all, and between each two neighbours the recombination in percent (map function: none).\n${table(one)}\nTotal: ${OFFSPRING} offspring of a test cross. The columns are not in the order of the map.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, isMultiple] = at(KNOBS, level - 1);
  const genes = shuffled(LETTERS, rng).slice(0, count);
  const order = shuffled(range(count), rng);
  const rates = range(count - 1).map(() => 0.05 + 0.2 * rng.next());
  const phase = genes.map(() => rng.integer(2));
  const found = new Map<string, number>();
  for (let child = 0; child < OFFSPRING; child++) {
    const bits = genes.map(() => 0);
    let side = rng.integer(2);
    let crossed = false;
    for (const [place, gene] of order.entries()) {
      if (place > 0 && (isMultiple || !crossed) && rng.next() < at(rates, place - 1))
        [side, crossed] = [1 - side, true];
      bits[gene] = side ^ at(phase, gene);
    }
    found.set(bits.join(""), (found.get(bits.join("")) ?? 0) + 1);
  }
  const classes = [...found].map(([text, number]) => ({ bits: text.split("").map(Number), count: number }));
  return {
    genes,
    classes: classes.toSorted((a, b) => b.count - a.count || (a.bits.join("") < b.bits.join("") ? -1 : 1)),
  };
}

function solve({ genes, classes }: Given): Solution | null {
  const [parent, other] = classes;
  if (parent === undefined || other === undefined) return null;
  // The two kinds of chromosomes that the mother had are complementary.
  if (parent.bits.some((bit, gene) => bit === at(other.bits, gene))) return null;
  const between = (a: number, b: number): number =>
    classes.reduce((sum, { bits, count }) => sum + (isCrossed(bits, parent.bits, a, b) ? count : 0), 0);
  const pairs = genes.map((_, a) => genes.map((_gene, b) => between(a, b)));
  const orders = permutations(range(genes.length)).filter(
    (one) => at(genes, at(one, 0)) < at(genes, at(one, one.length - 1)),
  );
  const cost = (order: readonly number[]): number =>
    range(order.length - 1).reduce((sum, place) => sum + at(at(pairs, at(order, place)), at(order, place + 1)), 0);
  const ranked = orders.map((order) => ({ order, cost: cost(order) })).toSorted((a, b) => a.cost - b.cost);
  const [best, next] = ranked;
  if (best === undefined || next === undefined || next.cost - best.cost < 5) return null;
  const listed = marked(best.order.map((gene) => at(genes, gene)));
  const distances = (order: readonly number[]): string[] =>
    range(order.length - 1).map((place) => percent(at(at(pairs, at(order, place)), at(order, place + 1))));
  const right = distances(best.order);
  if (listed === marked(genes) || listed === marked(genes.toReversed())) return null;
  return {
    fields: [
      { name: "order", kind: "sequence", value: listed, options: genes },
      ...right.map((value, index) => ({ name: `d${index + 1}`, kind: "number" as const, value })),
    ],
    slips: [
      [marked(genes), ...distances(range(genes.length))],
      [marked(next.order.map((gene) => at(genes, gene))), ...distances(next.order)],
      ...(new Set(right).size === 1 ? [] : [[listed, ...right.slice(1), at(right, 0)]]),
    ],
    steps: (classes.length * genes.length * (genes.length - 1)) / 2 + genes.length ** 3,
  };
}

/** Whether two genes of a chromosome come from different kinds of the mother's chromosomes. */
function isCrossed(bits: readonly number[], parent: readonly number[], a: number, b: number): boolean {
  return (at(bits, a) ^ at(parent, a)) !== (at(bits, b) ^ at(parent, b));
}

function permutations(items: readonly number[]): number[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item, index) =>
    permutations(items.filter((_, place) => place !== index)).map((rest) => [item, ...rest]),
  );
}

function percent(count: number): string {
  return fractionText(BigInt(100 * count), BigInt(OFFSPRING)) ?? "";
}

function table({ genes, classes }: Given): string {
  return classes
    .map(({ bits, count }) => `${bits.map((bit, gene) => (bit === 1 ? at(genes, gene) : "+")).join(" ")}   ${count}`)
    .join("\n");
}
