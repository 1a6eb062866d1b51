/** great-circle-route: distance, course and places along great circles on a sphere. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Part, type Solution } from "../quantity-row.ts";

interface Place {
  /** Degrees, positive to the north and to the east. */
  latitude: number;
  longitude: number;
}

interface Given {
  radius: number;
  places: Place[];
  /** Share of the first leg after which a place is asked; null: none. */
  share: number | null;
  hasTop: boolean;
}

/** By level: places, a point on the way, the northernmost point. */
const KNOBS = [
  [2, false, false],
  [3, false, false],
  [3, true, false],
  [4, true, false],
  [5, true, true],
] as const;
const RADIAN = Math.PI / 180;
/** In degrees. */
const TOLERANCE = 0.2;
/** So near to north, in degrees, no course lies. */
const NORTH = 1;

export const greatCircleRoute = quantityRow<Given>({
  id: "great-circle-route",
  asks: "length, first course and points of a route along great circles",
  draw,
  solve,
  asides: [
    "The ship has 22 sailors.",
    "The fuel weighs 900 t.",
    "It started at 6 o'clock.",
    "The sea is 3700 m deep there.",
  ],
  wordings: [
    (one, aside) =>
      `A ship sails along great circles on a sphere of radius ${one.radius} km: ${places(one)}. ${aside} Find ${wanted(one)}.`,
    (one, aside) =>
      `Route: ${places(one)}. Every leg is the shortest way on a sphere with the radius ${one.radius} km. Asked: ${wanted(one)}. ${aside}`,
    (one, aside) =>
      `Compute ${wanted(one)}. ${aside} The legs are arcs of great circles (radius ${one.radius} km, shorter arc) between ${places(one)}.`,
    (one, aside) =>
      `On a round planet of radius ${one.radius} km an aircraft flies the shortest way from point to point: ${places(one)}. What are ${wanted(one)}? ${aside}`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [count, hasShare, hasTop] = at(KNOBS, level - 1);
  return {
    radius: between(rng, 30, 70) * 100,
    places: range(count).map(() => ({
      latitude: decimal(rng, -65, 65, 1),
      longitude: decimal(rng, -179, 179, 1),
    })),
    share: hasShare ? between(rng, 2, 8) / 10 : null,
    hasTop,
  };
}

type Vector = [number, number, number];

function solve({ radius, places: all, share, hasTop }: Given): Solution | null {
  const points = all.map(vectorOf);
  const angles = range(points.length - 1).map((leg) => angleOf(at(points, leg), at(points, leg + 1)));
  if (angles.some((angle) => angle < 0.4 || angle > 2.7)) return null;
  const [start, next] = [at(all, 0), at(all, 1)];
  const course = courseOf(start, next);
  // Beside north an answer on the other side of it would be as good.
  if (course < NORTH || course > 360 - NORTH) return null;
  const [first, second] = [at(points, 0), at(points, 1)];
  const parts: Part[] = [
    { name: "D", value: radius * angles.reduce((a, b) => a + b, 0), unit: "km" },
    { name: "course", value: course, unit: "deg", relative: 0, absolute: TOLERANCE },
  ];
  const flat = range(all.length - 1).reduce((sum, leg) => sum + flatAngle(at(all, leg), at(all, leg + 1)), 0);
  const slips: number[][] = [
    [radius * flat, course],
    [parts[0]?.value ?? 0, (360 - course) % 360],
    [
      parts[0]?.value ?? 0,
      (Math.atan2(next.longitude - start.longitude, next.latitude - start.latitude) / RADIAN + 360) % 360,
    ],
  ];
  if (share !== null) {
    const middle = placeOf(onArc(first, second, at(angles, 0), share));
    // Near the turn of longitudes an answer of the other sign would be as good.
    if (Math.abs(middle.longitude) > 175) return null;
    parts.push(degreesPart("lat", middle.latitude), degreesPart("lon", middle.longitude));
    const turn = ((next.longitude - start.longitude + 540) % 360) - 180;
    const naive = [start.latitude + share * (next.latitude - start.latitude), start.longitude + share * turn];
    for (const slip of slips) slip.push(middle.latitude, middle.longitude);
    slips.push([parts[0]?.value ?? 0, course, ...naive]);
  }
  if (hasTop) {
    // Clairaut: the highest latitude of the whole circle.
    const top = Math.acos(Math.abs(Math.sin(course * RADIAN)) * Math.cos(start.latitude * RADIAN)) / RADIAN;
    parts.push(degreesPart("top", top));
    for (const slip of slips) slip.push(top);
    slips.push([
      ...parts.slice(0, -1).map(({ value }) => value),
      Math.max(Math.abs(start.latitude), Math.abs(next.latitude)),
    ]);
  }
  return { parts, slips, steps: 3 * angles.length + 2 + (share === null ? 0 : 4) + (hasTop ? 3 : 0) };
}

function degreesPart(name: string, value: number): Part {
  return { name, value, unit: "deg", relative: 0, absolute: TOLERANCE };
}

function vectorOf({ latitude, longitude }: Place): Vector {
  const [phi, lambda] = [latitude * RADIAN, longitude * RADIAN];
  return [Math.cos(phi) * Math.cos(lambda), Math.cos(phi) * Math.sin(lambda), Math.sin(phi)];
}

function placeOf([x, y, z]: Vector): Place {
  return { latitude: Math.atan2(z, Math.hypot(x, y)) / RADIAN, longitude: Math.atan2(y, x) / RADIAN };
}

function angleOf(a: Vector, b: Vector): number {
  return Math.acos(a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
}

function onArc(a: Vector, b: Vector, angle: number, share: number): Vector {
  const [left, right] = [Math.sin((1 - share) * angle) / Math.sin(angle), Math.sin(share * angle) / Math.sin(angle)];
  return [left * a[0] + right * b[0], left * a[1] + right * b[1], left * a[2] + right * b[2]];
}

/** Degrees from north over east. */
function courseOf(from: Place, to: Place): number {
  const [a, b, turn] = [from.latitude * RADIAN, to.latitude * RADIAN, (to.longitude - from.longitude) * RADIAN];
  const east = Math.sin(turn) * Math.cos(b);
  const north = Math.cos(a) * Math.sin(b) - Math.sin(a) * Math.cos(b) * Math.cos(turn);
  return (Math.atan2(east, north) / RADIAN + 360) % 360;
}

/** As if degrees were distances on a plane with the scale of the middle latitude. */
function flatAngle(a: Place, b: Place): number {
  const turn = ((b.longitude - a.longitude + 540) % 360) - 180;
  const scale = Math.cos(((a.latitude + b.latitude) / 2) * RADIAN);
  return Math.hypot((b.latitude - a.latitude) * RADIAN, turn * scale * RADIAN);
}

function places({ places: all }: Given): string {
  return all
    .map(
      ({ latitude, longitude }) =>
        `${Math.abs(latitude)}°${latitude < 0 ? "S" : "N"} ${Math.abs(longitude)}°${longitude < 0 ? "W" : "E"}`,
    )
    .join(", then ");
}

function wanted({ share, hasTop }: Given): string {
  const middle =
    share === null
      ? ""
      : `, lat and lon, the place after ${share} of the length of the first leg (degrees, south and west negative)`;
  const top = hasTop
    ? ", top, the highest northern latitude (degrees) of the whole great circle on which the first leg lies"
    : "";
  return `D, the length of the whole route, course, the direction in which the first leg starts (degrees from north over east, 0 to 360)${middle}${top}`;
}
