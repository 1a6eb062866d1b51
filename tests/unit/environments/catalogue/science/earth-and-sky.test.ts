/** Earth and sky against vectors, air that is followed metre by metre, and lines through pairs of points. */
import { expect, test } from "vitest";

import { greatCircleRoute } from "../../../../../ts/environments/catalogue/science/earth-and-sky/great-circle-route.ts";
import { earthAndSky } from "../../../../../ts/environments/catalogue/science/earth-and-sky/index.ts";
import { isotopeAgeData } from "../../../../../ts/environments/catalogue/science/earth-and-sky/isotope-age-data.ts";
import { moistAirBudget } from "../../../../../ts/environments/catalogue/science/earth-and-sky/moist-air-budget.ts";
import { quakeLocation } from "../../../../../ts/environments/catalogue/science/earth-and-sky/quake-location.ts";
import { skyPositionTime } from "../../../../../ts/environments/catalogue/science/earth-and-sky/sky-position-time.ts";
import { createRng, type Rng } from "../../../../../ts/random/rng.ts";
import { expectAgreement, instancesOf, luckOf, quantityRowsOf } from "./second-method.ts";

test.each(quantityRowsOf(earthAndSky).map((row) => [row.id, row] as const))(
  "%s: numbers of the prompt rarely hit",
  (_, row) => {
    expect(luckOf(row)).toBeLessThan(0.02);
  },
);

test("quake-location: all stations but the wrong one were reached at their times, and that one was not", () => {
  interface Given {
    speed: number;
    stations: { x: number; y: number; time: number }[];
    hasWrong: boolean;
  }
  for (const { instance } of instancesOf(quakeLocation)) {
    const { speed, stations, hasWrong } = instance.given as Given;
    const [x = 0, y = 0, t = 0] = instance.solution.parts.map(({ value }) => value);
    const late = stations.map((one) => Math.abs(t + Math.hypot(one.x - x, one.y - y) / speed - one.time) > 0.1);
    const wrong = instance.solution.words?.[0]?.value;
    expect(late.filter(Boolean).length).toBe(Number(hasWrong));
    expect(hasWrong ? `S${late.indexOf(true) + 1}` : undefined).toBe(wrong);
  }
});

test("great-circle-route: vectors, and small steps along the first leg", () => {
  interface Given {
    radius: number;
    places: { latitude: number; longitude: number }[];
    share: number | null;
    hasTop: boolean;
  }
  expectAgreement(
    greatCircleRoute,
    ({ radius, places, share, hasTop }: Given) => {
      const degree = Math.PI / 180;
      const points = places.map(({ latitude, longitude }) => [
        Math.cos(latitude * degree) * Math.cos(longitude * degree),
        Math.cos(latitude * degree) * Math.sin(longitude * degree),
        Math.sin(latitude * degree),
      ]);
      const dot = (a: readonly number[], b: readonly number[]): number =>
        a.reduce((sum, value, axis) => sum + value * (b[axis] ?? 0), 0);
      const angles = points.slice(1).map((point, index) => {
        const chord = Math.hypot(...point.map((value, axis) => value - (points[index]?.[axis] ?? 0)));
        return 2 * Math.asin(chord / 2);
      });
      const [first = [], second = []] = points;
      const ahead = second.map((value, axis) => value - dot(first, second) * (first[axis] ?? 0));
      const length = Math.hypot(...ahead);
      const on = (arc: number): number[] =>
        first.map((value, axis) => Math.cos(arc) * value + (Math.sin(arc) * (ahead[axis] ?? 0)) / length);
      const east = [-(first[1] ?? 0), first[0] ?? 0, 0];
      const north = [0, 0, 1].map((value, axis) => value - (first[2] ?? 0) * (first[axis] ?? 0));
      const course =
        Math.atan2(dot(ahead, east) / Math.hypot(...east), dot(ahead, north) / Math.hypot(...north)) / degree;
      const [a = 0, b = 0, c = 0] = on((share ?? 0) * (angles[0] ?? 0));
      const heights = Array.from({ length: 20_000 }, (_, step) => on((step * Math.PI) / 10_000)[2] ?? 0);
      return [
        radius * angles.reduce((sum, angle) => sum + angle, 0),
        (course + 360) % 360,
        ...(share === null ? [] : [Math.asin(c) / degree, Math.atan2(b, a) / degree]),
        ...(hasTop ? [Math.asin(Math.max(...heights)) / degree] : []),
      ];
    },
    1e-5,
  );
});

test("moist-air-budget: the air is followed metre by metre", () => {
  interface Given {
    temperature: number;
    humidity: number;
    dry: number;
    moist: number;
    dew: number;
    heights: number[];
  }
  expectAgreement(moistAirBudget, ({ temperature, humidity, dry, moist, dew, heights }: Given) => {
    const pressure = (t: number): number => Math.exp((17.62 * t) / (243.12 + t));
    let [t, td, base] = [temperature, temperature, Number.NaN];
    while (pressure(td) > (pressure(temperature) * humidity) / 100) td -= 0.0005;
    let [height = 0] = heights;
    for (const goal of heights.slice(1))
      while (height !== goal) {
        const step = Math.sign(goal - height);
        const isCloudy = step > 0 && t <= td + 1e-9;
        if (isCloudy && Number.isNaN(base)) base = height;
        t -= (step * (isCloudy ? moist : dry)) / 1000;
        td = isCloudy ? t : td - (step * dew) / 1000;
        height += step;
      }
    return [base, t, td];
  });
});

test("isotope-age-data: lines through pairs of minerals agree but for the disturbed one", () => {
  interface Given {
    samples: { parent: number; daughter: number }[];
    decay: number;
    hasDisturbed: boolean;
  }
  expectAgreement(
    isotopeAgeData,
    ({ samples, decay, hasDisturbed }: Given) => {
      const lines = samples.flatMap((a, i) =>
        samples.slice(i + 1).map((b, j) => {
          const slope = (a.daughter - b.daughter) / (a.parent - b.parent);
          return {
            slope,
            start: a.daughter - slope * a.parent,
            pair: [i, i + 1 + j],
            far: Math.abs(a.parent - b.parent),
          };
        }),
      );
      // The line on which the most minerals lie, through the pair that is farthest apart.
      const fits = lines.map((line) => ({
        ...line,
        on: samples.map(({ parent, daughter }) => Math.abs(line.start + line.slope * parent - daughter) < 3e-5),
      }));
      const count = (on: readonly boolean[]): number => on.filter(Boolean).length;
      const [best] = fits.toSorted((a, b) => count(b.on) - count(a.on) || b.far - a.far);
      if (best === undefined) throw new Error("no line");
      const age = Math.log(1 + best.slope) / (decay * 1e-5);
      return [age, best.start, ...(hasDisturbed ? [`M${best.on.indexOf(false) + 1}`] : [])];
    },
    2e-4,
  );
});

/** Whole numbers by the bound below which they are drawn, in turn. */
function drawing(numbers: Readonly<Record<number, readonly number[]>>): Rng {
  const used = new Map<number, number>();
  return {
    ...createRng(1),
    integer(bound) {
      const list = numbers[bound] ?? [0];
      const turn = used.get(bound) ?? 0;
      used.set(bound, turn + 1);
      return list[turn % list.length] ?? 0;
    },
  };
}

test("great-circle-route: no course lies so near to north that 0 and 360 degrees are both right", () => {
  // From 60° N 90° W over the pole to 50° N 89.8° E.
  const places = (second: number): Rng => drawing({ 1301: [1250, 1150], 3581: [890, second] });
  expect(greatCircleRoute.make(places(2688), 1)).toBeNull();
  expect(greatCircleRoute.make(places(2500), 1)).not.toBeNull();
});

test("sky-position-time: no azimuth lies so near to north that 0 and 360 degrees are both right", () => {
  // A star of declination 50° culminates over the north at latitude 20°.
  const star = (sidereal: number): Rng => drawing({ 2: [1], 541: [120], 651: [450], 2391: [1000, sidereal] });
  expect(skyPositionTime.make(star(1000), 2)).toBeNull();
  expect(skyPositionTime.make(star(1200), 2)).not.toBeNull();
});
