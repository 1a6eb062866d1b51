/** quake-location: where and when the ground broke, from arrival times at stations of which one has a wrong clock. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal, rounded } from "../draws.ts";
import { solveLinear } from "../linear-system.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Station {
  /** East and north of the origin in km, and the arrival in s after midnight. */
  x: number;
  y: number;
  time: number;
}

interface Given {
  /** In km/s. */
  speed: number;
  stations: Station[];
  hasWrong: boolean;
}

/** By level: stations. From level 2 on one of them is wrong. */
const STATIONS = [4, 5, 6, 7, 9] as const;
const ITERATIONS = 12;
/** In s: arrivals are rounded to 0.01. */
const FITS = 0.03;
const MISSES = 0.25;
/** In km, for a timing error of 0.01 s. */
const MOST_UNCERTAIN = 0.12;

export const quakeLocation = quantityRow<Given>({
  id: "quake-location",
  asks: "epicentre and time of an earthquake from arrivals at stations, one of which is wrong",
  draw,
  solve,
  asides: [
    "The magnitude was 4.1.",
    "Windows broke in 3 villages.",
    "The network was built in 1996.",
    "The strongest shaking lasted 12 s.",
  ],
  wordings: [
    (one, aside) =>
      `A shallow earthquake (depth 0, flat ground) sent out waves at ${one.speed} km/s. Stations with their places (km east, km north) and the arrival in seconds after midnight:\n${list(one)}\n${aside} ${wrong(one)}Find x and y, the place of the source (east, north), and t, the moment at which it broke (seconds after midnight).`,
    (one, aside) =>
      `Locate a source at the surface of a plain: x km east and y km north of the origin, at t seconds after midnight. ${aside} ${wrong(one)}Speed of the waves: ${one.speed} km/s. Arrivals:\n${list(one)}`,
    (one, aside) =>
      `${wrong(one)}Arrival times of one quake (s after midnight), rounded to 0.01 s:\n${list(one)}\nThe coordinates are kilometres to the east and to the north; waves travel straight at ${one.speed} km/s from a source at the surface. ${aside} Where (x, y) and when (t) was it?`,
    (one, aside) =>
      `The waves of an explosion travelled at ${one.speed} km/s along the flat ground. ${aside} Determine its coordinates x (east) and y (north) and its time t after midnight from\n${list(one)}\n${wrong(one)}`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const speed = decimal(rng, 4.5, 6.5, 1);
  const [x, y, start] = [decimal(rng, -60, 60, 1), decimal(rng, -60, 60, 1), decimal(rng, 20, 900, 1)];
  const stations = range(at(STATIONS, level - 1)).map((): Station => {
    const [east, north] = [decimal(rng, -90, 90), decimal(rng, -90, 90)];
    return { x: east, y: north, time: rounded(start + Math.hypot(east - x, north - y) / speed, 2) };
  });
  if (level > 1) {
    const late = rng.pick(stations);
    late.time = rounded(late.time + (rng.integer(2) === 0 ? -1 : 1) * decimal(rng, 2, 7, 2), 2);
  }
  return { speed, stations, hasWrong: level > 1 };
}

function solve({ speed, stations, hasWrong }: Given): Solution | null {
  const without = (left: number): Fit | null =>
    fitted(
      stations.filter((_, index) => index !== left),
      speed,
    );
  const fits = range(stations.length).map(without);
  const all = without(-1);
  const good = range(stations.length).filter((index) => (fits[index]?.misfit ?? 0) < MISSES);
  const wrongOne = good[0] ?? 0;
  const right = hasWrong ? fits[wrongOne] : all;
  if (
    right === null ||
    right === undefined ||
    all === null ||
    right.misfit > FITS ||
    right.uncertainty > MOST_UNCERTAIN
  )
    return null;
  if (hasWrong && good.length !== 1) return null;
  const values = ({ x, y, t }: Fit): number[] => [x, y, t];
  const [x = 0, y = 0, t = 0] = values(right);
  const nearest = stations.reduce((a, b) => (b.time < a.time ? b : a));
  const slips = [
    [nearest.x, nearest.y, nearest.time],
    [x, y, nearest.time],
    [-x, y, t],
    ...(hasWrong ? [values(all)] : []),
  ];
  return {
    parts: [
      { name: "x", value: x, unit: "km", relative: 0, absolute: 1 },
      { name: "y", value: y, unit: "km", relative: 0, absolute: 1 },
      { name: "t", value: t, unit: "s", relative: 0, absolute: 0.3 },
    ],
    ...(hasWrong
      ? { words: [{ name: "wrong", value: `S${wrongOne + 1}`, options: stations.map((_, index) => `S${index + 1}`) }] }
      : {}),
    slips: slips.filter((slip) => slip !== undefined),
    steps: hasWrong ? stations.length * (stations.length - 1) : stations.length,
  };
}

interface Fit {
  x: number;
  y: number;
  t: number;
  /** Root mean square of the residuals in s. */
  misfit: number;
  /** In km. */
  uncertainty: number;
}

/** Least squares by Gauss and Newton, from the middle of the stations; null where it does not settle. */
function fitted(stations: readonly Station[], speed: number): Fit | null {
  const mean = (value: (one: Station) => number): number =>
    stations.reduce((sum, one) => sum + value(one), 0) / stations.length;
  let [x, y, t] = [mean((one) => one.x), mean((one) => one.y), Math.min(...stations.map(({ time }) => time)) - 5];
  for (let turn = 0; ; turn++) {
    const rows = stations.map((one) => {
      const far = Math.max(Math.hypot(x - one.x, y - one.y), 1e-6);
      const slopes = [(x - one.x) / far / speed, (y - one.y) / far / speed, 1];
      return { slopes, rest: one.time - t - far / speed };
    });
    const normal = range(3).map((a) =>
      range(3).map((b) => rows.reduce((sum, { slopes }) => sum + at(slopes, a) * at(slopes, b), 0)),
    );
    if (turn === ITERATIONS) {
      const columns = range(2).map((axis) =>
        solveLinear(
          normal,
          range(3).map((place) => Number(place === axis)),
        ),
      );
      const spread = columns.map((column, axis) => (column === null ? Infinity : at(column, axis)));
      const misfit = Math.sqrt(rows.reduce((sum, { rest }) => sum + rest ** 2, 0) / stations.length);
      return { x, y, t, misfit, uncertainty: 0.01 * Math.sqrt(Math.max(...spread)) };
    }
    const step = solveLinear(
      normal,
      range(3).map((a) => rows.reduce((sum, { slopes, rest }) => sum + at(slopes, a) * rest, 0)),
    );
    if (step === null) return null;
    const size = Math.min(1, 60 / Math.hypot(at(step, 0), at(step, 1), 1e-9));
    [x, y, t] = [x + size * at(step, 0), y + size * at(step, 1), t + size * at(step, 2)];
    if (!Number.isFinite(x + y + t)) return null;
  }
}

function wrong({ hasWrong }: Given): string {
  return hasWrong ? "One station, wrong, has a false time by seconds; the others agree within rounding. Name it. " : "";
}

function list({ stations }: Given): string {
  return stations.map(({ x, y, time }, index) => `- S${index + 1} (${x}, ${y}): ${time.toFixed(2)}`).join("\n");
}
