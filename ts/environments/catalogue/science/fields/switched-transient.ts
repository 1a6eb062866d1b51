/** switched-transient: a capacitor or coil is switched from circuit to circuit before it comes to rest. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal, rounded } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Stage {
  /** In V; 0 stands for a wire in place of the source. */
  source: number;
  /** In series with the source, and across the element (0: none), in ohm. */
  series: number;
  across: number;
  /** In ms. */
  duration: number;
}

interface Given {
  /** A capacitor in µF, or a coil in mH. */
  kind: "capacitor" | "coil";
  size: number;
  /** At the beginning: V of a capacitor, A of a coil. */
  start: number;
  stages: Stage[];
}

/** By level: stages, resistor across, charged at the start. */
const KNOBS = [
  [1, false, false],
  [1, true, true],
  [2, true, true],
  [3, true, true],
  [5, true, true],
] as const;

export const switchedTransient = quantityRow<Given>({
  id: "switched-transient",
  asks: "voltage or current, energy and heat after a capacitor or coil was switched several times",
  draw,
  solve,
  isShared: true,
  asides: [
    "The switch has 8 contacts.",
    "The resistors are 9 mm long.",
    "The room is at 23 °C.",
    "The oscilloscope shows 12 divisions.",
  ],
  wordings: [
    (one, aside) =>
      `${elementText(one)} A switch connects it to one circuit after the other without delay:\n${stageList(one)}\n${aside} What are ${wanted(one)}?`,
    (one, aside) =>
      `Find ${wanted(one)}. ${aside} The element is switched through these stages, each beginning where the one before ends:\n${stageList(one)}\n${elementText(one)}`,
    (one, aside) =>
      `Transients, stage by stage:\n${stageList(one)}\n${elementText(one)} All parts are ideal. ${aside} Determine ${wanted(one)}.`,
    (one, aside) =>
      `A relay works through the following programme.\n${stageList(one)}\n${aside} What it switches: ${elementText(one)} Give ${wanted(one)}. No stage lasts long enough to reach its steady state.`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [count, hasAcross, isCharged] = at(KNOBS, level - 1);
  const kind = rng.pick(["capacitor", "coil"] as const);
  const size = kind === "capacitor" ? decimal(rng, 5, 400) : decimal(rng, 20, 900);
  const stages = range(count).map((index): Stage => {
    const [series, across] = [
      between(rng, 2, 90) * (kind === "capacitor" ? 10 : 1),
      between(rng, 4, 120) * (kind === "capacitor" ? 10 : 1),
    ];
    const stage = {
      source: index > 0 && rng.integer(3) === 0 ? 0 : decimal(rng, -24, 24),
      series,
      across: hasAcross && (index === 0 || rng.integer(2) === 0) ? across : 0,
      duration: 1,
    };
    const constant = 1000 * timeConstant({ kind, size }, stage);
    return { ...stage, duration: rounded((constant * between(rng, 4, 16)) / 10, 2) };
  });
  return { kind, size, start: isCharged ? decimal(rng, 1, 9, 1) * (kind === "coil" ? 0.1 : 1) : 0, stages };
}

/** In s: R C or L / R of the resistance that the element sees. */
function timeConstant({ kind, size }: Pick<Given, "kind" | "size">, { series, across }: Stage): number {
  const seen = across === 0 ? series : (series * across) / (series + across);
  return kind === "capacitor" ? seen * size * 1e-6 : (size * 1e-3) / seen;
}

/** Where the element would end: V of a capacitor, A of a coil. */
function target({ kind }: Pick<Given, "kind">, { source, series, across }: Stage): number {
  if (kind === "coil") return source / series;
  return across === 0 ? source : (source * across) / (series + across);
}

function solve(given: Given): Solution | null {
  const run = (change: (stage: Stage, value: number) => number): number =>
    given.stages.reduce((value, stage) => change(stage, value), given.start);
  const exact = (stage: Stage, value: number): number => {
    const end = target(given, stage);
    return end + (value - end) * Math.exp(-stage.duration / 1000 / timeConstant(given, stage));
  };
  const value = run(exact);
  const steady = run((stage) => target(given, stage));
  const loose = run((stage, before) => exact({ ...stage, across: 0 }, before));
  const alone = run((stage) => exact(stage, 0));
  const amount = (x: number): number =>
    0.5 * (given.kind === "capacitor" ? given.size * 1e-6 : given.size * 1e-3) * x ** 2 * 1000;
  const scale = Math.max(...given.stages.map((stage) => Math.abs(target(given, stage))), Math.abs(given.start));
  if (
    scale === 0 ||
    Math.abs(value) < 0.05 * scale ||
    given.stages.some(({ source }, index) => index === 0 && source === 0)
  )
    return null;
  const [name, unit] = given.kind === "capacitor" ? ["V", "V"] : ["I", "A"];
  const hasAcross = given.stages.some(({ across }) => across > 0);
  return {
    parts: [
      { name, value, unit },
      { name: "E", value: amount(value), unit: "mJ", relative: 0.02 },
    ],
    slips: [
      steady,
      ...(hasAcross ? [loose] : []),
      ...(given.start === 0 && given.stages.length === 1 ? [] : [alone]),
    ].map((x) => [x, amount(x)]),
    steps: given.stages.reduce((sum, { across }) => sum + 3 + (across > 0 ? 1 : 0), given.start === 0 ? 0 : 1),
  };
}

function elementText({ kind, size, start }: Given): string {
  const [unit, state] =
    kind === "capacitor" ? ["µF", `has ${start} V between its terminals`] : ["mH", `carries ${rounded(start, 2)} A`];
  return `The element is a ${kind} of ${size} ${unit}, which at the beginning ${state}.`;
}

function stageList({ kind, stages }: Given): string {
  return stages
    .map(({ source, series, across, duration }, index) => {
      const drive = source === 0 ? "no source, only a closed loop" : `a source of ${source} V`;
      const load = across === 0 ? "" : ` and ${across} ohm in parallel with the ${kind}`;
      return `${index + 1}. for ${duration} ms: ${drive} with ${series} ohm in series${load}`;
    })
    .join("\n");
}

function wanted({ kind }: Given): string {
  return kind === "capacitor"
    ? "the voltage V of the capacitor at the end (positive in the sense of the initial voltage and of positive sources) and the energy E in it then"
    : "the current I of the coil at the end (positive in the sense of the initial current and of positive sources) and the energy E in it then";
}
