/** colligative-mixture: freezing point, boiling point and osmotic pressure of several solutes, one with an unknown molar mass. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal, rounded } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Solute {
  /** In g, and g/mol. */
  mass: number;
  molar: number;
  /** Particles of a unit that is split completely, and the part that is split, in percent. */
  ions: number;
  split: number;
}

interface Given {
  /** In g, with its constants in K kg/mol. */
  solvent: number;
  freezing: number;
  boiling: number;
  solutes: Solute[];
  /** Mass in g of another solute, one that does not split, and the lowering of the freezing point with it; null: none. */
  unknown: { mass: number; lowering: number } | null;
}

/** By level: known solutes, whether they split, partly split, unknown molar mass. */
const KNOBS = [
  [1, true, false, false],
  [2, true, false, false],
  [2, true, true, false],
  [2, true, true, true],
  [4, true, true, true],
] as const;

export const colligativeMixture = quantityRow<Given>({
  id: "colligative-mixture",
  asks: "freezing and boiling points of a mixture of solutes that dissociate, and an unknown molar mass",
  draw,
  solve,
  isShared: true,
  asides: [
    "The thermometer is 30 cm long.",
    "The solution looks slightly blue and was stirred for 8 minutes.",
    "The beaker holds 800 mL.",
    "The salts were dried at 120 °C.",
  ],
  wordings: [
    (one, aside) =>
      `In ${one.solvent} g of a solvent (cryoscopic constant ${one.freezing} K kg/mol, ebullioscopic constant ${one.boiling} K kg/mol) are dissolved ${soluteList(one)}. ${aside} Solutions are ideal and nothing dissolved is volatile. Find ${wanted(one)}.`,
    (one, aside) =>
      `${aside} Dissolved: ${soluteList(one)}. Solvent: ${one.solvent} g; its molal constants are ${one.freezing} K kg/mol for freezing and ${one.boiling} K kg/mol for boiling. Treat everything as ideal and not volatile, and compute ${wanted(one)}.`,
    (one, aside) =>
      `Wanted: ${wanted(one)}. The solution consists of ${one.solvent} g of solvent and ${soluteList(one)}. ${aside} A mole of particles in a kilogram of this solvent lowers the freezing point by ${one.freezing} K and raises the boiling point by ${one.boiling} K.`,
    (one, aside) =>
      `Count particles. A chemist adds ${soluteList(one)} to ${one.solvent} g of a liquid with Kf = ${one.freezing} K kg/mol and Kb = ${one.boiling} K kg/mol. ${aside} Ideal behaviour, no volatile solute. What follows for ${wanted(one)}?`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [count, hasIons, isPartial, hasUnknown] = at(KNOBS, level - 1);
  const solutes = range(count).map((index): Solute => {
    const ions = hasIons && index === 0 ? 2 + rng.integer(3) : 1 + rng.integer(3);
    return {
      mass: decimal(rng, 1, 25, 1),
      molar: decimal(rng, 55, 260, 1),
      ions,
      split: ions === 1 ? 0 : isPartial ? decimal(rng, 20, 95) : 100,
    };
  });
  const solvent = decimal(rng, 200, 900);
  const freezing = decimal(rng, 1.5, 7, 2);
  const mass = decimal(rng, 3, 30, 1);
  const own = mass / decimal(rng, 60, 400);
  const lowering = rounded((freezing * (particles(solutes) + own)) / (solvent / 1000), 3);
  return {
    solvent,
    freezing,
    boiling: decimal(rng, 0.5, 3.5, 2),
    solutes,
    unknown: hasUnknown ? { mass, lowering } : null,
  };
}

/** Moles of particles. */
function particles(solutes: readonly Solute[]): number {
  return solutes.reduce(
    (sum, { mass, molar, ions, split }) => sum + (mass / molar) * (1 + ((ions - 1) * split) / 100),
    0,
  );
}

function solve(given: Given): Solution | null {
  const { solvent, freezing, boiling, solutes, unknown } = given;
  const kilograms = solvent / 1000;
  const whole = solutes.map((one) => ({ ...one, split: 0 }));
  const full = solutes.map((one) => ({ ...one, split: 100 }));
  const isPartial = solutes.some(({ ions, split }) => ions > 1 && split < 100);
  const steps = 2 * solutes.length + solutes.filter(({ ions }) => ions > 1).length + (isPartial ? solutes.length : 0);
  if (unknown === null) {
    const answer = (list: readonly Solute[]): number[] => [
      (freezing * particles(list)) / kilograms,
      (boiling * particles(list)) / kilograms,
    ];
    const [down = 0, up = 0] = answer(solutes);
    return {
      parts: [
        { name: "dTf", value: down, unit: "K", isStep: true },
        { name: "dTb", value: up, unit: "K", isStep: true },
      ],
      slips: [answer(whole), [up, down], ...(isPartial ? [answer(full)] : [])],
      steps,
    };
  }
  const moles = (list: readonly Solute[]): number => (unknown.lowering * kilograms) / freezing - particles(list);
  const rise = (boiling * unknown.lowering) / freezing;
  const own = moles(solutes);
  if (own < 0.2 * particles(solutes) || moles(full) <= 0) return null;
  return {
    parts: [
      { name: "M", value: unknown.mass / own, unit: "g/mol", relative: 0.02 },
      { name: "dTb", value: rise, unit: "K", isStep: true },
    ],
    slips: [
      [unknown.mass / moles(whole), rise],
      [unknown.mass / moles([]), rise],
      ...(isPartial ? [[unknown.mass / moles(full), rise]] : []),
    ],
    steps: steps + 3,
  };
}

function soluteList({ solutes, unknown }: Given): string {
  const known = solutes.map(({ mass, molar, ions, split }) => {
    const kind = ions === 1 ? "which stays whole" : `${split} % of which splits into ${ions} ions per unit`;
    return `${mass} g of a substance with ${molar} g/mol, ${kind}`;
  });
  const other = unknown === null ? [] : [`${unknown.mass} g of a substance of unknown molar mass, which stays whole`];
  return [...known, ...other].join("; ");
}

function wanted({ unknown }: Given): string {
  return unknown === null
    ? "the lowering dTf of the freezing point and the rise dTb of the boiling point"
    : `the unknown molar mass M and the rise dTb of the boiling point, given that the freezing point is ${unknown.lowering} K below that of the pure solvent`;
}
