/** cell-and-electrolysis: voltage of a galvanic cell, what a current changes, and where it ends. */
import type { Rng } from "../../../../random/rng.ts";
import { between, sample } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Part, type Solution } from "../quantity-row.ts";

interface Electrode {
  metal: string;
  /** In g/mol, charges of the ion, V, mol/L, L. */
  molar: number;
  charges: number;
  standard: number;
  concentration: number;
  volume: number;
}

interface Given {
  electrodes: [Electrode, Electrode];
  /** In °C. */
  temperature: number;
  /** In A and h; null: no current flows. With one, the mass that it dissolves is asked. */
  current: { amperes: number; hours: number } | null;
  /** Whether the voltage after the current, and the charge until the cell is empty, are asked. */
  hasAfter: boolean;
  hasEnd: boolean;
}

/** By level: a current flows, the voltage after it, ions of different charges, the charge until the cell is empty. */
const KNOBS = [
  [false, false, false, false],
  [true, false, false, false],
  [true, true, false, false],
  [true, true, true, false],
  [true, true, true, true],
] as const;
const FARADAY = 96_485;
const GAS = 8.314;
const HALVINGS = 60;

export const cellAndElectrolysis = quantityRow<Given>({
  id: "cell-and-electrolysis",
  asks: "voltage of a galvanic cell of two metals, before and after a current, and the charge until it is empty",
  draw,
  solve,
  asides: [
    "The electrodes are 12 cm long.",
    "The salt bridge holds 30 mL.",
    "The voltmeter has 4 digits.",
    "The cell was put together 2 days ago.",
  ],
  wordings: [
    (one, aside) =>
      `A cell has two half cells: ${halves(one)}. It is at ${one.temperature} °C; activities are concentrations in mol/L. ${constants()} ${aside} ${current(one)}Find ${wanted(one)}.`,
    (one, aside) =>
      `Wanted: ${wanted(one)}. ${constants()} Temperature ${one.temperature} °C. Half cells: ${halves(one)}. ${current(one)}${aside} Use concentrations for activities.`,
    (one, aside) =>
      `${halves(one)}: these are joined by a salt bridge and a wire at ${one.temperature} °C. ${aside} ${current(one)}With concentrations as activities, compute ${wanted(one)}. ${constants()}`,
    (one, aside) =>
      `${constants()} Two metals dip into solutions of their own ions, at ${one.temperature} °C: ${halves(one)}. ${current(one)}${aside} What follows (activity = concentration in mol/L) for ${wanted(one)}?`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [flows, hasAfter, isMixed, hasEnd] = at(KNOBS, level - 1);
  const names = sample(["D", "P", "U", "W", "X", "Z"], 2, rng);
  const electrode = (index: number, charges: number): Electrode => ({
    metal: at(names, index),
    molar: decimal(rng, 25, 210, 1),
    charges,
    standard: decimal(rng, -0.9, 0.9, 2),
    concentration: Number((10 ** -decimal(rng, 0, 2.5, 2)).toPrecision(2)),
    volume: decimal(rng, 0.2, 2, 1),
  });
  const charges = !isMixed
    ? [2, 2]
    : rng.pick([
        [1, 2],
        [2, 3],
        [1, 3],
        [3, 2],
        [2, 1],
      ]);
  return {
    electrodes: [electrode(0, at(charges, 0)), electrode(1, at(charges, 1))],
    temperature: level === 1 ? 25 : between(rng, 5, 60),
    current: flows ? { amperes: decimal(rng, 0.02, 0.4, 2), hours: decimal(rng, 0.5, 12, 1) } : null,
    hasAfter,
    hasEnd,
  };
}

function solve(given: Given): Solution | null {
  const { electrodes, temperature, current: flow, hasAfter, hasEnd } = given;
  const kelvin = temperature + 273.15;
  const potential = ({ standard, charges }: Electrode, concentration: number): number =>
    standard + ((GAS * kelvin) / charges / FARADAY) * Math.log(concentration);
  const [a, b] = electrodes;
  const isFirst = potential(a, a.concentration) < potential(b, b.concentration);
  const [anode, cathode] = isFirst ? [a, b] : [b, a];
  const voltage = (moles: number): number =>
    potential(cathode, cathode.concentration - moles / cathode.charges / cathode.volume) -
    potential(anode, anode.concentration + moles / anode.charges / anode.volume);
  const E = voltage(0);
  const moles = flow === null ? 0 : (flow.amperes * flow.hours * 3600) / FARADAY;
  const most = cathode.concentration * cathode.volume * cathode.charges;
  if (E < 0.06 || moles > 0.9 * most || voltage(moles) < 0.02) return null;
  const mass = (moles / anode.charges) * anode.molar;
  const parts: Part[] = [{ name: "E", value: E, unit: "V", relative: 0, absolute: 0.002 }];
  const slips: number[][] = [
    [cathode.standard - anode.standard],
    [E / 2],
    [potential(anode, cathode.concentration) * -1 + potential(cathode, anode.concentration)],
  ];
  const add = (part: Part, ...wrong: number[]): void => {
    for (const slip of slips) slip.push(part.value);
    for (const value of wrong) slips.push([...parts.map((one) => one.value), value]);
    parts.push(part);
  };
  if (flow !== null) add({ name: "m", value: mass, unit: "g" }, mass * anode.charges, mass / 3600);
  if (hasAfter) {
    const after = voltage(moles);
    add({ name: "E2", value: after, unit: "V", relative: 0, absolute: 0.002 }, E, cathode.standard - anode.standard);
  }
  if (hasEnd) {
    let [low, high] = [0, most * (1 - 1e-15)];
    for (let turn = 0; turn < HALVINGS; turn++) {
      const middle = (low + high) / 2;
      if (voltage(middle) > 0) low = middle;
      else high = middle;
    }
    const charge = (low * FARADAY) / 3600;
    add({ name: "Q", value: charge, unit: "A h" }, (charge * 1.2) / anode.charges + charge);
  }
  return {
    parts,
    words: [{ name: "anode", value: anode.metal, options: electrodes.map(({ metal }) => metal) }],
    slips,
    steps: 3 + 3 * (parts.length - 1) + (a.charges === b.charges ? 0 : 2) + (hasEnd ? 2 : 0),
  };
}

function halves({ electrodes }: Given): string {
  return electrodes
    .map(
      ({ metal, molar, charges, standard, concentration, volume }) =>
        `metal ${metal} (${molar} g/mol) in ${volume} L of a solution with ${concentration} mol/L of ${metal}${charges}+, standard potential ${standard} V`,
    )
    .join("; ");
}

function current({ current: flow }: Given): string {
  return flow === null
    ? ""
    : `It then gives a current of ${flow.amperes} A for ${flow.hours} h; volumes stay as they are and the metals do not run out. `;
}

function constants(): string {
  return `F = ${FARADAY} C/mol, R = ${GAS} J/(mol K), 0 °C = 273.15 K.`;
}

function wanted({ current: flow, hasAfter, hasEnd }: Given): string {
  const mass = flow === null ? "" : ", m, the mass that has dissolved";
  const after = hasAfter ? ", E2, the voltage after the current" : "";
  const end = hasEnd ? ", Q, the charge that the fresh cell could give in all until its voltage is 0" : "";
  return `E, the voltage before a current flows, and anode, the metal that dissolves${mass}${after}${end}`;
}
