/** compartment-stocks: stocks of a substance in connected compartments in the steady state, by exact balances. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { over, plus, ratio, type Rational, solveLinear, textOf, ZERO } from "../../math/rational.ts";
import type { Level } from "../../row.ts";

interface Given {
  /** Percent of the stock of `from` that goes to `to` in a day; null: out of the system. */
  flows: { from: number; to: number | null; percent: number }[];
  inflow: number[];
}

/** By level: compartments. */
const SIZES = [2, 3, 4, 5, 7] as const;

export const compartmentStocks = fieldRow<Given>({
  id: "compartment-stocks",
  asks: "the steady stocks and residence times of connected compartments, as exact fractions",
  draw,
  solve,
  values: ({ inflow }) =>
    `C1 to C${inflow.length} are the steady stocks in kilograms and days is the mean time that the substance stays in the whole system (all stocks over all inflow), as exact fractions`,
  wordings: [
    (one) => `${flowList(one)}\n\n${inflows(one)} ${RULE}`,
    (one) =>
      `${RULE} ${inflows(one)}\n\nTransfers between the boxes, and losses to the outside:\n${flowList(one)}\n\nFind the stocks.`,
    (one) =>
      `A nutrient moves through an ecosystem.\n${flowList(one)}\n${inflows(one)}\nAfter a long time nothing changes any more. ${RULE}`,
    (one) =>
      `Box model. ${inflows(one)} Rates of the stock of the first box named:\n${flowList(one)}\n${RULE} Solve for the steady state.`,
  ],
});

const RULE =
  "In the steady state each compartment receives in a day as much as leaves it; rates are of the stock at any moment.";

function draw(rng: Rng, level: Level): Given | null {
  const count = at(SIZES, level - 1);
  const flows = range(count).flatMap((from) => {
    const targets = sample(
      range(count).filter((to) => to !== from),
      Math.min(count - 1, 2),
      rng,
    );
    const out = from === count - 1 || rng.integer(3) === 0 ? [null] : [];
    return [...targets, ...out].map((to) => ({ from, to, percent: between(rng, 2, 25) }));
  });
  const fed = sample(range(count), Math.ceil(count / 3), rng);
  return { flows, inflow: range(count).map((one) => (fed.includes(one) ? between(rng, 3, 30) : 0)) };
}

function stocksOf({ flows, inflow }: Given, keepsOut: boolean): Rational[] | null {
  const count = inflow.length;
  const rate = (from: number, to: number): number =>
    flows.reduce((sum, flow) => sum + (flow.from === from && flow.to === to ? flow.percent : 0), 0);
  const matrix = range(count).map((to) =>
    range(count).map((from) => {
      if (from !== to) return ratio(-rate(from, to), 100);
      const leaving = flows.filter(
        (flow) => flow.from === from && (keepsOut || flow.to !== null || from === count - 1),
      );
      return ratio(
        leaving.reduce((sum, { percent }) => sum + percent, 0),
        100,
      );
    }),
  );
  return solveLinear(
    matrix,
    inflow.map((one) => ratio(one)),
  );
}

function solve(given: Given): Solution | null {
  const { flows, inflow } = given;
  const right = stocksOf(given, true);
  if (right === null || right.some(({ n }) => n <= 0n)) return null;
  const fed = ratio(inflow.reduce((sum, one) => sum + one, 0));
  const texts = (stocks: readonly Rational[]): string[] => [
    ...stocks.map(textOf),
    textOf(
      over(
        stocks.reduce((sum, one) => plus(sum, one), ZERO),
        fed,
      ),
    ),
  ];
  const direct = inflow.map((one, place) =>
    ratio(
      100 * one,
      Math.max(
        1,
        flows.reduce((sum, { from, percent }) => sum + (from === place ? percent : 0), 0),
      ),
    ),
  );
  const closed = stocksOf(given, false);
  const slips = [texts(direct), ...(closed === null ? [] : [texts(closed)])];
  const values = texts(right);
  return {
    fields: values.map((value, index) => ({
      name: index === inflow.length ? "days" : `C${index + 1}`,
      kind: "number",
      value,
    })),
    slips: slips.filter((slip) => slip.join() !== values.join()),
    steps: inflow.length ** 3,
  };
}

function flowList({ flows: list }: Given): string {
  return list
    .map(
      ({ from, to, percent }) =>
        `C${from + 1} loses ${percent} % a day ${to === null ? "out of the system" : `to C${to + 1}`}.`,
    )
    .join("\n");
}

function inflows({ inflow }: Given): string {
  const fed = inflow.flatMap((one, place) => (one === 0 ? [] : [`${one} kg a day into C${place + 1}`]));
  return `From outside come ${fed.join(" and ")}.`;
}
