/** Chemistry against the equation balancer of ts/verify, exhaustive search, a scan of the pH, and bisection. */
import { expect, test } from "vitest";

import { ATOMIC_MASSES } from "../../../../../ts/environments/catalogue/science/chemistry/atomic-masses.ts";
import { colligativeMixture } from "../../../../../ts/environments/catalogue/science/chemistry/colligative-mixture.ts";
import { formulaFromAnalysis } from "../../../../../ts/environments/catalogue/science/chemistry/formula-from-analysis.ts";
import { chemistry } from "../../../../../ts/environments/catalogue/science/chemistry/index.ts";
import { limitingReagentYield } from "../../../../../ts/environments/catalogue/science/chemistry/limiting-reagent-yield.ts";
import { rateLawFromRuns } from "../../../../../ts/environments/catalogue/science/chemistry/rate-law-from-runs.ts";
import { solutionPh } from "../../../../../ts/environments/catalogue/science/chemistry/solution-ph.ts";
import { balanceEquation, parseFormula } from "../../../../../ts/verify/index.ts";
import { expectAgreement, instancesOf, luckOf, quantityRowsOf } from "./second-method.ts";

const quantityRows = quantityRowsOf(chemistry).filter((row) => row !== formulaFromAnalysis);

test.each(quantityRows.map((row) => [row.id, row] as const))("%s: numbers of the prompt rarely hit", (_, row) => {
  expect(luckOf(row)).toBeLessThan(0.02);
});

function massOf(formula: string): number {
  const atoms = [...(parseFormula(formula)?.atoms ?? [])];
  return atoms.reduce((sum, [symbol, count]) => sum + count * (ATOMIC_MASSES[symbol] ?? Number.NaN), 0);
}

test("limiting-reagent-yield: balanced equations and extents of reaction", () => {
  interface Given {
    metal: string;
    valence: number;
    start: number;
    reagents: number[];
    yields: number[];
  }
  expectAgreement(limitingReagentYield, ({ metal, valence, start, reagents, yields }: Given) => {
    const products = [
      `${metal}2O${valence}`,
      `${metal}Cl${valence}`,
      `${metal}(OH)${valence}`,
      `${metal}2(SO4)${valence}`,
    ];
    const seconds = ["O2", "HCl", "NaOH", "H2SO4"];
    const sides = ["", " + H2O", " + NaCl", " + H2O"];
    let [substance, grams, left] = [metal, start, 0];
    for (const [step, weighed] of reagents.entries()) {
      const [second = "", product = ""] = [seconds[step], products[step]];
      const balanced = balanceEquation(`${substance} + ${second} -> ${product}${sides[step]}`);
      if (typeof balanced === "string") throw new Error(`${substance} + ${second}: ${balanced}`);
      const [a = 0, b = 0, c = 0] = balanced.coefficients;
      const extent = Math.min(grams / massOf(substance) / a, weighed / massOf(second) / b);
      if (step === 0) left = Math.max(grams - extent * a * massOf(substance), weighed - extent * b * massOf(second));
      grams = (extent * c * massOf(product) * (yields[step] ?? 0)) / 100;
      substance = product;
    }
    return [grams, left];
  });
});

test("formula-from-analysis: no other formula fits the data as well", () => {
  interface Analysis {
    atoms: Record<string, number>;
    sample: number;
    products: [number, number, number, number];
    density: number;
    temperature: number;
    pressure: number;
  }
  for (const { instance } of instancesOf(formulaFromAnalysis, [1, 2, 3, 4])) {
    const { atoms, sample, products, density, temperature, pressure } = instance as unknown as Analysis;
    const weight = (density * 8.314 * temperature) / pressure;
    let [best, found] = [Number.POSITIVE_INFINITY, ""];
    const counts = (symbol: string, most: number): number[] =>
      symbol in atoms ? Array.from({ length: most }, (_, index) => index + 1) : [0];
    for (const c of counts("C", 12))
      for (const n of counts("N", 4))
        for (const o of counts("O", 8))
          for (const cl of counts("Cl", 4))
            for (const h of counts("H", 32)) {
              const mass = massOf("C") * c + massOf("H") * h + massOf("N") * n + massOf("O") * o + massOf("Cl") * cl;
              if (Math.abs(mass / weight - 1) > 0.02) continue;
              const expected = [
                c * massOf("CO2"),
                (h * massOf("H2O")) / 2,
                (n * massOf("N2")) / 2,
                cl * massOf("AgCl"),
              ];
              const error = expected.reduce(
                (sum, own, index) => sum + Math.abs((own * sample) / mass - (products[index] ?? 0)),
                0,
              );
              if (error < best)
                [best, found] = [error, `C${c}H${h}N${n}O${o}Cl${cl}`.replaceAll(/(?:[A-Z][a-z]?)0/gu, "")];
            }
    expect(formulaFromAnalysis.score(instance, found), `${found} of ${JSON.stringify(atoms)}`).toBe(1);
  }
});

test("solution-ph: a scan of the pH with fractions of every species", () => {
  interface Given {
    acids: { constants: number[]; concentration: number; volume: number }[];
    base: { concentration: number; volume: number };
    water: number;
  }
  expectAgreement(solutionPh, ({ acids, base, water }: Given) => {
    let volume = base.volume + water;
    for (const acid of acids) volume += acid.volume;
    for (let ph = 0; ph < 14; ph += 0.0005) {
      let charge = (base.concentration * base.volume) / volume + 10 ** -ph - 10 ** (ph - 14);
      for (const { constants, concentration, volume: own } of acids) {
        // From the bare anion: each proton that is bound multiplies by h / Ka.
        const bound = [1];
        for (const constant of constants.toReversed()) bound.push((bound.at(-1) ?? 0) * 10 ** (constant - ph));
        const total = bound.reduce((sum, share) => sum + share, 0);
        for (const [protons, share] of bound.entries())
          charge -= (((constants.length - protons) * share) / total) * ((concentration * own) / volume);
      }
      if (charge < 0) return [ph];
    }
    return [];
  });
});

test("rate-law-from-runs: all orders are tried", () => {
  interface Given {
    runs: { concentrations: number[]; rate: number }[];
    other: number[];
  }
  const texts = ["0", "1/2", "1", "3/2", "2"];
  expectAgreement(
    rateLawFromRuns,
    ({ runs, other }: Given) => {
      const count = other.length;
      let [best, answer]: [number, (number | string)[]] = [Number.POSITIVE_INFINITY, []];
      for (let code = 0; code < 5 ** count; code++) {
        const orders = other.map((_, index) => Math.floor(code / 5 ** index) % 5);
        const power = (mixture: number[]): number =>
          mixture.reduce((product, value, index) => product * value ** ((orders[index] ?? 0) / 2), 1);
        const constants = runs.map(({ concentrations, rate }) => rate / power(concentrations));
        const spread = Math.max(...constants) / Math.min(...constants);
        if (spread >= best) continue;
        const mean = constants.reduce((sum, value) => sum + value, 0) / constants.length;
        [best, answer] = [spread, [mean * power(other), ...orders.map((order) => texts[order] ?? "")]];
      }
      return answer;
    },
    1e-3,
  );
});

test("colligative-mixture: bisection for the molar mass that gives the lowering", () => {
  interface Given {
    solvent: number;
    freezing: number;
    boiling: number;
    solutes: { mass: number; molar: number; ions: number; split: number }[];
    unknown: { mass: number; lowering: number } | null;
  }
  expectAgreement(colligativeMixture, ({ solvent, freezing, boiling, solutes, unknown }: Given) => {
    const molality = (extra: number): number => {
      let sum = extra;
      for (const { mass, molar, ions, split } of solutes) {
        const whole = (mass / molar) * (1 - split / 100);
        sum += whole + (mass / molar - whole) * ions;
      }
      return (1000 * sum) / solvent;
    };
    if (unknown === null) return [freezing * molality(0), boiling * molality(0)];
    let [low, high] = [1, 1e5];
    for (let step = 0; step < 200; step++) {
      const middle = (low + high) / 2;
      if (freezing * molality(unknown.mass / middle) > unknown.lowering) low = middle;
      else high = middle;
    }
    return [low, boiling * molality(unknown.mass / low)];
  });
});

test("colligative-mixture: a change of temperature in degrees Celsius is one in kelvins", () => {
  for (const { instance } of instancesOf(colligativeMixture)) {
    const gold = colligativeMixture.gold(instance);
    expect(gold).toMatch(/ K$/mu);
    expect(colligativeMixture.score(instance, gold.replaceAll(/ K$/gmu, " °C"))).toBe(1);
    expect(colligativeMixture.score(instance, gold.replaceAll(/ K$/gmu, " °F"))).toBeLessThan(1);
  }
});
