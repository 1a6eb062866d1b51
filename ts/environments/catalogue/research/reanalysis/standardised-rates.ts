/** standardised-rates: rates of regions as they stand, standardised to a common population, and the order in which both put them. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, marked, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { compare, over, plus, ratio, type Rational, textOf, times, ZERO } from "../../math/rational.ts";
import type { Level } from "../../row.ts";

interface Given {
  /** `cases[r][s]` of `people[r][s]`: cases in a stratum of a region. */
  cases: number[][];
  people: number[][];
}

/** By level: regions, strata. */
const SIZES = [
  [3, 2],
  [3, 3],
  [4, 3],
  [5, 4],
  [6, 5],
] as const;

export const standardisedRates = fieldRow<Given>({
  id: "standardised-rates",
  asks: "crude and standardised rates of regions where the mixture of age groups turns their order round",
  draw,
  solve,
  values: ({ cases }) =>
    `R1 to R${cases.length} are the standardised rates as exact fractions (cases per person), and order lists the regions from the lowest to the highest standardised rate`,
  wordings: [
    (one) => `${table(one)}\n\n${RULE} Standardise the rates of this health survey.`,
    (one) => `${RULE}\n\nCases and people by region and age group:\n${table(one)}\n\nCompare the regions fairly.`,
    (one) =>
      `A newspaper ranked regions by crude rates, although their age groups differ.\n${table(one)}\n${RULE} What is the right ranking?`,
    (one) =>
      `Direct standardisation makes groups of different ages comparable. ${RULE}\n${table(one)}\nState all rates and the order.`,
  ],
});

const RULE =
  "The standard population is that of all regions together. The standardised rate of a region is the mean of its rates in the age groups, weighted by the people of the standard population in these groups.";

function draw(rng: Rng, level: Level): Given | null {
  const [regions, strata] = at(SIZES, level - 1);
  const base = range(strata).map((stratum) => 2 + 5 * stratum);
  const people = range(regions).map(() => range(strata).map(() => 20 * between(rng, 2, 40)));
  const cases = people.map((groups) =>
    groups.map((count, stratum) => Math.max(1, Math.round((count * (at(base, stratum) + between(rng, -1, 4))) / 100))),
  );
  return { cases, people };
}

function solve({ cases, people }: Given): Solution | null {
  const strata = range(at(cases, 0).length);
  const sum = (list: readonly number[]): number => list.reduce((a, b) => a + b, 0);
  const standard = strata.map((stratum) => sum(people.map((groups) => at(groups, stratum))));
  const rates = (weights: readonly number[]): Rational[] =>
    cases.map((row, region) =>
      over(
        row.reduce(
          (total, count, stratum) =>
            plus(total, times(ratio(count, at(at(people, region), stratum)), ratio(at(weights, stratum)))),
          ZERO,
        ),
        ratio(sum(weights)),
      ),
    );
  const options = cases.map((_, region) => `R${region + 1}`);
  const answer = (list: readonly Rational[]): string[] => [
    ...list.map(textOf),
    marked(
      range(list.length)
        .toSorted((a, b) => compare(at(list, a), at(list, b)))
        .map((region) => at(options, region)),
    ),
  ];
  const right = rates(standard);
  const values = answer(right);
  const crude = answer(cases.map((row, region) => ratio(sum(row), sum(at(people, region)))));
  const plain = answer(rates(strata.map(() => 1)));
  // The naive ranking must be another one.
  if (crude.at(-1) === values.at(-1) || new Set(values).size < values.length) return null;
  return {
    fields: values.map((value, index) =>
      index === cases.length
        ? { name: "order", kind: "sequence", value, options }
        : { name: `R${index + 1}`, kind: "number", value },
    ),
    slips: [crude, plain].filter((slip) => slip.join() !== values.join()),
    steps: cases.length * strata.length * 3,
  };
}

function table({ cases, people }: Given): string {
  return cases
    .map((row, region) => {
      const cells = row.map(
        (count, stratum) => `age group ${stratum + 1}: ${count} of ${at(at(people, region), stratum)}`,
      );
      return `R${region + 1}: ${cells.join(", ")}`;
    })
    .join("\n");
}
