/** moist-air-budget: temperature and dew point of air that crosses mountains, with cloud, rain and sinking. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { decimal } from "../draws.ts";
import { quantityRow, type Solution } from "../quantity-row.ts";

interface Given {
  /** In °C, and the relative humidity in percent. */
  temperature: number;
  humidity: number;
  /** In K/km: of rising dry air, of rising air in cloud, and of the dew point outside of clouds. */
  dry: number;
  moist: number;
  dew: number;
  /** Heights in m: a valley, then a summit, a valley, and so on; it ends with a valley. */
  heights: number[];
}

/** By level: summits. */
const SUMMITS = [1, 2, 3, 4, 6] as const;
/** Magnus formula over water: factor and temperature in °C. */
const [FACTOR, SHIFT] = [17.62, 243.12];

export const moistAirBudget = quantityRow<Given>({
  id: "moist-air-budget",
  asks: "cloud base, temperature and dew point of air that is lifted over mountains and rains out",
  draw,
  solve,
  asides: [
    "The wind blows at 14 m/s.",
    "The pressure in the valley is 955 hPa.",
    "In the village 800 people live.",
    "It is the 12th of May.",
  ],
  wordings: [
    (one, aside) =>
      `Air of ${one.temperature} °C and ${one.humidity} % relative humidity starts at ${at(one.heights, 0)} m and flows over land of these heights in m: ${one.heights.join(", ")}. ${aside} ${rules(one)} Find z, the height above sea level of the first cloud base, and T and Td, temperature and dew point at the end.`,
    (one, aside) =>
      `${rules(one)} The path has the heights ${one.heights.join(" m, ")} m. At its beginning the air has ${one.temperature} °C and a relative humidity of ${one.humidity} %. ${aside} What are T and Td in the last valley, and at which height above the sea (z) does the first cloud begin?`,
    (one, aside) =>
      `Follow a parcel of air through the heights ${one.heights.join(" - ")} (m above the sea). Start: ${one.humidity} % relative humidity, ${one.temperature} °C. ${aside} ${rules(one)} Asked: first cloud base z, final temperature T, final dew point Td.`,
    (one, aside) =>
      `A wind crosses ridges and valleys; ground heights along the way in m: ${one.heights.join(", ")}. In the first valley ${one.temperature} °C, humidity ${one.humidity} % relative. ${rules(one)} ${aside} Determine z (height of the first cloud base above sea level), T and Td (temperature and dew point in the last valley).`,
  ],
});

function draw(rng: Rng, level: Level): Given {
  const heights = [between(rng, 2, 8) * 50];
  for (let summit = 0; summit < at(SUMMITS, level - 1); summit++)
    heights.push(between(rng, 28, 70) * 50, between(rng, 2, 24) * 50);
  return {
    temperature: between(rng, 14, 32),
    humidity: between(rng, 45, 85),
    dry: 9.8,
    moist: decimal(rng, 5, 7, 1),
    dew: decimal(rng, 1.6, 2, 1),
    heights,
  };
}

function solve(given: Given): Solution | null {
  const { temperature, humidity, heights } = given;
  const ratio = Math.log(humidity / 100) + (FACTOR * temperature) / (SHIFT + temperature);
  const dewPoint = (SHIFT * ratio) / (FACTOR - ratio);
  const right = crossed(given, dewPoint);
  if (right.base === null || right.clouds < 1) return null;
  const values = ({ base, T, Td }: Air): number[] => [base ?? 0, T, Td];
  const dryOnly = crossed({ ...given, moist: given.dry }, dewPoint);
  const fixed = crossed({ ...given, dew: 0 }, dewPoint);
  const linear = crossed(given, temperature - (100 - humidity) / 5);
  return {
    parts: [
      { name: "z", value: right.base, unit: "m", relative: 0, absolute: 20 },
      { name: "T", value: right.T, unit: "°C", relative: 0, absolute: 0.2 },
      { name: "Td", value: right.Td, unit: "°C", relative: 0, absolute: 0.2 },
    ],
    slips: [
      values(dryOnly),
      values(fixed),
      [right.base - at(heights, 0), right.T, right.Td],
      [right.base, temperature, dewPoint],
      ...(linear.base === null || Math.abs(linear.base - right.base) < 60 ? [] : [values(linear)]),
    ],
    steps: 2 * heights.length + right.clouds,
  };
}

interface Air {
  /** Null without any cloud. */
  base: number | null;
  T: number;
  Td: number;
  clouds: number;
}

function crossed({ temperature, dry, moist, dew, heights }: Given, dewPoint: number): Air {
  let [T, Td, base, clouds] = [temperature, dewPoint, null as number | null, 0];
  for (const leg of range(heights.length - 1)) {
    const [from, to] = [at(heights, leg), at(heights, leg + 1)];
    const rise = (to - from) / 1000;
    const free = (T - Td) / (dry - dew);
    if (rise <= free) {
      [T, Td] = [T - dry * rise, Td - dew * rise];
      continue;
    }
    base ??= from + 1000 * free;
    clouds += 1;
    T = T - dry * free - moist * (rise - free);
    Td = T;
  }
  return { base, T, Td, clouds };
}

function rules({ dry, moist, dew }: Given): string {
  return `Rising air cools by ${dry} K/km until it is saturated, and by ${moist} K/km in cloud; all that condenses falls as rain at once. Sinking air, which is never cloudy, warms by ${dry} K/km. Outside of clouds the dew point falls by ${dew} K for each km of rising and grows by as much in sinking; in cloud it equals the temperature. The pressure of saturation is proportional to exp(${FACTOR} T / (${SHIFT} + T)), T in °C, and the relative humidity is the ratio of its values at dew point and temperature.`;
}
