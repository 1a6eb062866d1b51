/** pooled-studies: the fixed-effect estimate of studies, their heterogeneity, and the study without which it falls most. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { compare, minus, over, plus, ratio, type Rational, textOf, times, ZERO } from "../../math/rational.ts";
import type { Level } from "../../row.ts";

interface Study {
  /** Tenths of a point. */
  effect: number;
  variance: number;
  /** The name of the trial; two reports of one trial count once. */
  trial: number;
  year: number;
}

interface Given {
  studies: Study[];
}

/** By level: trials, trials that are reported twice. */
const SIZES = [
  [3, 0],
  [4, 1],
  [6, 1],
  [8, 2],
  [11, 3],
] as const;

export const pooledStudies = fieldRow<Given>({
  id: "pooled-studies",
  asks: "the pooled effect of studies without double reports, its heterogeneity and the most influential trial",
  draw,
  solve,
  values: () =>
    "pooled is the pooled effect and Q the heterogeneity, both as exact fractions or decimals, and influential is the trial whose omission changes the pooled effect most, such as T2",
  wordings: [
    (one) => `${table(one)}\n\n${RULE} Summarise the studies.`,
    (one) => `${RULE}\n\nReports that were found:\n${table(one)}\n\nDo the meta-analysis.`,
    (one) => `A systematic review has these reports.\n${table(one)}\n${RULE} Which figures go into the abstract?`,
    (one) => `Pool by inverse variance. ${RULE}\nData extraction sheet:\n${table(one)}`,
  ],
});

const RULE =
  "Of several reports of one trial only the latest counts. The weight of a trial is 1 / variance; the pooled effect is the weighted mean of the effects, and Q is the sum of weight times (effect - pooled effect)².";

function draw(rng: Rng, level: Level): Given | null {
  const [trials, twice] = at(SIZES, level - 1);
  const study = (trial: number, year: number): Study => ({
    effect: between(rng, -20, 60),
    variance: between(rng, 1, 12),
    trial,
    year,
  });
  const first = range(trials).map((trial) => study(trial, between(rng, 1998, 2010)));
  const again = range(twice).map((trial) => study(trial, between(rng, 2011, 2020)));
  const studies = [...first, ...again].toSorted((a, b) => a.year - b.year || a.trial - b.trial);
  return { studies };
}

function pooledOf(studies: readonly Study[]): Rational {
  const weights = studies.reduce((sum, { variance }) => plus(sum, ratio(1, variance)), ZERO);
  const values = studies.reduce((sum, { effect, variance }) => plus(sum, ratio(effect, 10 * variance)), ZERO);
  return over(values, weights);
}

function distanceOf(a: Rational, b: Rational): Rational {
  const gap = minus(a, b);
  return times(gap, gap);
}

function summary(studies: readonly Study[]): string[] | null {
  const pooled = pooledOf(studies);
  const q = studies.reduce(
    (sum, { effect, variance }) => plus(sum, over(distanceOf(ratio(effect, 10), pooled), ratio(variance))),
    ZERO,
  );
  const changes = studies.map((one) => distanceOf(pooledOf(studies.filter((other) => other !== one)), pooled));
  const order = range(studies.length).toSorted((a, b) => compare(at(changes, b), at(changes, a)));
  const [best = 0, next = 0] = order;
  if (compare(at(changes, best), at(changes, next)) === 0) return null;
  return [textOf(pooled), textOf(q), `T${at(studies, best).trial + 1}`];
}

function solve({ studies }: Given): Solution | null {
  const latest = studies.filter(
    ({ trial, year }) => !studies.some((other) => other.trial === trial && other.year > year),
  );
  const values = summary(latest);
  const plain = summary(latest.map((one) => ({ ...one, variance: 1 })));
  const double = summary(studies);
  if (values === null || plain === null) return null;
  const options = latest.map(({ trial }) => `T${trial + 1}`);
  const slips = [plain, ...(double === null ? [] : [double])].filter((slip) => slip.join() !== values.join());
  return {
    fields: [
      { name: "pooled", kind: "number", value: at(values, 0) },
      { name: "Q", kind: "number", value: at(values, 1) },
      { name: "influential", kind: "word", value: at(values, 2), options },
    ],
    slips,
    steps: studies.length + latest.length ** 2,
  };
}

function table({ studies }: Given): string {
  return studies
    .map(
      ({ effect, variance, trial, year }) =>
        `- trial T${trial + 1}, report of ${year}: effect ${effect / 10}, variance ${variance}`,
    )
    .join("\n");
}
