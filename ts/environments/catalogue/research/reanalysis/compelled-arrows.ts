/** compelled-arrows: which links of a causal graph have a direction that observational data determine, and which stay open. */
import { shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  count: number;
  /** Pairs that depend on each other given any others. */
  links: [number, number][];
  /** For each unlinked pair: one set that makes the two independent. */
  separators: { pair: [number, number]; by: number[] }[];
}

/** By level: variables, links. */
const SIZES = [
  [5, 5],
  [6, 7],
  [7, 9],
  [9, 12],
  [11, 16],
] as const;

export const compelledArrows = fieldRow<Given>({
  id: "compelled-arrows",
  asks: "which causal directions follow from dependences and independences alone, and which stay open",
  draw,
  solve,
  isShared: true,
  values: () =>
    "each value is forward when the first variable named in the link causes the second one, backward when the second causes the first, and open when both are possible",
  wordings: [
    (one) => `${findings(one)}\n\n${RULE} Settle the direction of every link as far as possible.`,
    (one) => `${RULE}\n\nResults of tests on a large sample:\n${findings(one)}\n\nWhich directions follow?`,
    (one) =>
      `No experiment was made, only observations.\n${findings(one)}\n${RULE} State for each link what can be said.`,
    (one) => `Orient a causal skeleton. ${RULE}\n${findings(one)}\nGive the verdict for L1, L2 and so on.`,
  ],
});

const RULE =
  "The causes form a graph of arrows without cycles, one for each link, without hidden common causes, and independence holds exactly where the graph implies it (d-separation). A direction follows when it is the same in all graphs that agree with all findings.";

function draw(rng: Rng, level: Level): Given | null {
  const [count, linkCount] = at(SIZES, level - 1);
  const order = shuffled(range(count), rng);
  const pairs = shuffled(
    range(count).flatMap((b) => range(b).map((a): [number, number] => [a, b])),
    rng,
  ).slice(0, linkCount);
  const arrows = pairs.map(([a, b]): [number, number] => [at(order, a), at(order, b)]);
  const parents = range(count).map((one) => arrows.filter(([, to]) => to === one).map(([from]) => from));
  const place = (one: number): number => order.indexOf(one);
  const isLinked = (a: number, b: number): boolean =>
    arrows.some(([x, y]) => (x === a && y === b) || (x === b && y === a));
  // The parents of the later one separate it from any earlier one that is no parent.
  const separators = range(count).flatMap((b) =>
    range(b)
      .filter((a) => !isLinked(a, b))
      .map((a) => ({
        pair: [a, b] as [number, number],
        by: at(parents, place(a) > place(b) ? a : b).toSorted((x, y) => x - y),
      })),
  );
  const links = arrows.map(([a, b]): [number, number] => (a < b ? [a, b] : [b, a]));
  return { count, links: shuffled(links, rng), separators: shuffled(separators, rng) };
}

function solve({ count, links, separators }: Given): Solution | null {
  const isLinked = (a: number, b: number): boolean =>
    links.some(([x, y]) => (x === a && y === b) || (x === b && y === a));
  /** `points.has(a * count + b)`: a -> b is settled. */
  const points = new Set<number>();
  const arrow = (a: number, b: number): boolean => points.has(a * count + b);
  const isOpen = (a: number, b: number): boolean => isLinked(a, b) && !arrow(a, b) && !arrow(b, a);
  for (const { pair, by } of separators) {
    const [a, b] = pair;
    for (const middle of range(count))
      if (isLinked(a, middle) && isLinked(b, middle) && !by.includes(middle))
        points.add(a * count + middle).add(b * count + middle);
  }
  const colliders = new Set(points);
  const all = range(count);
  let rounds = 0;
  for (let isChanged = true; isChanged; rounds++) {
    isChanged = false;
    for (const a of all)
      for (const b of all) {
        if (!isOpen(a, b)) continue;
        // Meek's rules: no new collider, no cycle, and the two that combine them.
        const first = all.some((c) => arrow(c, a) && c !== b && !isLinked(c, b));
        const second = all.some((c) => arrow(a, c) && arrow(c, b));
        const sides = all.filter((c) => isOpen(a, c) && arrow(c, b));
        const third = sides.some((c) => sides.some((d) => c !== d && !isLinked(c, d)));
        const fourth = all.some(
          (c) =>
            isLinked(a, c) && c !== b && all.some((d) => isOpen(a, d) && arrow(d, c) && arrow(c, b) && !isLinked(d, b)),
        );
        if (!first && !second && !third && !fourth) continue;
        points.add(a * count + b);
        isChanged = true;
      }
  }
  const words = (known: ReadonlySet<number>): string[] =>
    links.map(([a, b]) => (known.has(a * count + b) ? "forward" : known.has(b * count + a) ? "backward" : "open"));
  const values = words(points);
  const options = ["forward", "backward", "open"];
  const counts = options.map((option) => values.filter((value) => value === option).length);
  if (Math.min(...counts) === 0 || Math.max(...counts) > links.length * 0.7 || points.size === colliders.size)
    return null;
  return {
    fields: values.map((value, index) => ({ name: `L${index + 1}`, kind: "word", value, options })),
    slips: [words(colliders), values.map((value) => (value === "open" ? "forward" : value))],
    steps: rounds * links.length * count,
  };
}

function findings({ links, separators }: Given): string {
  const name = (one: number): string => `V${one + 1}`;
  return [
    ...links.map(
      ([a, b], index) => `L${index + 1}: ${name(a)} and ${name(b)} are dependent given any set of the others.`,
    ),
    ...separators.map(
      ({ pair: [a, b], by }) =>
        `${name(a)} and ${name(b)} are independent ${by.length === 0 ? "when nothing is given" : `given ${by.map(name).join(", ")}`}.`,
    ),
  ].join("\n");
}
