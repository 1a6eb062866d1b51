/** Measurements against least squares in matrix form, recursion over subjects, and SI values of every unit. */
import { expect, test } from "vitest";

import { solveLinear } from "../../../../../ts/environments/catalogue/science/linear-system.ts";
import { calibrationInversion } from "../../../../../ts/environments/catalogue/science/measurement/calibration-inversion.ts";
import { censoredSurvivalTable } from "../../../../../ts/environments/catalogue/science/measurement/censored-survival-table.ts";
import { measurement } from "../../../../../ts/environments/catalogue/science/measurement/index.ts";
import { inventedUnitsConversion } from "../../../../../ts/environments/catalogue/science/measurement/invented-units-conversion.ts";
import { measurementCombination } from "../../../../../ts/environments/catalogue/science/measurement/measurement-combination.ts";
import { expectAgreement, luckOf, quantityRowsOf } from "./second-method.ts";

/** The combined value of laboratories, and the median of days, are near numbers that stand in the prompt. */
const WITHOUT_LUCK = ["measurement-combination", "censored-survival-table"];

test.each(
  quantityRowsOf(measurement)
    .filter(({ id }) => !WITHOUT_LUCK.includes(id))
    .map((row) => [row.id, row] as const),
)("%s: numbers of the prompt rarely hit", (_, row) => {
  expect(luckOf(row)).toBeLessThan(0.02);
});

test("measurement-combination: means are updated one result at a time", () => {
  interface Given {
    labs: { value: number; sigma: number }[];
  }
  expectAgreement(measurementCombination, ({ labs }: Given) => {
    const update = (left: number): [number, number, number] => {
      let [mean, variance, chi2] = [0, Number.POSITIVE_INFINITY, 0];
      for (const [index, { value, sigma }] of labs.entries()) {
        if (index === left) continue;
        if (variance === Number.POSITIVE_INFINITY) [mean, variance] = [value, sigma ** 2];
        else {
          // The prediction of the next result adds its squared surprise to chi2.
          chi2 += (value - mean) ** 2 / (variance + sigma ** 2);
          mean += ((value - mean) * variance) / (variance + sigma ** 2);
          variance = (variance * sigma ** 2) / (variance + sigma ** 2);
        }
      }
      return [mean, variance, chi2];
    };
    const [mean, , chi2] = update(-1);
    const pulls = labs.map(({ value, sigma }) => Math.abs(value - mean) / sigma);
    const worst = pulls.indexOf(Math.max(...pulls));
    const [kept, variance] = update(worst);
    return [chi2, kept, Math.sqrt(variance), `L${worst + 1}`];
  });
});

test("censored-survival-table: the weight of a lost subject goes to those that stay", () => {
  interface Given {
    subjects: { days: number; isCensored: boolean }[];
    day: number;
  }
  expectAgreement(censoredSurvivalTable, ({ subjects, day }: Given) => {
    // Efron's redistribution to the right: equal weights, failures before losses of a day.
    const order = subjects.toSorted((a, b) => a.days - b.days || Number(a.isCensored) - Number(b.isCensored));
    const weights = order.map(() => 1 / order.length);
    for (const [index, { isCensored }] of order.entries()) {
      const later = order.length - index - 1;
      if (!isCensored || later === 0) continue;
      for (let other = index + 1; other < order.length; other++)
        weights[other] = (weights[other] ?? 0) + (weights[index] ?? 0) / later;
      weights[index] = 0;
    }
    const survival = (until: number): number =>
      1 -
      order.reduce(
        (sum, { days, isCensored }, index) => sum + (days <= until && !isCensored ? (weights[index] ?? 0) : 0),
        0,
      );
    let [median, mean] = [0, 0];
    for (let now = 0; now < day; now++) mean += survival(now);
    while (survival(median) > 0.5) median++;
    let terms = 0;
    for (let now = 1; now <= day; now++) {
      const [before, after] = [survival(now - 1), survival(now)];
      const risk = order.filter(({ days }) => days >= now).length;
      if (before - after > 1e-12) terms += (before - after) / (before * risk * (after / before));
    }
    return [survival(day), survival(day) * Math.sqrt(terms), median, mean];
  });
});

test("invented-units-conversion: every unit gets its SI value from the one that defines it", () => {
  interface Chain {
    units: string[];
    factors: number[];
  }
  interface Given {
    lengths: Chain;
    times: Chain;
    masses: Chain;
    powers: number[];
    value: number;
  }
  expectAgreement(inventedUnitsConversion, ({ lengths, times, masses, powers, value }: Given) => {
    let logarithm = Math.log(value);
    for (const [index, { units, factors }] of [lengths, times, masses].entries()) {
      const sizes = new Map<string, number>();
      for (const [place, unit] of units.entries())
        sizes.set(unit, Math.log(factors[place] ?? 0) + (sizes.get(units[place - 1] ?? "") ?? 0));
      logarithm += (powers[index] ?? 0) * (sizes.get(units.at(-1) ?? "") ?? 0);
    }
    return [Math.exp(logarithm)];
  });
});

test("calibration-inversion: normal equations and the covariance of line and reading", () => {
  interface Given {
    standards: { concentration: number; signal: number }[];
    signals: number[];
    blanks: number[];
    dilutions: [number, number][];
  }
  expectAgreement(calibrationInversion, ({ standards, signals, blanks, dilutions }: Given) => {
    let [n, sx, sxx, sy, sxy] = [0, 0, 0, 0, 0];
    for (const { concentration: x, signal: y } of standards) {
      n += 1;
      sx += x;
      sxx += x * x;
      sy += y;
      sxy += x * y;
    }
    const matrix = [
      [n, sx],
      [sx, sxx],
    ];
    const [a = 0, b = 0] = solveLinear(matrix, [sy, sxy]) ?? [];
    const variance =
      standards.reduce((sum, { concentration: x, signal: y }) => sum + (y - a - b * x) ** 2, 0) / (n - 2);
    const place = (values: number[]): number => (values.reduce((sum, value) => sum + value, 0) / values.length - a) / b;
    const x = place(signals);
    // The variance of a + b x from the inverse of the normal matrix, and that of the mean reading.
    const [p = 0, q = 0] = solveLinear(matrix, [1, x]) ?? [];
    const error = Math.sqrt(variance * (p + q * x + 1 / signals.length)) / b;
    let original = x - (blanks.length === 0 ? 0 : place(blanks));
    for (const [taken, filled] of dilutions.toReversed()) original *= filled / taken;
    return [b, original, error];
  });
});
