/** uncertainty-propagation: value and standard uncertainty of a formula whose inputs are correlated. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Input {
  name: string;
  value: number;
  sigma: number;
  power: number;
}

interface Given {
  /** The result is the product of the powers of the inputs, where the first is replaced by first minus `offset`, if there is one. */
  inputs: Input[];
  offset: { name: string; value: number; sigma: number } | null;
  /** Between two inputs by their places; null: none. */
  correlation: { pair: [number, number]; value: number } | null;
}

/** By level: inputs, a difference, a correlation. */
const KNOBS = [
  [2, false, false],
  [3, false, false],
  [3, false, true],
  [4, true, true],
  [6, true, true],
] as const;
const NAMES = ["a", "b", "d", "g", "h", "k", "m", "p", "r", "w"];

export const uncertaintyPropagation = quantityRow<Given>({
  id: "uncertainty-propagation",
  asks: "value and standard uncertainty of a formula with powers, a difference and correlated inputs",
  draw,
  solve,
  asides: [
    "The instruments were calibrated 3 months ago.",
    "Each reading was taken by 2 people.",
    "The room had 21 °C.",
    "In all 40 sheets of paper were filled.",
  ],
  wordings: [
    (one, aside) =>
      `A result is computed as q = ${formula(one)}. Inputs with their standard uncertainties: ${inputs(one)}. ${aside} ${correlation(one)} Give q and its standard uncertainty u to first order (all numbers are in coherent units and stand without them).`,
    (one, aside) =>
      `Propagate uncertainties to first order: ${inputs(one)} (value ± standard uncertainty, units left out). ${correlation(one)} ${aside} The quantity of interest is q = ${formula(one)}; find q and u, its standard uncertainty.`,
    (one, aside) =>
      `${correlation(one)} ${aside} With the measured values ${inputs(one)} (one standard deviation each; no units), what are q = ${formula(one)} and the combined standard uncertainty u of q in linear approximation?`,
    (one, aside) =>
      `A laboratory reports q = ${formula(one)} from ${inputs(one)}; the numbers after ± are standard uncertainties, units are dropped. ${aside} ${correlation(one)} State q and u, the first-order standard uncertainty.`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [count, hasOffset, isCorrelated] = at(KNOBS, level - 1);
  const names = sample(NAMES, count + 1, rng);
  const all = range(count).map((index): Input => {
    const value = decimal(rng, 2, 60, 2);
    const power = index === 0 ? between(rng, 1, 2) : rng.pick([-2, -1, -0.5, 0.5, 1, 2, 3]);
    return {
      name: at(names, index),
      value,
      sigma: Number((value * decimal(rng, 0.005, 0.06, 3)).toPrecision(2)),
      power,
    };
  });
  const [first] = all;
  const offset =
    hasOffset && first !== undefined
      ? {
          name: at(names, count),
          value: Number((first.value * decimal(rng, 0.3, 0.7, 2)).toFixed(2)),
          sigma: Number((first.value * 0.02).toPrecision(2)),
        }
      : null;
  const pair = sample(range(count), 2, rng);
  return {
    inputs: all,
    offset,
    correlation: isCorrelated
      ? { pair: [at(pair, 0), at(pair, 1)], value: (rng.integer(2) === 0 ? -1 : 1) * decimal(rng, 0.4, 0.9, 1) }
      : null,
  };
}

function solve({ inputs: all, offset, correlation: tie }: Given): Solution {
  const base = (index: number): number => at(all, index).value - (index === 0 ? (offset?.value ?? 0) : 0);
  const q = all.reduce((product, { power }, index) => product * base(index) ** power, 1);
  const shares = all.map(({ power, sigma }, index) => (q * power * sigma) / base(index));
  const offsetShare = offset === null ? 0 : (q * at(all, 0).power * offset.sigma) / base(0);
  const squares = [...shares, offsetShare].reduce((sum, share) => sum + share ** 2, 0);
  const cross = tie === null ? 0 : 2 * tie.value * at(shares, tie.pair[0]) * at(shares, tie.pair[1]);
  const relative = Math.sqrt(all.reduce((sum, { sigma, value }) => sum + (sigma / value) ** 2, 0)) * q;
  return {
    parts: [
      { name: "q", value: q, unit: "", relative: 0.002 },
      { name: "u", value: Math.sqrt(squares + cross), unit: "", relative: 0.02 },
    ],
    slips: [
      [q, [...shares, offsetShare].reduce((sum, share) => sum + Math.abs(share), 0)],
      [q, relative],
      ...(tie === null
        ? []
        : [
            [q, Math.sqrt(squares)],
            [q, Math.sqrt(Math.max(squares - cross, 0))],
          ]),
      [q * 1.05, Math.sqrt(squares + cross)],
    ],
    steps: 2 * all.length + (offset === null ? 0 : 3) + (tie === null ? 0 : 2),
  };
}

function formula({ inputs: all, offset }: Given): string {
  return all
    .map(({ name, power }, index) => {
      const text = index === 0 && offset !== null ? `(${name} - ${offset.name})` : name;
      return power === 1 ? text : `${text}^(${power})`;
    })
    .join(" * ");
}

function inputs({ inputs: all, offset }: Given): string {
  return [...all, ...(offset === null ? [] : [offset])]
    .map(({ name, value, sigma }) => `${name} = ${value} ± ${sigma}`)
    .join(", ");
}

function correlation({ inputs: all, correlation: tie }: Given): string {
  return tie === null
    ? "The inputs are independent."
    : `The errors of ${at(all, tie.pair[0]).name} and ${at(all, tie.pair[1]).name} have the correlation coefficient ${tie.value}; all others are independent.`;
}
