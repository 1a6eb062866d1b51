/** oscillator-record: the turning points of a damped oscillation give its constants, and these its answer to a driving force. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal, rounded } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Given {
  /** In kg. */
  mass: number;
  /** Successive turning points, on one side and the other: s and mm. */
  record: { time: number; reading: number }[];
  /** Whether the record is read on a scale whose rest mark is not known. */
  isShifted: boolean;
  /** Amplitude in N and angular frequency in rad/s of a force, or null. */
  force: { size: number; frequency: number } | null;
  asksPhase: boolean;
}

/** By level: damped, shifted, driven, phase. */
const KNOBS = [
  [false, false, false, false],
  [true, false, false, false],
  [true, true, false, false],
  [true, true, true, false],
  [true, true, true, true],
] as const;

export const oscillatorRecord = quantityRow<Given>({
  id: "oscillator-record",
  asks: "spring constant, damping and resonance answer from the turning points of an oscillation",
  draw,
  solve,
  isShared: true,
  asides: [
    "The spring has 24 turns.",
    "The scale is 300 mm long and was printed in 2011.",
    "The laboratory is at 22 °C.",
    "The mark on the body is 3 mm wide.",
  ],
  wordings: [
    (one, aside) =>
      `A body of ${one.mass} kg on a spring swings${isDamped(one) ? " with a damping force proportional to its speed" : " without damping"}. ${scaleText(one)} Its turning points were read off as follows:\n${recordTable(one)}\n${aside}\nDetermine ${wanted(one)}.`,
    (one, aside) =>
      `Turning points of an oscillation, one after the other:\n${recordTable(one)}\n${scaleText(one)} ${aside} The oscillating mass is ${one.mass} kg; the restoring force is linear${isDamped(one) ? ", and friction is viscous (force = c times speed)" : ", and friction is absent"}.\n\nWork out ${wanted(one)}.`,
    (one, aside) =>
      `From a log of extreme positions, find ${wanted(one)}. ${aside} ${isDamped(one) ? "The motion obeys m x'' + c x' + k (x - x0) = 0" : "The motion obeys m x'' + k x = 0"} with m = ${one.mass} kg. ${scaleText(one)}\n${recordTable(one)}`,
    (one, aside) =>
      `A ${one.mass} kg mass hangs on a linear spring${isDamped(one) ? " in oil, which brakes it in proportion to its velocity" : " in a vacuum"}, and somebody notes when and where it turns round. ${aside} ${scaleText(one)}\n${recordTable(one)}\nCompute ${wanted(one)}.`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [hasDamping, isShifted, isDriven, asksPhase] = at(KNOBS, level - 1);
  const mass = decimal(rng, 0.1, 2.5, 2);
  const period = decimal(rng, 0.4, 2.6, 3);
  const ratio = hasDamping ? decimal(rng, 0.72, 0.93, 3) : 1;
  const rest = isShifted ? decimal(rng, -60, 140, 1) : 0;
  const start = decimal(rng, 40, 120, 1) * (rng.integer(2) === 0 ? 1 : -1);
  const first = decimal(rng, 0.1, 0.9, 3);
  const record = range(4 + rng.integer(2)).map((index) => ({
    time: rounded(first + (index * period) / 2, 4),
    reading: rounded(rest + start * (-ratio) ** index, 2),
  }));
  const own = (2 * Math.PI) / period;
  const frequency = rounded((own * between(rng, 75, 130)) / 100, 2);
  return { mass, record, isShifted, force: isDriven ? { size: decimal(rng, 0.2, 4, 2), frequency } : null, asksPhase };
}

function solve(given: Given): Solution | null {
  const { mass, record, force } = given;
  const period = (2 * (at(record, record.length - 1).time - at(record, 0).time)) / (record.length - 1);
  // Differences of neighbours do not depend on the rest mark.
  const steps = range(record.length - 1).map((index) => at(record, index + 1).reading - at(record, index).reading);
  const ratio = (Math.abs(at(steps, steps.length - 1)) / Math.abs(at(steps, 0))) ** (1 / (steps.length - 1));
  const seen = (2 * Math.PI) / period;
  const isFree = !isDamped(given);
  const decay = isFree ? 0 : (-2 * Math.log(ratio)) / period;
  const own = seen ** 2 + decay ** 2;
  const k = mass * own;
  const c = 2 * mass * decay;
  if (isFree) {
    return {
      parts: [{ name: "k", value: k, unit: "N/m" }],
      slips: [[4 * k], [mass * (1 / period) ** 2]],
      steps: 2,
    };
  }
  const parts = [
    { name: "k", value: k, unit: "N/m" },
    { name: "c", value: c, unit: "kg/s", relative: 0.02 },
  ];
  // The decay over a half period taken for that over a period, or natural frequency and damping mixed up.
  const answers = [
    [k, c / 2],
    [4 * k, 2 * c],
  ];
  if (force !== null) {
    const w = force.frequency;
    const stiff = own - w ** 2;
    const size = (1000 * force.size) / mass / Math.hypot(stiff, 2 * decay * w);
    const undamped = (1000 * force.size) / mass / Math.abs(stiff);
    if (undamped < 1.05 * size || Math.abs(stiff) < 0.05 * own) return null;
    parts.push({ name: "X", value: size, unit: "mm", relative: 0.02 });
    const phase = (Math.atan2(2 * decay * w, stiff) * 180) / Math.PI;
    const lag = given.asksPhase ? [phase] : [];
    if (given.asksPhase) parts.push({ name: "lag", value: phase, unit: "°", relative: 0.02 });
    answers.splice(0, answers.length, [k, c / 2, size, ...lag], [k, c, undamped, ...lag]);
    if (given.asksPhase) answers.push([k, c, size, 180 - phase]);
  }
  return {
    parts,
    slips: answers,
    steps: 4 + (given.isShifted ? 2 : 0) + (force === null ? 0 : 3) + (given.asksPhase ? 2 : 0),
  };
}

/** Without damping neighbours are equally far apart, wherever the rest mark is. */
function isDamped({ record }: Given): boolean {
  const way = (index: number): number => Math.abs(at(record, index + 1).reading - at(record, index).reading);
  return way(0) !== way(1);
}

function recordTable({ record }: Given): string {
  return record.map(({ time, reading }) => `t = ${time} s: ${reading} mm`).join("\n");
}

function scaleText({ isShifted }: Given): string {
  return isShifted
    ? "The zero of the scale is not the position of rest, which is unknown."
    : "Readings are taken from the position of rest.";
}

function wanted(one: Given): string {
  const { force, asksPhase } = one;
  if (!isDamped(one)) return "the spring constant k";
  const constants = "the spring constant k and the damping constant c";
  if (force === null) return constants;
  const driven = `the amplitude X of the steady motion under an added force ${force.size} N · cos(wt) with w = ${force.frequency} rad/s`;
  return `${constants}, and ${driven}${asksPhase ? ", with the angle lag by which this motion is behind the force" : ""}`;
}
