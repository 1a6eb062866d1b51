/** weighted-cover: the cheapest choice of sets that contain all elements; its price is compared with the optimum. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";

interface Problem {
  elements: number;
  sets: { price: number; members: number[] }[];
  best: number;
}

/** By level: elements, sets, largest set. */
const SIZES = [
  [5, 6, 3],
  [7, 8, 4],
  [9, 9, 4],
  [11, 11, 5],
  [14, 13, 6],
] as const;

export const weightedCover = certificateRow<Problem>({
  id: "weighted-cover",
  asks: "the cheapest choice of priced sets that contain all elements",
  draw(rng, level) {
    const [elements, count, most] = at(SIZES, level - 1);
    const sets = range(count).map(() => {
      const size = between(rng, 2, most);
      const members = sample(range(elements), size, rng).map((index) => index + 1);
      return { price: size * 4 + between(rng, -4, 6), members: members.toSorted((a, b) => a - b) };
    });
    const chosen = cheapest(sets, elements);
    const greedy = greedyCover(sets, elements);
    if (chosen === null || greedy === null || priceOf(sets, greedy) === priceOf(sets, chosen)) return null;
    const problem = { elements, sets, best: priceOf(sets, chosen) };
    return {
      problem,
      certificate: chosen
        .toSorted((a, b) => b - a)
        .map((index) => index + 1)
        .join(", "),
      steps: 2 ** count * elements,
    };
  },
  proves({ elements, sets, best }, answer) {
    const list = integersIn(answer);
    if (list === null || list.length > sets.length || new Set(list).size < list.length) return false;
    if (list.some((index) => index < 1 || index > sets.length)) return false;
    const chosen = list.map((index) => index - 1);
    const covered = new Set(chosen.flatMap((index) => at(sets, index).members));
    return covered.size === elements && priceOf(sets, chosen) <= best;
  },
  canonical: ({ elements, sets }) => [
    elements,
    sets.map(({ price, members }) => `${price}:${members.join()}`).toSorted(),
  ],
  prompts: [
    (one) =>
      `Buy packets so that every one of the stickers 1 to ${one.elements} is in at least one of them, at the least total price.\n${setsText(one)}\n${FORMAT}`,
    (one) =>
      `Weighted set cover: the universe is {1, ..., ${one.elements}}.\n${setsText(one)}\nWhich subfamily covers the universe with minimal total weight (the weight is the price)? ${FORMAT}`,
    (one) =>
      `${FORMAT} Their union must be all of 1..${one.elements}, and no cheaper choice with this property may exist among\n${setsText(one)}`,
    (one) =>
      `A town has ${one.elements} districts. Each offer serves some of them for a yearly fee:\n${setsText(one)}\nAll districts must be served. Find a set of offers with the lowest sum of fees; taking the best bargain again and again does not reach it. ${FORMAT}`,
  ],
  slips({ elements, sets }, certificate) {
    const chosen = certificate.split(", ").map(Number);
    const other = range(sets.length).find((index) => !chosen.includes(index + 1)) ?? 0;
    return [
      (greedyCover(sets, elements) ?? []).map((index) => index + 1).join(", "),
      chosen.slice(1).join(", "),
      [...chosen, other + 1].join(", "),
      sets.map((_, index) => index + 1).join(", "),
    ];
  },
  variants: (_, certificate) => [certificate.split(", ").toReversed().join(" ")],
});

const FORMAT = "Answer with the numbers of the chosen ones, separated by commas, in any order.";

type Sets = Problem["sets"];

function setsText({ sets }: Problem): string {
  return sets.map(({ price, members }, index) => `${index + 1}: {${members.join(", ")}}, price ${price}`).join("\n");
}

function priceOf(sets: Sets, chosen: readonly number[]): number {
  return chosen.reduce((sum, index) => sum + at(sets, index).price, 0);
}

/** The least element that is missing is covered by one set after the other. */
function cheapest(sets: Sets, elements: number): number[] | null {
  const masks = sets.map(({ members }) => members.reduce((mask, member) => mask | (1 << (member - 1)), 0));
  const all = 2 ** elements - 1;
  let [best, found]: [number, number[] | null] = [Number.POSITIVE_INFINITY, null];
  const extend = (covered: number, chosen: readonly number[], price: number): void => {
    if (price >= best) return;
    if (covered === all) {
      [best, found] = [price, [...chosen]];
      return;
    }
    const missing = 31 - Math.clz32(~covered & (covered + 1));
    for (const [index, mask] of masks.entries())
      if ((mask >> missing) % 2 !== 0) extend(covered | mask, [...chosen, index], price + at(sets, index).price);
  };
  extend(0, [], 0);
  return found;
}

/** The lowest price for each new element first. */
function greedyCover(sets: Sets, elements: number): number[] | null {
  const covered = new Set<number>();
  const chosen: number[] = [];
  while (covered.size < elements) {
    const gain = (index: number): number => at(sets, index).members.filter((member) => !covered.has(member)).length;
    const useful = range(sets.length).filter((index) => gain(index) > 0);
    if (useful.length === 0) return null;
    const next = useful.reduce((a, b) => (at(sets, b).price * gain(a) < at(sets, a).price * gain(b) ? b : a));
    chosen.push(next);
    for (const member of at(sets, next).members) covered.add(member);
  }
  return chosen;
}
