/** enzyme-inhibitor-call: constants of an enzyme and the kind of inhibition from rates with and without inhibitors. */
import type { Rng } from "../../../../random/rng.ts";
import { roundToFigures } from "../../../../verify/index.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

const KINDS = ["competitive", "uncompetitive", "noncompetitive"] as const;
type Kind = (typeof KINDS)[number];

interface Given {
  /** Substrate concentrations in mmol/L. */
  substrate: number[];
  /** Rates in µmol/min without inhibitor. */
  free: number[];
  inhibitors: { concentration: number; rates: number[] }[];
}

/** By level: inhibitors, substrate concentrations. */
const KNOBS = [
  [1, 2],
  [1, 3],
  [2, 3],
  [3, 3],
  [3, 5],
] as const;
/** Rates are rounded to so many figures. */
const FIGURES = 5;
/** Apparent constants that are this close are equal. */
const EQUAL = 0.01;

export const enzymeInhibitorCall = quantityRow<Given>({
  id: "enzyme-inhibitor-call",
  asks: "Michaelis constants of an enzyme, and kind and constant of each inhibitor, from rates",
  draw,
  solve,
  asides: [
    "The enzyme has a molar mass of 62000 g/mol.",
    "All runs were made at 37 °C and pH 7.4.",
    "A run took 5 minutes.",
    "The cuvette is 1 cm wide.",
  ],
  wordings: [
    (one, aside) =>
      `Initial rates of an enzyme that follows Michaelis and Menten:\n${table(one)}\n${aside} Every inhibitor is purely competitive, purely uncompetitive or purely noncompetitive (one constant, binding to enzyme and complex alike). Find Vmax and Km of the enzyme alone, and of each inhibitor its kind and its constant, ${names(one)}.`,
    (one, aside) =>
      `Find ${names(one)}, and first of all Km and Vmax without inhibitor. ${aside} Competitive inhibitors bind to the free enzyme only, uncompetitive ones to the complex with the substrate only, noncompetitive ones to both with the same constant. Measured:\n${table(one)}`,
    (one, aside) =>
      `A laboratory tested substances that slow an enzyme down (simple Michaelis-Menten kinetics; each is a competitive, an uncompetitive, or a noncompetitive inhibitor with equal constants for both forms).\n${table(one)}\n${aside} Report Vmax, Km (both of the uninhibited enzyme) and ${names(one)}.`,
    (one, aside) =>
      `From the table below determine Vmax and Km of the enzyme, then ${names(one)}. Kinds: competitive (only Km changes), uncompetitive (Km and Vmax fall by one factor), noncompetitive (only Vmax changes). ${aside}\n${table(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [inhibitors, points] = at(KNOBS, level - 1);
  const [vmax, km] = [decimal(rng, 20, 180, 1), decimal(rng, 0.4, 6, 2)];
  const substrate = range(points).map((index) => Number(roundToFigures(km * 0.35 * 2.1 ** index, 2)));
  const rate = (s: number, a: number, b: number): number =>
    Number(roundToFigures((vmax * s) / (km * a + s * b), FIGURES));
  return {
    substrate,
    free: substrate.map((s) => rate(s, 1, 1)),
    inhibitors: range(inhibitors).map(() => {
      const kind: Kind = rng.pick(KINDS);
      const concentration = decimal(rng, 0.5, 9, 1);
      const factor = 1 + concentration / decimal(rng, 0.8, 8, 2);
      return {
        concentration,
        rates: substrate.map((s) =>
          rate(s, kind === "uncompetitive" ? 1 : factor, kind === "competitive" ? 1 : factor),
        ),
      };
    }),
  };
}

function solve({ substrate, free, inhibitors }: Given): Solution | null {
  const own = constantsOf(substrate, free);
  const found = inhibitors.map(({ concentration, rates }) => {
    const seen = constantsOf(substrate, rates);
    const slope = seen.km / seen.vmax / (own.km / own.vmax);
    const height = own.vmax / seen.vmax;
    const [slopeMoves, heightMoves] = [slope > 1 + 5 * EQUAL, height > 1 + 5 * EQUAL];
    const kind: Kind = !heightMoves ? "competitive" : slopeMoves ? "noncompetitive" : "uncompetitive";
    const isPure = kind !== "noncompetitive" || Math.abs(slope - height) < EQUAL * slope;
    return { kind, constant: concentration / (Math.max(slope, height) - 1), isPure, seen };
  });
  if (found.some(({ isPure, constant }) => !isPure || constant > 9)) return null;
  const constants = found.map(({ constant }) => constant);
  const [first] = found;
  return {
    parts: [
      { name: "Vmax", value: own.vmax, unit: "µmol/min" },
      { name: "Km", value: own.km, unit: "mmol/L" },
      ...constants.map((value, index) => ({ name: `K${index + 1}`, value, unit: "mmol/L", relative: 0.02 })),
    ],
    words: found.map(({ kind }, index) => ({ name: `kind${index + 1}`, value: kind, options: KINDS })),
    slips: [
      [own.vmax, own.km, ...constants.map((value) => value * 1.5)],
      [Math.max(...free), at(substrate, 0), ...constants],
      [first?.seen.vmax ?? 0, (first?.seen.km ?? 0) * 1.2, ...constants],
    ],
    steps: 2 + substrate.length * (1 + inhibitors.length) + 2 * inhibitors.length,
  };
}

/** By the line of s/v over s (Hanes), with least squares. */
function constantsOf(substrate: readonly number[], rates: readonly number[]): { vmax: number; km: number } {
  const ratios = substrate.map((s, index) => s / at(rates, index));
  const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
  const [x, y] = [mean(substrate), mean(ratios)];
  const slope =
    substrate.reduce((sum, s, index) => sum + (s - x) * (at(ratios, index) - y), 0) /
    substrate.reduce((sum, s) => sum + (s - x) ** 2, 0);
  return { vmax: 1 / slope, km: (y - slope * x) / slope };
}

function names({ inhibitors }: Given): string {
  return inhibitors.map((_, index) => `K${index + 1} and kind${index + 1}`).join(", ");
}

function table({ substrate, free, inhibitors }: Given): string {
  const head = `| substrate (mmol/L) | no inhibitor | ${inhibitors.map(({ concentration }, index) => `inhibitor ${index + 1}, ${concentration} mmol/L`).join(" | ")} |`;
  const rows = substrate.map(
    (s, index) => `| ${s} | ${at(free, index)} | ${inhibitors.map(({ rates }) => at(rates, index)).join(" | ")} |`,
  );
  return `Rates in µmol/min:\n${[head, ...rows].join("\n")}`;
}
