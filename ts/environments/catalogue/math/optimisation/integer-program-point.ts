/** integer-program-point: a best whole-numbered plan under limits; its value is compared with the optimum. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";

interface Problem {
  gains: number[];
  /** Each resource: use for one piece, stock. */
  resources: { uses: number[]; stock: number }[];
  best: number;
}

/** By level: goods, resources, largest use. */
const SIZES = [
  [2, 1, 9],
  [3, 2, 12],
  [4, 2, 14],
  [5, 3, 16],
  [6, 3, 18],
] as const;
/** Pieces of a good, at most. */
const MOST_PIECES = 12;

export const integerProgramPoint = certificateRow<Problem>({
  id: "integer-program-point",
  asks: "whole numbers of pieces with the largest gain that the stocks allow",
  draw(rng, level) {
    const [goods, count, most] = at(SIZES, level - 1);
    const gains = range(goods).map(() => between(rng, most, 3 * most));
    const resources = range(count).map(() => ({
      uses: range(goods).map(() => between(rng, Math.ceil(most / 3), most)),
      stock: between(rng, 3 * most, 5 * most),
    }));
    const { plan, best } = bestPlan({ gains, resources });
    if (best <= greedyGain({ gains, resources })) return null;
    return { problem: { gains, resources, best }, certificate: plan.join(", "), steps: 4 ** goods * count };
  },
  proves({ gains, resources, best }, answer) {
    const plan = integersIn(answer);
    if (plan?.length !== gains.length || plan.some((count) => count < 0 || count > MOST_PIECES * 10)) return false;
    return resources.every(({ uses, stock }) => dot(uses, plan) <= stock) && dot(gains, plan) >= best;
  },
  canonical: ({ gains, resources }) => [gains, resources],
  prompts: [
    (one) =>
      `Choose non-negative integers n1, ..., n${one.gains.length} so that ${termsText(one.gains)} is as large as possible, subject to:\n${one.resources.map(({ uses, stock }) => `${termsText(uses)} ≤ ${stock}`).join("\n")}\n${FORMAT}`,
    (one) =>
      `A stall sells ${one.gains.length} goods that earn ${one.gains.join(", ")} coins apiece, in this order. ${one.resources.map(({ uses, stock }, index) => `One piece needs ${uses.join(", ")} units of material ${index + 1}, of which there are ${stock}.`).join(" ")} Only whole pieces can be made. Which numbers of pieces earn the most? ${FORMAT}`,
    (one) =>
      `Integer programming. Gains: (${one.gains.join(", ")}). Constraints, as "uses | stock":\n${one.resources.map(({ uses, stock }) => `${uses.join(", ")} | ${stock}`).join("\n")}\nFind a whole, non-negative plan of greatest total gain; rounding the fractional optimum usually fails. ${FORMAT}`,
    (one) =>
      `${FORMAT} The counts belong to items with the values ${one.gains.join(", ")}; every count is 0, 1, 2, ...; the bag has ${one.resources.length} limit(s): ${one.resources.map(({ uses, stock }) => `weights ${uses.join(", ")} with at most ${stock} in total`).join("; ")}. No packing may be worth more than yours.`,
  ],
  slips({ gains, resources }, certificate) {
    const plan = certificate.split(", ").map(Number);
    const up = plan.map((count, index) => (index === 0 ? count + 1 : count));
    const down = plan.map((count) => Math.max(0, count - 1));
    return [up, down, greedyPlan({ gains, resources }), plan.toReversed(), plan.slice(1)].map((list) =>
      list.join(", "),
    );
  },
  variants: (_, certificate) => [`(${certificate})`],
});

const FORMAT = "Answer with the counts in the given order, separated by commas.";

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, index) => sum + value * at(b, index), 0);
}

function termsText(factors: readonly number[]): string {
  return factors.map((factor, index) => `${factor}·n${index + 1}`).join(" + ");
}

type Limits = Pick<Problem, "gains" | "resources">;

/** All plans, good by good, with the bound that every stock allows. */
function bestPlan({ gains, resources }: Limits): { plan: number[]; best: number } {
  let found = { plan: gains.map(() => 0), best: 0 };
  const extend = (plan: readonly number[], left: readonly number[], gain: number): void => {
    const good = plan.length;
    if (good === gains.length) {
      if (gain > found.best) found = { plan: [...plan], best: gain };
      return;
    }
    const most = Math.min(...resources.map(({ uses }, index) => Math.floor(at(left, index) / at(uses, good))));
    // The last good is taken as often as it can be.
    const least = good === gains.length - 1 ? most : 0;
    for (let count = most; count >= least; count--)
      extend(
        [...plan, count],
        left.map((stock, index) => stock - count * at(at(resources, index).uses, good)),
        gain + count * at(gains, good),
      );
  };
  extend(
    [],
    resources.map(({ stock }) => stock),
    0,
  );
  return found;
}

/** The best ratio of gain and total use first. */
function greedyPlan({ gains, resources }: Limits): number[] {
  const left = resources.map(({ stock }) => stock);
  const use = (good: number): number => resources.reduce((sum, { uses }) => sum + at(uses, good), 0);
  const plan = gains.map(() => 0);
  for (const good of range(gains.length).toSorted((a, b) => at(gains, b) * use(a) - at(gains, a) * use(b))) {
    const count = Math.min(...resources.map(({ uses }, index) => Math.floor(at(left, index) / at(uses, good))));
    plan[good] = count;
    for (const [index, { uses }] of resources.entries()) left[index] = at(left, index) - count * at(uses, good);
  }
  return plan;
}

function greedyGain(limits: Limits): number {
  return dot(limits.gains, greedyPlan(limits));
}
