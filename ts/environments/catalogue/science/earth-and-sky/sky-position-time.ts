/** sky-position-time: where a star stands at a place and time, and for how long it is above the horizon. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal, rounded } from "../draws.ts";
import { quantityRow, type Part, type Solution } from "../quantity-row.ts";

interface Given {
  /** Degrees; north is positive. */
  latitude: number;
  declination: number;
  /** Hours. */
  ascension: number;
  /** Local sidereal time in hours; from level 4 on that of Greenwich at midnight. */
  sidereal: number;
  /** Degrees, east is positive, and hours of clock time after midnight; null where the local sidereal time is given. */
  place: { longitude: number; clock: number } | null;
  asked: "altitude" | "both" | "all";
}

/** By level: what is asked, whether longitude and clock are given. */
const KNOBS = [
  ["altitude", false],
  ["both", false],
  ["all", false],
  ["both", true],
  ["all", true],
] as const;
/** Sidereal hours in an hour of the clock. */
const SIDEREAL = 1.0027379;
const RADIAN = Math.PI / 180;
/** In degrees. */
const TOLERANCE = 0.2;
/** So near to north, in degrees, no azimuth lies that is asked. */
const NORTH = 1;

export const skyPositionTime = quantityRow<Given>({
  id: "sky-position-time",
  asks: "altitude, azimuth and time above the horizon of a star for a place and a moment",
  draw,
  solve,
  asides: [
    "The telescope has a focal length of 900 mm.",
    "The star has the magnitude 2.3.",
    "The night had 9 hours.",
    "The hill is 420 m high.",
  ],
  wordings: [
    (one, aside) =>
      `An observer at latitude ${degrees(one.latitude)} looks at a star with right ascension ${one.ascension} h and declination ${degrees(one.declination)}. ${moment(one)} ${aside} Find ${wanted(one)}. Neglect refraction.`,
    (one, aside) =>
      `Star: declination ${degrees(one.declination)}, right ascension ${one.ascension} h. Place: latitude ${degrees(one.latitude)}. ${moment(one)} Asked: ${wanted(one)}. ${aside} There is no refraction.`,
    (one, aside) =>
      `Where in the sky? ${aside} Compute ${wanted(one)} (no refraction, flat horizon). ${moment(one)} The star's declination is ${degrees(one.declination)}, its right ascension ${one.ascension} h; the latitude is ${degrees(one.latitude)}.`,
    (one, aside) =>
      `${moment(one)} From a ship at the latitude ${degrees(one.latitude)} a star is observed that has the declination ${degrees(one.declination)} and the right ascension ${one.ascension} h. ${aside} Ignoring refraction, give ${wanted(one)}.`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const [asked, hasPlace] = at(KNOBS, level - 1);
  const sign = (): number => (rng.integer(2) === 0 ? -1 : 1);
  return {
    latitude: sign() * decimal(rng, 8, 62, 1),
    declination: sign() * decimal(rng, 5, 70, 1),
    ascension: decimal(rng, 0, 23.9, 2),
    sidereal: decimal(rng, 0, 23.9, 2),
    place: hasPlace ? { longitude: sign() * between(rng, 12, 175), clock: decimal(rng, 1, 23, 2) } : null,
    asked,
  };
}

function solve(given: Given): Solution | null {
  const { latitude, declination, asked, place } = given;
  const angle = hourAngle(given);
  const right = position(latitude, declination, angle);
  if (right.altitude < 12 || right.altitude > 78) return null;
  // Beside north an answer on the other side of it would be as good.
  if (asked !== "altitude" && (right.azimuth < NORTH || right.azimuth > 360 - NORTH)) return null;
  const half = -Math.tan(latitude * RADIAN) * Math.tan(declination * RADIAN);
  if (asked === "all" && Math.abs(half) > 0.95) return null;
  const up = (2 * Math.acos(Math.max(-1, Math.min(1, half)))) / RADIAN / 15;
  const count = asked === "altitude" ? 1 : asked === "both" ? 2 : 3;
  const parts: Part[] = [
    { name: "alt", value: right.altitude, unit: "deg", relative: 0, absolute: TOLERANCE },
    { name: "az", value: right.azimuth, unit: "deg", relative: 0, absolute: TOLERANCE },
    { name: "up", value: up, unit: "h" },
  ];
  const values = (one: { altitude: number; azimuth: number }, hours = up): number[] =>
    [one.altitude, one.azimuth, hours].slice(0, count);
  const slips = [
    values(position(latitude, -declination, angle), 24 - up),
    values(position(latitude, declination, angle + 45)),
    ...(count > 1 ? [values({ ...right, azimuth: 360 - right.azimuth })] : []),
    values({ altitude: 90 - right.altitude, azimuth: right.azimuth }),
    ...(place === null
      ? []
      : [
          values(
            position(latitude, declination, hourAngle({ ...given, place: { ...place, longitude: -place.longitude } })),
          ),
        ]),
  ];
  return { parts: parts.slice(0, count), slips, steps: 2 + 2 * count + (place === null ? 0 : 5) };
}

/** In degrees, positive behind the meridian. */
function hourAngle({ ascension, sidereal, place }: Given): number {
  const local = place === null ? sidereal : sidereal + place.clock * SIDEREAL + place.longitude / 15;
  return 15 * (local - ascension);
}

/** Azimuth from north over east. */
function position(latitude: number, declination: number, angle: number): { altitude: number; azimuth: number } {
  const [phi, delta, h] = [latitude, declination, angle].map((value) => value * RADIAN) as [number, number, number];
  const sine = Math.sin(phi) * Math.sin(delta) + Math.cos(phi) * Math.cos(delta) * Math.cos(h);
  const west = Math.sin(h);
  const north = Math.cos(h) * Math.sin(phi) - Math.tan(delta) * Math.cos(phi);
  return { altitude: Math.asin(sine) / RADIAN, azimuth: (Math.atan2(west, north) / RADIAN + 180 + 360) % 360 };
}

function degrees(value: number): string {
  return `${rounded(Math.abs(value), 1)}° ${value < 0 ? "south" : "north"}`;
}

function moment({ sidereal, place }: Given): string {
  if (place === null) return `The local sidereal time is ${sidereal} h.`;
  const side = place.longitude < 0 ? "west" : "east";
  return `The longitude is ${Math.abs(place.longitude)}° ${side} of Greenwich, where the sidereal time at midnight (universal time 0 h) was ${sidereal} h; the universal time is ${place.clock} h of the same day, and an hour of the clock has ${SIDEREAL} sidereal hours.`;
}

function wanted({ asked }: Given): string {
  const altitude = "alt, its height above the horizon in degrees";
  if (asked === "altitude") return altitude;
  const both = `${altitude}, az, its azimuth in degrees from north (0) over east (90)`;
  return asked === "both"
    ? both
    : `${both}, up, the sidereal hours for which it stays above the horizon in a sidereal day`;
}
