/** phasor-circuit: current, phase and power of a ladder of resistors, coils and capacitors on alternating voltage. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Element {
  kind: "R" | "L" | "C";
  /** In ohm, mH or µF. */
  size: number;
}

interface Given {
  /** Effective value in V, and Hz. */
  voltage: number;
  frequency: number;
  /** Sections of a ladder from the source on: elements in series, then elements across; the last may have none across. */
  sections: { series: Element[]; across: Element[] }[];
}

type Complex = readonly [real: number, imaginary: number];

/** By level: elements in series and across in each section. */
const KNOBS = [
  [[2, 0]],
  [[3, 0]],
  [[1, 2]],
  [
    [1, 1],
    [2, 0],
  ],
  [
    [1, 1],
    [1, 2],
    [2, 0],
  ],
] as const;
const UNITS = { R: "ohm", L: "mH", C: "µF" };
const WORDS = { R: "resistor", L: "coil", C: "capacitor" };

export const phasorCircuit = quantityRow<Given>({
  id: "phasor-circuit",
  asks: "current, phase angle and power that an alternating source gives to a ladder of resistors, coils, capacitors",
  draw,
  solve,
  isShared: true,
  asides: [
    "The cable to the source is 3 m long and ideal.",
    "The coils have 400 turns.",
    "The box of the fuses is 30 cm wide.",
    "The meter was calibrated 5 months ago.",
  ],
  wordings: [
    (one, aside) =>
      `An alternating source of ${one.voltage} V (effective) at ${one.frequency} Hz feeds a ladder of ideal elements: ${ladderText(one)}. ${aside} Find the effective current I from the source, the angle phi by which the voltage leads the current (negative if it lags), and the mean power P.`,
    (one, aside) =>
      `Sinusoidal steady state, ${one.frequency} Hz. ${aside} Starting at the terminals of the supply there are ${ladderText(one)}. The supply has ${one.voltage} V rms.\n\nHow much power P does it deliver on average, which rms current I does it give, and how far (phi) is that current behind the voltage? A current ahead counts as negative.`,
    (one, aside) =>
      `Asked: I (rms, at the source), phi (phase of the source's voltage relative to its current, signed), P (real power). ${aside} Circuit, going away from the source: ${ladderText(one)}. Source: ${one.voltage} V rms, ${one.frequency} Hz; no element has losses except the resistors.`,
    (one, aside) =>
      `A generator holds ${one.voltage} V rms between its clamps and runs at ${one.frequency} Hz. What hangs on it: ${ladderText(one)}. ${aside} Compute the real power P, the current I it supplies (rms), and the phase angle phi of the total impedance with its sign.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const element = (): Element => {
    const kind = rng.pick(["R", "L", "C"] as const);
    return {
      kind,
      size: kind === "R" ? decimal(rng, 10, 300) : kind === "L" ? decimal(rng, 20, 900) : decimal(rng, 2, 90, 1),
    };
  };
  const sections = at(KNOBS, level - 1).map(([series, across]) => ({
    series: range(series).map(element),
    across: range(across).map(element),
  }));
  const all = sections.flatMap(({ series, across }) => [...series, ...across]);
  const kinds = new Set(all.map(({ kind }) => kind));
  if (!kinds.has("R") || kinds.size < Math.min(3, all.length)) return null;
  // Elements of one kind beside each other would be one element.
  const isMixed = sections.every(({ series, across }) =>
    [series, across].every((list) => new Set(list.map(({ kind }) => kind)).size === list.length),
  );
  return isMixed ? { voltage: decimal(rng, 10, 240), frequency: decimal(rng, 40, 400), sections } : null;
}

function solve(given: Given): Solution | null {
  const { voltage, frequency, sections } = given;
  const w = 2 * Math.PI * frequency;
  const impedance = ({ kind, size }: Element): Complex =>
    kind === "R" ? [size, 0] : kind === "L" ? [0, w * size * 1e-3] : [0, -1 / (w * size * 1e-6)];
  const reduced = (own: (element: Element) => Complex): Complex => {
    let total: Complex | null = null;
    for (const { series, across } of sections.toReversed()) {
      const shunts: Complex[] = [...(total === null ? [] : [total]), ...across.map(own)];
      const behind = shunts.length === 0 ? ([0, 0] as const) : inverse(shunts.map(inverse).reduce(plus));
      total = series.map(own).reduce(plus, behind);
    }
    return total ?? [0, 0];
  };
  const answer = ([re, im]: Complex): number[] => {
    const current = voltage / Math.hypot(re, im);
    return [current, (Math.atan2(im, re) * 180) / Math.PI, re * current ** 2];
  };
  const z = reduced(impedance);
  const [I = 0, phi = 0, power = 0] = answer(z);
  if (Math.abs(phi) < 5 || Math.abs(phi) > 85 || I < 0.01) return null;
  const sizes = reduced((element) => [Math.hypot(...impedance(element)), 0]);
  const swapped = reduced((element) => [impedance(element)[0], -impedance(element)[1]]);
  const cycles = reduced((element) => {
    const [re, im] = impedance(element);
    return [re, element.kind === "L" ? im / (2 * Math.PI) : im * 2 * Math.PI];
  });
  const count = sections.reduce((sum, { series, across }) => sum + series.length + 2 * across.length, 0);
  return {
    parts: [
      { name: "I", value: I, unit: "A" },
      { name: "phi", value: phi, unit: "°", absolute: 0.5 },
      { name: "P", value: power, unit: "W" },
    ],
    slips: [answer(sizes), answer(swapped), answer(cycles), [I, phi, voltage * I]],
    steps: 2 * count + sections.length,
  };
}

function plus(a: Complex, b: Complex): Complex {
  return [a[0] + b[0], a[1] + b[1]];
}

function inverse([re, im]: Complex): Complex {
  const square = re ** 2 + im ** 2;
  return [re / square, -im / square];
}

function ladderText({ sections }: Given): string {
  const list = (elements: readonly Element[], joint: string): string =>
    elements.map(({ kind, size }) => `a ${WORDS[kind]} of ${size} ${UNITS[kind]}`).join(joint);
  return sections
    .map(({ series, across }, index) => {
      const along = `${list(series, ", ")} in series`;
      const isLast = index === sections.length - 1;
      if (across.length === 0) return `${along}${isLast && index > 0 ? ", closing the circuit" : ""}`;
      return `${along}, then across the line ${list(across, " parallel to ")}`;
    })
    .join("; behind that ");
}
