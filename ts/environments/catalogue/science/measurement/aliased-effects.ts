/** aliased-effects: which effects a fractional factorial design cannot tell from a given one, and its resolution. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  factors: number;
  /** The last factors, each as the product of others with a sign; factors as bits. */
  generators: { factor: number; product: number; sign: 1 | -1 }[];
  asked: number;
  /** Effects of more factors are left out. */
  most: number;
}

/** By level: factors, generators, most factors of an effect that is listed. */
const KNOBS = [
  [5, 1, 4],
  [5, 2, 3],
  [6, 2, 4],
  [7, 3, 4],
  [9, 4, 4],
] as const;
const LETTERS = ["A", "B", "C", "D", "E", "F", "G", "H", "J"];

export const aliasedEffects = fieldRow<Given>({
  id: "aliased-effects",
  asks: "effects that a fractional factorial design confounds with a given one, their sign, and the resolution",
  draw,
  solve,
  values: ({ most }) =>
    `plus and minus are the effects of at most ${most} factors, each written as its letters in alphabetical order, that are confounded with the same and with the opposite sign (the word none where there are none), separated by commas, and resolution is an integer`,
  wordings: [
    (one) =>
      `A two-level design has the factors ${letters(one)}. The settings (+1, -1) of some are products of others: ${generatorText(one)}. All combinations of the other factors are run once. Which effects are confounded with ${effect(one.asked)}, and what is the resolution of the design (the number of letters of the shortest word in its defining relation)?`,
    (one) =>
      `Fractional factorial experiment with generators ${generatorText(one)} among ${letters(one)}. List the effects that stand together with ${effect(one.asked)}: the effects whose column is equal to its column, and those whose column is its negative. Also state the resolution, the length of the shortest defining word.`,
    (one) =>
      `With the plan ${generatorText(one)} (factors ${letters(one)} at the levels -1 and +1, full factorial in the factors that are not defined here), the column of ${effect(one.asked)} agrees with those of other effects, up to sign. Which ones? How long is the shortest word of the defining relation?`,
    (one) =>
      `Aliases of ${effect(one.asked)} wanted. Design: factors ${letters(one)}, where ${generatorText(one)}; the rest vary freely. Sort them by sign, and give the resolution (letters in the shortest word that equals plus or minus the identity).`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [factors, count, most] = at(KNOBS, level - 1);
  const free = factors - count;
  const generators = range(count).map((index) => ({
    factor: free + index,
    product: sample(range(free), between(rng, 2, free), rng).reduce((bits, place) => bits | (1 << place), 0),
    sign: rng.pick([1, 1, -1] as const),
  }));
  if (new Set(generators.map(({ product }) => product)).size < count) return null;
  const asked = sample(range(factors), between(rng, 1, 2), rng).reduce((bits, place) => bits | (1 << place), 0);
  return { factors, generators, asked, most };
}

function solve({ factors, generators, asked, most }: Given): Solution | null {
  const words = definingWords(generators);
  const listed = (sign: 1 | -1, own: readonly Word[]): string[] =>
    own
      .map(({ bits, sign: side }) => ({ bits: bits ^ asked, sign: side }))
      .filter((one) => one.sign === sign && one.bits !== 0 && sizeOf(one.bits) <= most)
      .map(({ bits }) => effect(bits));
  const options = [
    "none",
    ...range(2 ** factors)
      .map(effect)
      .filter((text) => text !== "" && text.length <= most),
  ];
  const inOrder = (texts: readonly string[]): string =>
    marked(texts.length === 0 ? ["none"] : options.filter((option) => texts.includes(option)));
  const [plus, minus] = [listed(1, words), listed(-1, words)];
  if (plus.length + minus.length < 1) return null;
  const resolution = Math.min(...words.map(({ bits }) => sizeOf(bits)));
  if (resolution < 3) return null;
  const single = generators.map(({ factor, product, sign }) => ({ bits: product | (1 << factor), sign }));
  const gold = [inOrder(plus), inOrder(minus), String(resolution)];
  const slips = [
    [gold[1] ?? "", gold[0] ?? "", String(resolution)],
    [inOrder(listed(1, single)), inOrder(listed(-1, single)), String(resolution)],
    [inOrder([...plus, ...minus]), "none", String(resolution)],
    [inOrder(plus), inOrder(minus), String(resolution + 1)],
  ];
  return {
    fields: [
      { name: "plus", kind: "set", value: gold[0] ?? "", options },
      { name: "minus", kind: "set", value: gold[1] ?? "", options },
      { name: "resolution", kind: "number", value: String(resolution) },
    ],
    slips: slips.filter((slip) => slip.join(";") !== gold.join(";")),
    steps: words.length * factors,
  };
}

interface Word {
  bits: number;
  sign: 1 | -1;
}

/** All products of the generators' words but the empty one. */
function definingWords(generators: Given["generators"]): Word[] {
  let words: Word[] = [{ bits: 0, sign: 1 }];
  for (const { factor, product, sign } of generators)
    words = words.flatMap((word): Word[] => [
      word,
      { bits: word.bits ^ product ^ (1 << factor), sign: word.sign === sign ? 1 : -1 },
    ]);
  return words.slice(1);
}

function sizeOf(bits: number): number {
  return effect(bits).length;
}

function effect(bits: number): string {
  return LETTERS.filter((_, place) => (bits >> place) % 2 === 1).join("");
}

function letters({ factors }: Given): string {
  return LETTERS.slice(0, factors).join(", ");
}

function generatorText({ generators: all }: Given): string {
  return all
    .map(({ factor, product, sign }) => `${LETTERS[factor]} = ${sign < 0 ? "-" : ""}${effect(product)}`)
    .join(", ");
}
