/** excavation-sequence: the range of years of each layer of an excavation, from what lies above what, coins and dated covers. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  layers: number;
  /** The first one is later than the second one. */
  later: [number, number][];
  /** A layer, and the year of a coin in it: the layer is not older. */
  coins: [number, number][];
  /** A layer, and a year that something above it is dated to: the layer is older. */
  seals: [number, number][];
}

/** By level: layers, relations. */
const SIZES = [
  [6, 7],
  [8, 11],
  [11, 16],
  [15, 23],
  [20, 33],
] as const;

export const excavationSequence = fieldRow<Given>({
  id: "excavation-sequence",
  asks: "the earliest and latest years of the layers of an excavation from what lies above what, coins and dated covers",
  draw,
  solve,
  isShared: true,
  values: () =>
    "each value is the range of years in which the layer can have been formed, written as from/to with both numbers, or with none in place of a number where there is no bound, such as 1210/none",
  wordings: [
    (one) => `${notes(one)}\n\n${RULE} When was each layer formed?`,
    (one) => `${RULE}\n\nField notes:\n${notes(one)}\n\nDate every layer as closely as they allow.`,
    (one) => `An excavation is written up.\n${notes(one)}\n${RULE} Give the bounds for each layer.`,
    (one) =>
      `Derive dates through a sequence of layers. ${RULE}\n${notes(one)}\nBounds for L1 to L${one.layers}, please.`,
  ],
});

const RULE =
  "A layer that lies over, cuts or fills another one was formed in a later year. A layer with a coin was formed in the year of the coin or later. A layer that is dated before a year was formed in an earlier year. Each bound has to be as close as these rules make it.";

function draw(rng: Rng, level: Level): Given | null {
  const [layers, relations] = at(SIZES, level - 1);
  const order = shuffled(range(layers), rng);
  const years = range(layers).map((place) => 1100 + 15 * place + rng.integer(10));
  const yearOf = (layer: number): number => at(years, order.indexOf(layer));
  const pairs = new Map<string, [number, number]>();
  for (let turn = 0; turn < 8 * relations && pairs.size < relations; turn++) {
    const [a = 0, b = 0] = sample(range(layers), 2, rng).toSorted((x, y) => y - x);
    if (a - b > 5) continue;
    const pair: [number, number] = [at(order, a), at(order, b)];
    pairs.set(pair.join(" "), pair);
  }
  const dated = sample(range(layers), Math.ceil(layers / 2), rng);
  const half = Math.ceil(dated.length / 2);
  return {
    layers,
    later: shuffled(pairs.values(), rng),
    coins: dated.slice(0, half).map((layer): [number, number] => [layer, yearOf(layer) - rng.integer(25)]),
    seals: dated.slice(half).map((layer): [number, number] => [layer, yearOf(layer) + 1 + rng.integer(25)]),
  };
}

function solve({ layers, later, coins, seals }: Given): Solution | null {
  const from = range(layers).map((layer) =>
    Math.max(-Infinity, ...coins.filter(([one]) => one === layer).map(([, year]) => year)),
  );
  const to = range(layers).map((layer) =>
    Math.min(Infinity, ...seals.filter(([one]) => one === layer).map(([, year]) => year - 1)),
  );
  const text = (low: readonly number[], high: readonly number[]): string[] =>
    range(layers).map((layer) =>
      [at(low, layer), at(high, layer)].map((year) => (Number.isFinite(year) ? String(year) : "none")).join("/"),
    );
  const direct = text(from, to);
  let steps = 0;
  for (let isChanged = true; isChanged;) {
    isChanged = false;
    for (const [above, below] of later) {
      steps += 1;
      const [low, high] = [Math.max(at(from, above), at(from, below) + 1), Math.min(at(to, below), at(to, above) - 1)];
      if (low === from[above] && high === to[below]) continue;
      from[above] = low;
      to[below] = high;
      isChanged = true;
    }
  }
  const values = text(from, to);
  const bare = values.filter((value) => value === "none/none").length;
  if (bare > layers / 4 || values.filter((value, layer) => value === direct[layer]).length > layers * 0.6) return null;
  if (new Set(values).size < values.length * 0.7) return null;
  return {
    fields: values.map((value, layer) => ({
      name: `L${layer + 1}`,
      kind: "word",
      value,
      options: [...new Set(values), "1000/none", "none/1900"],
    })),
    slips: [direct],
    steps,
  };
}

function notes({ later, coins, seals }: Given): string {
  const verbs = ["lies over", "cuts", "fills"];
  return [
    ...later.map(([above, below], index) => `L${above + 1} ${verbs[index % verbs.length]} L${below + 1}.`),
    ...coins.map(([layer, year]) => `In L${layer + 1} was a coin of ${year}.`),
    ...seals.map(([layer, year]) => `L${layer + 1} is dated before ${year}.`),
  ].join("\n");
}
