/** level-scheme-lines: energy levels of an atom from a list of its lines, some of which are missing. */
import { sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  /** Excited levels. */
  count: number;
  /** Ascending, in thousandths of an electronvolt. */
  lines: number[];
}

/** By level: excited levels, lines that are missing. */
const KNOBS = [
  [3, 0],
  [4, 1],
  [5, 0],
  [5, 2],
  [6, 3],
] as const;
const MOST_ENERGY = 9000;

export const levelSchemeLines = fieldRow<Given>({
  id: "level-scheme-lines",
  asks: "energy levels of an atom from the list of its lines, of which some are missing",
  draw,
  solve,
  values: () => "E1 is the lowest excited level and so on, each as a whole number of meV above the ground level",
  wordings: [
    (one) =>
      `An atom has a ground level and ${one.count} excited levels. Every transition between two levels can give a line whose energy is their difference. Seen were lines at (meV):\n${one.lines.join(", ")}\n${facts(one)} Find the levels.`,
    (one) =>
      `Energies of photons in meV: ${one.lines.join(", ")}. They come from jumps among ${one.count + 1} levels, the lowest of which is at 0. ${facts(one)} Which energies have the others?`,
    (one) =>
      `Level scheme wanted: ${one.count} levels above the ground level that explain each of these lines as one difference of two levels, in meV.\n${one.lines.join(", ")}\n${facts(one)}`,
    (one) =>
      `Decode a spectrum. Lines (meV), from the weakest energy up: ${one.lines.join(", ")}. The emitter has ${one.count + 1} levels. ${facts(one)} State the energies of all but the lowest.`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [count, missing] = at(KNOBS, level - 1);
  const levels = sample(range(MOST_ENERGY), count, rng)
    .map((energy) => energy + 400)
    .toSorted((a, b) => a - b);
  const between = differences(levels);
  if (new Set([...between, ...levels]).size < between.length + levels.length) return null;
  const kept = sample(between, between.length - missing, rng);
  const lines = [...levels, ...kept].toSorted((a, b) => a - b);
  return { count, lines };
}

function solve({ count, lines }: Given): Solution | null {
  const tried = candidates(lines, count);
  const found = tried.filter((inner) => explains([...inner, at(lines, lines.length - 1)], lines));
  const schemes = found.map((inner) => [...inner, at(lines, lines.length - 1)]);
  const right = schemes.filter((levels) => at(levels, 0) < at(levels, count - 1) - at(levels, count - 2));
  const [gold] = right;
  if (right.length !== 1 || gold === undefined) return null;
  const top = at(gold, count - 1);
  const mirror = [
    ...gold
      .slice(0, -1)
      .map((energy) => top - energy)
      .toReversed(),
    top,
  ];
  const slips = [
    mirror,
    lines.slice(0, count),
    lines.slice(-count),
    gold.map((energy, index) => energy + Number(index === 0)),
  ];
  return {
    fields: gold.map((energy, index) => ({ name: `E${index + 1}`, kind: "number", value: String(energy) })),
    slips: slips.filter((slip) => slip.join() !== gold.join()).map((slip) => slip.map(String)),
    steps: tried.length * (1 + missingOf({ count, lines })),
  };
}

function differences(levels: readonly number[]): number[] {
  return levels.flatMap((high, index) => levels.slice(0, index).map((low) => high - low));
}

/** All choices of the levels between ground and top among the lines; lines to the ground level are all there. */
function candidates(lines: readonly number[], count: number): number[][] {
  let some: number[][] = [[]];
  for (const _ of range(count - 1))
    some = some.flatMap((chosen) =>
      lines
        .slice(0, -1)
        .filter((line) => line > (chosen.at(-1) ?? 0))
        .map((line) => [...chosen, line]),
    );
  return some;
}

/** Every line is the difference of two of the levels or a level. */
function explains(levels: readonly number[], lines: readonly number[]): boolean {
  const possible = new Set([...levels, ...differences(levels)]);
  return lines.every((line) => possible.has(line));
}

function missingOf({ count, lines }: Given): number {
  return (count * (count + 1)) / 2 - lines.length;
}

function facts({ count, lines }: Given): string {
  const missing = missingOf({ count, lines });
  const lost =
    missing === 0
      ? "No line is missing."
      : `${missing} of the possible lines ${missing === 1 ? "is" : "are"} missing, but none that ends in the ground level.`;
  return `No two transitions have the same energy. ${lost} The lowest excited level is nearer to the ground level than the second highest level is to the highest.`;
}
