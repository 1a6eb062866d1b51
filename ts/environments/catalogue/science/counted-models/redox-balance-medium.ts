/** redox-balance-medium: the smallest whole coefficients of an ionic redox equation in acid or base, and the electrons that move. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { gcd, lcm } from "../../math/number-theory.ts";
import { ratio, textOf } from "../../math/rational.ts";
import type { Level } from "../../row.ts";

/** A couple: atoms of the element, oxygen and hydrogen, and the charge, of both forms. */
interface Form {
  text: string;
  atoms: number;
  oxygen: number;
  hydrogen: number;
  charge: number;
}

interface Couple {
  oxidised: Form;
  reduced: Form;
}

interface Given {
  oxidants: Couple[];
  reductants: Couple[];
  isBase: boolean;
  /** Millimoles of the oxidising substance. */
  amount: number;
  /** Least and most electrons of the equation. */
  electrons: [number, number];
}

/** Atoms of the element, oxygen, hydrogen, and the charge. */
const form = (text: string, [atoms, oxygen, hydrogen, charge]: readonly [number, number, number, number]): Form => ({
  text,
  atoms,
  oxygen,
  hydrogen,
  charge,
});
const COUPLES: readonly Couple[] = [
  { oxidised: form("MnO4-", [1, 4, 0, -1]), reduced: form("Mn2+", [1, 0, 0, 2]) },
  { oxidised: form("MnO4-", [1, 4, 0, -1]), reduced: form("MnO2", [1, 2, 0, 0]) },
  { oxidised: form("Cr2O7 2-", [2, 7, 0, -2]), reduced: form("Cr3+", [1, 0, 0, 3]) },
  { oxidised: form("NO3-", [1, 3, 0, -1]), reduced: form("NO", [1, 1, 0, 0]) },
  { oxidised: form("NO3-", [1, 3, 0, -1]), reduced: form("NH4+", [1, 0, 4, 1]) },
  { oxidised: form("NO3-", [1, 3, 0, -1]), reduced: form("N2O", [2, 1, 0, 0]) },
  { oxidised: form("IO3-", [1, 3, 0, -1]), reduced: form("I2", [2, 0, 0, 0]) },
  { oxidised: form("BrO3-", [1, 3, 0, -1]), reduced: form("Br-", [1, 0, 0, -1]) },
  { oxidised: form("ClO3-", [1, 3, 0, -1]), reduced: form("Cl2", [2, 0, 0, 0]) },
  { oxidised: form("SO4 2-", [1, 4, 0, -2]), reduced: form("H2S", [1, 0, 2, 0]) },
  { oxidised: form("SO4 2-", [1, 4, 0, -2]), reduced: form("S2O3 2-", [2, 3, 0, -2]) },
  { oxidised: form("H3AsO4", [1, 4, 3, 0]), reduced: form("AsH3", [1, 0, 3, 0]) },
  { oxidised: form("Fe3+", [1, 0, 0, 3]), reduced: form("Fe2+", [1, 0, 0, 2]) },
  { oxidised: form("Sn4+", [1, 0, 0, 4]), reduced: form("Sn2+", [1, 0, 0, 2]) },
  { oxidised: form("CO2", [1, 2, 0, 0]), reduced: form("C2O4 2-", [2, 4, 0, -2]) },
  { oxidised: form("VO2+", [1, 2, 0, 1]), reduced: form("V3+", [1, 0, 0, 3]) },
  { oxidised: form("HPO4 2-", [1, 4, 1, -2]), reduced: form("P4", [4, 0, 0, 0]) },
  { oxidised: form("BiO3-", [1, 3, 0, -1]), reduced: form("Bi3+", [1, 0, 0, 3]) },
];
/** Element of each couple, so that an equation has each once. */
const ELEMENTS = ["Mn", "Mn", "Cr", "N", "N", "N", "I", "Br", "Cl", "S", "S", "As", "Fe", "Sn", "C", "V", "P", "Bi"];
/** By level: least and most electrons of the whole equation, base possible, reductants that share one oxidant. */
const SIZES = [
  [1, 5, false, 1],
  [6, 9, true, 1],
  [10, 19, true, 1],
  [20, 60, true, 1],
  [61, 100_000, true, 2],
] as const;

export const redoxBalanceMedium = fieldRow<Given>({
  id: "redox-balance-medium",
  asks: "the smallest whole coefficients of an ionic redox equation in acid or base, with the electrons that move",
  draw,
  solve,
  values: (one) =>
    `${speciesOf(one)
      .map((text, index) => `c${index + 1} is the coefficient of ${text}`)
      .join(
        ", ",
      )}; ion and water are those of ${ionOf(one)} and H2O, positive on the right and negative on the left of the arrow; electrons is the number of electrons that move; needed is the exact amount in millimoles of ${one.reductants[0]?.reduced.text} that ${one.amount} mmol of ${one.oxidants[0]?.oxidised.text} use up`,
  wordings: [
    (one) => `Balance this redox reaction in ${medium(one)}:\n\n${skeleton(one)}\n\n${rule(one)}`,
    (one) => `${rule(one)}\n\nIn ${medium(one)} the following happens:\n${skeleton(one)}\nFind the complete equation.`,
    (one) =>
      `A student wrote down only the substances that change: ${skeleton(one)}. The medium is ${medium(one)}. ${rule(one)} Complete and balance it.`,
    (one) =>
      `Complete the ionic equation with ${ionOf(one)} and water.\nMedium: ${medium(one)}.\n${skeleton(one)}\n${rule(one)}`,
  ],
});

function rule({ reductants }: Given): string {
  const amounts =
    reductants.length > 1
      ? ` The two reducing substances (${reductants.map(({ reduced }) => reduced.text).join(" and ")}) react in such amounts that each gives the same number of electrons.`
      : "";
  return `Atoms and charge balance, all coefficients are the smallest whole numbers, and electrons do not appear in the equation.${amounts}`;
}

function draw(rng: Rng, level: Level): Given | null {
  const [least, most, mayBeBase, count] = at(SIZES, level - 1);
  const chosen = sample(range(COUPLES.length), count + 1, rng);
  if (new Set(chosen.map((one) => ELEMENTS[one])).size < chosen.length) return null;
  const [first, ...others] = chosen.map((one) => at(COUPLES, one));
  if (first === undefined) return null;
  return {
    oxidants: [first],
    reductants: others,
    isBase: mayBeBase && rng.integer(2) === 0,
    amount: between(rng, 11, 199),
    electrons: [least, most],
  };
}

/** Forms for one change in acid: oxidised a + b H+ + e electrons -> reduced c + w H2O. */
function halfOf({ oxidised, reduced }: Couple): {
  a: number;
  c: number;
  water: number;
  acid: number;
  electrons: number;
} {
  const all = lcm(oxidised.atoms, reduced.atoms);
  const [a, c] = [all / oxidised.atoms, all / reduced.atoms];
  const water = a * oxidised.oxygen - c * reduced.oxygen;
  const acid = c * reduced.hydrogen + 2 * water - a * oxidised.hydrogen;
  return { a, c, water, acid, electrons: a * oxidised.charge + acid - c * reduced.charge };
}

function balanced({ oxidants, reductants, isBase }: Given): number[] | null {
  const halves = [...oxidants, ...reductants].map(halfOf);
  if (halves.some(({ electrons }) => electrons <= 0)) return null;
  const shares = reductants.length;
  const common = halves.reduce((all, { electrons }) => lcm(all, electrons), 1);
  const signed = halves.map(({ electrons }, index) =>
    index === 0 ? (shares * common) / electrons : -common / electrons,
  );
  const sum = (of: (half: (typeof halves)[number]) => number): number =>
    halves.reduce((total, half, index) => total + of(half) * at(signed, index), 0);
  const coefficients = halves.flatMap(({ a, c }, index) => [
    a * Math.abs(at(signed, index)),
    c * Math.abs(at(signed, index)),
  ]);
  const acid = sum((half) => half.acid);
  const water = sum((half) => half.water);
  // In base as many OH- are added on both sides as there are H+, which become water.
  const all = [...coefficients, isBase ? acid : -acid, isBase ? water - acid : water, shares * common];
  // The electrons do not stand in the equation, so they do not keep it from being shortened.
  const divisor = all.slice(0, -1).reduce((one, value) => gcd(one, Math.abs(value)), 0);
  return all.map((value) => value / divisor || 0);
}

function solve(given: Given): Solution | null {
  const all = balanced(given);
  if (all === null || all.some((value) => !Number.isInteger(value))) return null;
  const electrons = all.at(-1) ?? 0;
  const [least, most] = given.electrons;
  const fits = electrons >= least && electrons <= most;
  const acid = balanced({ ...given, isBase: !given.isBase });
  if (!fits || acid === null || all.at(-3) === 0) return null;
  const names = [...all.slice(0, -3).map((_, index) => `c${index + 1}`), "ion", "water", "electrons", "needed"];
  const texts = (values: readonly number[]): string[] => [
    ...values.map(String),
    textOf(ratio(given.amount * at(values, 3), at(values, 0))),
  ];
  return {
    fields: texts(all).map((value, index) => ({ name: at(names, index), kind: "number", value })),
    slips: [texts(acid), texts(all.map((value, index) => (index < all.length - 3 ? 1 : value * 2 + 1)))],
    steps: electrons,
  };
}

/** Substances in the order of the coefficients. */
function speciesOf({ oxidants, reductants }: Given): string[] {
  return [
    ...oxidants.flatMap(({ oxidised, reduced }) => [oxidised.text, reduced.text]),
    ...reductants.flatMap(({ oxidised, reduced }) => [oxidised.text, reduced.text]),
  ];
}

function ionOf({ isBase }: Given): string {
  return isBase ? "OH-" : "H+";
}

function medium({ isBase }: Given): string {
  return isBase ? "basic solution" : "acidic solution";
}

function skeleton({ oxidants, reductants }: Given): string {
  const left = [...oxidants.map(({ oxidised }) => oxidised.text), ...reductants.map(({ reduced }) => reduced.text)];
  const right = [...oxidants.map(({ reduced }) => reduced.text), ...reductants.map(({ oxidised }) => oxidised.text)];
  return `${left.join(" + ")} -> ${right.join(" + ")}`;
}
