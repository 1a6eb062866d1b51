/** Beams, flows, records, heat and frames against grids, bisection, quadrature, complex numbers and rapidities. */
import { expect, test } from "vitest";

import { beamStatics } from "../../../../../ts/environments/catalogue/science/mechanics/beam-statics.ts";
import { fluidRestAndFlow } from "../../../../../ts/environments/catalogue/science/mechanics/fluid-rest-and-flow.ts";
import { gasCycleBudget } from "../../../../../ts/environments/catalogue/science/mechanics/gas-cycle-budget.ts";
import { heatPathNetwork } from "../../../../../ts/environments/catalogue/science/mechanics/heat-path-network.ts";
import { movingFramesTime } from "../../../../../ts/environments/catalogue/science/mechanics/moving-frames-time.ts";
import { oscillatorRecord } from "../../../../../ts/environments/catalogue/science/mechanics/oscillator-record.ts";
import { phaseMixTemperature } from "../../../../../ts/environments/catalogue/science/mechanics/phase-mix-temperature.ts";
import { unknownLawDimensions } from "../../../../../ts/environments/catalogue/science/mechanics/unknown-law-dimensions.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { integerNullspace } from "../../../../../ts/verify/science/nullspace.ts";
import { expectAgreement, instancesOf } from "./second-method.ts";

const G = 9.81;
const MOST_STEPS = 200_000;

test("beam-statics: the moment is the sum of the shear force over a fine grid", () => {
  interface Given {
    length: number;
    a: number;
    b: number;
    forces: { place: number; size: number }[];
    spreads: { from: number; to: number; density: number }[];
    couple: { place: number; size: number };
  }
  expectAgreement(
    beamStatics,
    ({ length, a, b, forces, spreads, couple }: Given) => {
      const count = Math.round(length * 2000);
      const step = length / count;
      const place = (x: number): number => Math.round(x / step);
      const load = new Float64Array(count + 1);
      for (const { place: x, size } of forces) load[place(x)] = (load[place(x)] ?? 0) + size;
      for (const { from, to, density } of spreads)
        for (let index = place(from); index < place(to); index++) {
          load[index] = (load[index] ?? 0) + (density * step) / 2;
          load[index + 1] = (load[index + 1] ?? 0) + (density * step) / 2;
        }
      const total = load.reduce((sum, size) => sum + size, 0);
      const first = load.reduce((sum, size, index) => sum + size * index * step, 0) + couple.size;
      const atB = (first - total * a) / (b - a);
      const atA = total - atB;
      load[place(a)] = (load[place(a)] ?? 0) - atA;
      load[place(b)] = (load[place(b)] ?? 0) - atB;
      let [shear, moment, best, where] = [0, 0, 0, 0];
      for (let index = 0; index <= count; index++) {
        const isCouple = couple.size > 0 && index === place(couple.place);
        for (const value of isCouple ? [moment, moment + couple.size] : [moment]) {
          if (Math.abs(value) > best) [best, where] = [Math.abs(value), index * step];
          moment = value;
        }
        shear -= load[index] ?? 0;
        moment += shear * step;
      }
      return [atA, atB, best, where];
    },
    2e-3,
  );
});

test("fluid-rest-and-flow: bisection for the flow whose pressure at the open end is that of the air", () => {
  interface Given {
    pressure: number;
    layers: { density: number; depth: number }[];
    pipes: { diameter: number; height: number; loss: number }[];
    gauge: number;
  }
  expectAgreement(fluidRestAndFlow, ({ pressure, layers, pipes, gauge }: Given) => {
    const density = layers[0]?.density ?? 0;
    let bottom = pressure * 1000;
    for (const layer of layers) bottom += layer.density * G * layer.depth;
    const pressures = (flow: number): number[] => {
      let energy = bottom;
      return pipes.map(({ diameter, height, loss }) => {
        const dynamic = (density / 2) * ((4 * flow) / (Math.PI * (diameter / 1000) ** 2)) ** 2;
        energy -= loss * dynamic;
        return energy - dynamic - density * G * height;
      });
    };
    let [low, high] = [0, 10];
    for (let step = 0; step < 200; step++) {
      const middle = (low + high) / 2;
      if ((pressures(middle).at(-1) ?? 0) > 0) low = middle;
      else high = middle;
    }
    const area = (Math.PI * ((pipes.at(-1)?.diameter ?? 0) / 1000) ** 2) / 4;
    return [low * 1000, low / area, (gauge < 0 ? bottom : (pressures(low)[gauge] ?? 0)) / 1000];
  });
});

interface Swing {
  mass: number;
  record: { time: number; reading: number }[];
  force: { size: number; frequency: number } | null;
  asksPhase: boolean;
}

test("oscillator-record: the complex frequency of the record", () => {
  expectAgreement(
    oscillatorRecord,
    ({ mass, record, force, asksPhase }: Swing) => {
      const [first, second, third, fourth] = record;
      const half = (fourth?.time ?? 0) / 3 - (first?.time ?? 0) / 3;
      const before = (second?.reading ?? 0) - (first?.reading ?? 0);
      const after = (fourth?.reading ?? 0) - (third?.reading ?? 0);
      // Three neighbours apart are two half periods.
      const growth = Math.log(Math.abs(after / before)) / (2 * half);
      const turning = Math.PI / half;
      const k = mass * (growth ** 2 + turning ** 2);
      const c = -2 * mass * growth;
      if (Math.abs(growth) < 1e-9) return [k];
      if (force === null) return [k, c];
      const w = force.frequency;
      const [real, imaginary] = [k - mass * w ** 2, c * w];
      const size = (1000 * force.size) / Math.sqrt(real * real + imaginary * imaginary);
      const angle = (Math.acos(real / Math.hypot(real, imaginary)) * 180) / Math.PI;
      return [k, c, size, ...(asksPhase ? [angle] : [])];
    },
    8e-3,
  );
});

test("oscillator-record: an integrated swing has the turning points of the record", () => {
  for (const { instance } of instancesOf(oscillatorRecord)) {
    const { mass, record } = instance.given as Swing;
    const [k = 0, c = 0] = instance.solution.parts.map(({ value }) => value);
    const [first, second] = record;
    if (first === undefined || second === undefined) throw new Error("a record without readings");
    const ratio = record.length > 2 && c > 0 ? Math.exp((-c / mass / 2) * (second.time - first.time)) : 1;
    const rest = (second.reading + ratio * first.reading) / (1 + ratio);
    let [x, v] = [first.reading - rest, 0];
    const steps = 2000;
    const step = (second.time - first.time) / steps;
    for (const { reading } of record.slice(1)) {
      for (let index = 0; index < steps; index++) {
        // Leapfrog with the friction at the middle of the step.
        const push = (place: number, speed: number): number => -(k * place + c * speed) / mass;
        const middle = x + (v * step) / 2;
        const half = v + (push(x, v) * step) / 2;
        v += push(middle, half) * step;
        x = middle + (v * step) / 2;
      }
      expect(Math.abs(x + rest - reading)).toBeLessThan(0.02 * Math.abs(first.reading - rest));
    }
  }
});

test("gas-cycle-budget: work and heat by quadrature", () => {
  interface Given {
    heat: number;
    pressure: number;
    volume: number;
    steps: { kind: string; end: number }[];
  }
  const slices = 2000;
  expectAgreement(
    gasCycleBudget,
    ({ heat, pressure, volume, steps }: Given) => {
      let [p, v, work, taken] = [pressure, volume, 0, 0];
      for (const { kind, end } of steps) {
        const before = p * v;
        let done = 0;
        if (kind === "isochoric") p = end;
        else {
          const width = (end - v) / slices;
          for (let slice = 0; slice < slices; slice++) {
            // Along the path d(ln p) = -n d(ln V): a midpoint step.
            const exponent = kind === "isobaric" ? 0 : kind === "isothermal" ? 1 : 1 + 1 / heat;
            const middle = p * (1 - (exponent * width) / 2 / v);
            done += middle * width;
            p -= (exponent * middle * width) / (v + width / 2);
            v += width;
          }
        }
        work += done;
        if (kind !== "adiabatic") taken += Math.max(0, heat * (p * v - before) + done);
      }
      return [work, taken, work / taken];
    },
    5e-3,
  );
});

test("phase-mix-temperature: bisection for the temperature at which the heats agree", () => {
  interface Given {
    portions: { kind: string; mass: number; temperature: number; capacity: number }[];
  }
  expectAgreement(phaseMixTemperature, ({ portions }: Given) => {
    /** Heat of a kilogram of H2O from -100 °C on, before and after what melts or boils at this temperature. */
    const heatAt = (temperature: number): [number, number] => {
      const ice = 2.1 * (Math.min(temperature, 0) + 100);
      const liquid = 4.19 * Math.max(0, Math.min(temperature, 100));
      const gas = 2 * Math.max(0, temperature - 100);
      const below = ice + liquid + gas + (temperature > 0 ? 334 : 0) + (temperature > 100 ? 2257 : 0);
      return [below, below + (temperature === 0 ? 334 : 0) + (temperature === 100 ? 2257 : 0)];
    };
    const water = portions.filter(({ kind }) => kind !== "solid");
    const solids = portions.filter(({ kind }) => kind === "solid");
    const mass = water.reduce((sum, one) => sum + one.mass, 0);
    const capacity = solids.reduce((sum, one) => sum + one.mass * one.capacity, 0);
    const heat =
      water.reduce((sum, one) => sum + one.mass * heatAt(one.temperature)[0], 0) +
      solids.reduce((sum, one) => sum + one.mass * one.capacity * (one.temperature + 100), 0);
    const bounds = (temperature: number): number[] =>
      heatAt(temperature).map((own) => mass * own + capacity * (temperature + 100));
    for (const [plateau, phases] of [
      [0, "ice and water"],
      [100, "water and steam"],
    ] as const) {
      const [low = 0, high = 0] = bounds(plateau);
      const share = (heat - low) / (high - low);
      if (share > 0 && share < 1) return [plateau, (plateau === 0 ? share : 1 - share) * mass, phases];
    }
    let [low, high] = [-100, 300];
    for (let step = 0; step < 100; step++) {
      const middle = (low + high) / 2;
      if ((bounds(middle)[0] ?? 0) < heat) low = middle;
      else high = middle;
    }
    return low < 0 ? [low, 0, "ice"] : [low, mass, "water"];
  });
});

test("heat-path-network: relaxation room by room, the rod by integration from its tip", () => {
  interface Given {
    rooms: number;
    outside: number;
    heating: number[];
    paths: {
      from: number;
      to: number;
      area: number;
      layers: { thickness: number; conductivity: number }[];
      films: number[];
    }[];
    rod: { from: number; length: number; diameter: number; conductivity: number; film: number } | null;
  }
  expectAgreement(
    heatPathNetwork,
    ({ rooms, outside, heating, paths, rod }: Given) => {
      const links: { a: number; b: number; value: number }[] = paths.map(({ from, to, area, layers, films }) => {
        let resistance = 0;
        for (const film of films) resistance += 1 / (film * area);
        for (const { thickness, conductivity } of layers) resistance += thickness / (1000 * conductivity * area);
        return { a: from, b: to, value: 1 / resistance };
      });
      if (rod !== null) {
        const diameter = rod.diameter / 1000;
        const rate = (4 * rod.film) / (rod.conductivity * diameter);
        const steps = 4000;
        const step = rod.length / steps;
        let [excess, slope] = [1, 0];
        for (let index = 0; index < steps; index++) {
          const middle = excess + (slope * step) / 2;
          const half = slope + (rate * excess * step) / 2;
          excess += half * step;
          slope += rate * middle * step;
        }
        links.push({ a: rod.from, b: -1, value: (rod.conductivity * Math.PI * diameter ** 2 * slope) / 4 / excess });
      }
      const values = Array.from({ length: rooms }, () => outside);
      for (let round = 0; round < MOST_STEPS; round++) {
        let change = 0;
        for (let room = 0; room < rooms; room++) {
          let [sum, weight] = [heating[room] ?? 0, 0];
          for (const { a, b, value } of links) {
            if (a !== room && b !== room) continue;
            const other = a === room ? b : a;
            sum += value * (other < 0 ? outside : (values[other] ?? 0));
            weight += value;
          }
          change = Math.max(change, Math.abs(sum / weight - (values[room] ?? 0)));
          values[room] = sum / weight;
        }
        if (change < 1e-12) break;
      }
      const wall = links[0] ?? { a: 0, b: -1, value: 0 };
      const there = wall.b < 0 ? outside : (values[wall.b] ?? 0);
      return [...values, ((values[wall.a] ?? 0) - there) * wall.value];
    },
    1e-4,
  );
});

test("moving-frames-time: rapidities add", () => {
  interface Given {
    speeds: [number, number][];
    time: number;
    way: number;
    particle: { energy: number; speed: number } | null;
  }
  expectAgreement(movingFramesTime, ({ speeds, time, way, particle }: Given) => {
    const rapidity = speeds.reduce((sum, [n, d]) => sum + Math.atanh(n / d), 0);
    const [cosh, sinh] = [Math.cosh(rapidity), Math.sinh(rapidity)];
    return [
      time * cosh + way * sinh,
      (way * cosh + time * sinh) * 299.792458,
      ...(speeds.length > 1 ? [Math.tanh(rapidity)] : []),
      ...(particle === null ? [] : [particle.energy * Math.cosh(rapidity + Math.atanh(particle.speed))]),
    ];
  });
});

test("unknown-law-dimensions: any basis of the nullspace counts, and nothing less", () => {
  for (const { instance } of instancesOf(unknownLawDimensions)) {
    const { quantities } = instance as unknown as { quantities: { powers: number[] }[] };
    const rows = [0, 1, 2, 3].map((unit) => quantities.map(({ powers }) => BigInt(powers[unit] ?? 0)));
    const basis = integerNullspace(rows, quantities.length);
    const text = (groups: readonly (readonly bigint[])[]): string => groups.map((group) => group.join(" ")).join("\n");
    // A triangular combination of a basis is a basis.
    const mixed = basis.map((group, index) =>
      group.map((power, place) => 2n * power + 3n * (index > 0 ? (basis[index - 1]?.[place] ?? 0n) : 0n)),
    );
    expect(unknownLawDimensions.score(instance, text(basis))).toBe(1);
    expect(unknownLawDimensions.score(instance, text(mixed))).toBe(1);
    const [first = []] = mixed;
    expect(unknownLawDimensions.score(instance, text(mixed.slice(1)))).toBe(0);
    if (mixed.length > 1) expect(unknownLawDimensions.score(instance, text(mixed.map(() => first)))).toBe(0);
  }
});

test("moving-frames-time: every wording says in which unit a distance is read", () => {
  for (const { instance } of instancesOf(movingFramesTime, [1, 3, 5]))
    for (const wording of movingFramesTime.prompts) expect(wording(instance, createRng(1))).toContain("in metres");
});

test("oscillator-record: turning points as far from the zero of a shifted scale are no sign of a free oscillation", () => {
  // Rest mark -10, amplitudes 100, 80, 64 and 51.2.
  const record = [90, -90, 54, -61.2].map((reading, index) => ({ time: 0.5 * index, reading }));
  const given = { mass: 1, record, isShifted: true, force: null, asksPhase: false };
  const instance = { given, solution: { parts: [], slips: [], steps: 0 }, aside: "" };
  for (const wording of oscillatorRecord.prompts) {
    const prompt = wording(instance, createRng(1));
    expect(prompt).toContain("the damping constant c");
    expect(prompt).not.toMatch(/without damping|friction is absent|m x'' \+ k x = 0|vacuum/u);
  }
});
