/** scale-map-reading: walking distance, area and shore length on a map of characters with a scale and a legend. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";

interface Given {
  /** One text for each line of the map. */
  rows: string[];
  /** Metres of a side of a field of the map. */
  scale: number;
  /** The characters of water, cliff, land and the two places. */
  legend: [water: string, cliff: string, land: string, from: string, to: string];
}

/** By level: side of the map, number of lakes, share of cliffs in percent. */
const SIZES = [
  [7, 1, 15],
  [9, 2, 22],
  [12, 2, 26],
  [16, 3, 28],
  [22, 4, 30],
] as const;

export const scaleMapReading = fieldRow<Given>({
  id: "scale-map-reading",
  asks: "walking distance, area of the largest lake and length of its shore on a map with scale and legend",
  draw,
  solve,
  isShared: true,
  values: () => "all values are integers in metres or square metres",
  wordings: [
    (one) => `${mapText(one)}\n${legendText(one)}\n${questions()}`,
    (one) => `Measure on the map at the end. ${legendText(one)} ${questions()}\n\nMap:\n${mapText(one)}`,
    (one) =>
      `Somebody who has only this printed sheet wants to know the following.\n${questions()}\n${legendText(one)}\n\n${mapText(one)}`,
    (one) =>
      `A surveyor drew this sheet.\n${mapText(one)}\nHow to read it: ${legendText(one)} What is asked: ${questions()}`,
  ],
});

function draw(rng: Rng, level: Level): Given | null {
  const [side, lakes, cliffs] = at(SIZES, level - 1);
  const legend = sample(["~", "#", ".", "o", "+", "=", "%", ":", "w"], 3, rng);
  const [water = "", cliff = "", land = ""] = legend;
  const cells = range(side).map(() => range(side).map(() => (rng.integer(100) < cliffs ? cliff : land)));
  for (const lake of range(lakes)) {
    let [row, column] = [rng.integer(side), rng.integer(side)];
    for (let step = 0; step < side * (lake === 0 ? 2 : 1); step++) {
      at(cells, row)[column] = water;
      const [down = 0, right = 0] = rng.pick([
        [0, 1],
        [0, -1],
        [1, 0],
        [-1, 0],
      ]);
      [row, column] = [Math.min(side - 1, Math.max(0, row + down)), Math.min(side - 1, Math.max(0, column + right))];
    }
  }
  const free = range(side * side).filter((place) => cells[Math.floor(place / side)]?.[place % side] === land);
  const [from = 0, to = 1] = sample(free, 2, rng);
  at(cells, Math.floor(from / side))[from % side] = "A";
  at(cells, Math.floor(to / side))[to % side] = "B";
  return {
    rows: cells.map((row) => row.join("")),
    scale: between(rng, 3, 40) * 5,
    legend: [water, cliff, land, "A", "B"],
  };
}

function solve({ rows, scale, legend: [water, cliff, , from, to] }: Given): Solution | null {
  const side = rows.length;
  const cell = (place: number): string => rows[Math.floor(place / side)]?.[place % side] ?? "";
  const all = range(side * side);
  const near = (place: number): number[] => {
    const column = place % side;
    return [
      ...(place >= side ? [place - side] : []),
      ...(place < side * (side - 1) ? [place + side] : []),
      ...(column > 0 ? [place - 1] : []),
      ...(column < side - 1 ? [place + 1] : []),
    ];
  };
  const [start, end] = [from, to].map((mark) => all.find((place) => cell(place) === mark) ?? 0) as [number, number];
  const reach = flooded(start, (place) => near(place).filter((next) => cell(next) !== water && cell(next) !== cliff));
  const way = reach.get(end);
  if (way === undefined) return null;
  const straight =
    Math.abs(Math.floor(start / side) - Math.floor(end / side)) + Math.abs((start % side) - (end % side));
  // The way has to go round something.
  if (way <= straight) return null;
  const waters = all.filter((place) => cell(place) === water);
  const lakes: number[][] = [];
  for (const place of waters) {
    if (lakes.some((lake) => lake.includes(place))) continue;
    lakes.push([...flooded(place, (one) => near(one).filter((next) => cell(next) === water)).keys()]);
  }
  lakes.sort((a, b) => b.length - a.length);
  const [largest, second] = lakes;
  if (largest === undefined || largest.length < 4 || largest.length === (second?.length ?? 0)) return null;
  const shore = largest.reduce((sum, place) => sum + near(place).filter((next) => cell(next) !== water).length, 0);
  const values = [way * scale, largest.length * scale ** 2, shore * scale].map(String);
  const [route = "", lake = "", border = ""] = values;
  return {
    fields: ["route", "lake", "shore"].map((name, index) => ({ name, kind: "number", value: at(values, index) })),
    slips: [
      [String(straight * scale), lake, border],
      [route, String(largest.length * scale), border],
      [String(way), String(largest.length), String(shore)],
      ...(second === undefined ? [] : [[route, String(waters.length * scale ** 2), border]]),
    ],
    steps: reach.size + 2 * waters.length,
  };
}

/** Steps to every place that can be reached. */
function flooded(start: number, next: (place: number) => readonly number[]): Map<number, number> {
  const steps = new Map([[start, 0]]);
  for (const [place, count] of steps) for (const one of next(place)) if (!steps.has(one)) steps.set(one, count + 1);
  return steps;
}

function mapText({ rows }: Given): string {
  return rows.join("\n");
}

function legendText({ scale, legend: [water, cliff, land] }: Given): string {
  return `Legend: "${water}" is water, "${cliff}" is cliff, "${land}" is open land, and A and B are places on open land. Each character stands for a square of ${scale} m by ${scale} m.`;
}

function questions(): string {
  return "route: the shortest way on foot from A to B, measured from the middle of a square to the middle of the next one, where one walks up, down, left or right only and keeps off water and cliffs. lake: the area of the largest lake (squares of water that share sides). shore: the length of the border of this lake with squares of the map that are not water; the edge of the map does not count.";
}
