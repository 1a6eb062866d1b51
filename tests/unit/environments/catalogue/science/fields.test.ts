/** Circuits, optics, decays and beams against loop currents, steps of time, node equations and ray matrices. */
import { expect, test } from "vitest";

import { chargeInFields } from "../../../../../ts/environments/catalogue/science/fields/charge-in-fields.ts";
import { decayChainActivity } from "../../../../../ts/environments/catalogue/science/fields/decay-chain-activity.ts";
import { fields } from "../../../../../ts/environments/catalogue/science/fields/index.ts";
import { lensMirrorTrain } from "../../../../../ts/environments/catalogue/science/fields/lens-mirror-train.ts";
import { phasorCircuit } from "../../../../../ts/environments/catalogue/science/fields/phasor-circuit.ts";
import { resistorMesh } from "../../../../../ts/environments/catalogue/science/fields/resistor-mesh.ts";
import { switchedTransient } from "../../../../../ts/environments/catalogue/science/fields/switched-transient.ts";
import { solveLinear } from "../../../../../ts/environments/catalogue/science/linear-system.ts";
import { expectAgreement, luckOf, quantityRowsOf } from "./second-method.ts";

test.each(quantityRowsOf(fields).map((row) => [row.id, row] as const))(
  "%s: numbers of the prompt rarely hit",
  (_, row) => {
    expect(luckOf(row)).toBeLessThan(0.02);
  },
);

test("resistor-mesh: branch currents from loops and nodes together", () => {
  interface Given {
    nodes: number;
    branches: { from: number; to: number; resistance: number; voltage: number }[];
  }
  expectAgreement(resistorMesh, ({ nodes, branches }: Given) => {
    // Unknown: the current of every branch, then the potential of every node but A.
    const size = branches.length + nodes - 1;
    const zero = (): number[] => Array.from({ length: size }, () => 0);
    const matrix: number[][] = [];
    const right: number[] = [];
    for (const [index, { from, to, resistance, voltage }] of branches.entries()) {
      const row = zero();
      row[index] = resistance;
      if (from > 0) row[branches.length + from - 1] = -1;
      if (to > 0) row[branches.length + to - 1] = 1;
      matrix.push(row);
      right.push(voltage);
    }
    for (let node = 1; node < nodes; node++) {
      matrix.push([
        ...branches.map(({ from, to }) => Number(from === node) - Number(to === node)),
        ...Array.from({ length: nodes - 1 }, () => 0),
      ]);
      right.push(0);
    }
    const found = solveLinear(matrix, right) ?? [];
    return [...found.slice(branches.length), found[0] ?? 0];
  });
});

test("switched-transient: small steps of time", () => {
  interface Given {
    kind: "capacitor" | "coil";
    size: number;
    start: number;
    stages: { source: number; series: number; across: number; duration: number }[];
  }
  const steps = 4000;
  expectAgreement(
    switchedTransient,
    ({ kind, size, start, stages }: Given) => {
      let value = start;
      /** Change in a second: the current into the capacitor, or the voltage of the coil. */
      const rate = (now: number, { source, series, across }: Given["stages"][number]): number => {
        if (kind === "capacitor") return ((source - now) / series - (across === 0 ? 0 : now / across)) / (size * 1e-6);
        // The source's current divides between the coil and the resistor across it.
        const load = across === 0 ? Number.POSITIVE_INFINITY : across;
        const voltage = (source - series * now) / (1 + series / load);
        return voltage / (size * 1e-3);
      };
      for (const stage of stages) {
        const step = stage.duration / 1000 / steps;
        for (let index = 0; index < steps; index++)
          value += step * rate(value + (step / 2) * rate(value, stage), stage);
      }
      const amount = kind === "capacitor" ? size * 1e-6 : size * 1e-3;
      return [value, 500 * amount * value ** 2];
    },
    1e-4,
  );
});

test("phasor-circuit: node equations in real and imaginary parts", () => {
  interface Element {
    kind: "R" | "L" | "C";
    size: number;
  }
  interface Given {
    voltage: number;
    frequency: number;
    sections: { series: Element[]; across: Element[] }[];
  }
  expectAgreement(phasorCircuit, ({ voltage, frequency, sections }: Given) => {
    const w = 2 * Math.PI * frequency;
    const reactance = ({ kind, size }: Element): number =>
      kind === "L" ? (w * size) / 1000 : kind === "C" ? -1e6 / (w * size) : 0;
    const resistance = ({ kind, size }: Element): number => (kind === "R" ? size : 0);
    const sum = (list: Element[], part: (element: Element) => number): number =>
      list.reduce((total, element) => total + part(element), 0);
    // Unknown: the current of each section's series part, then the voltages across, each with two parts.
    const open = sections.filter(({ across }) => across.length > 0).length;
    const size = 2 * (sections.length + open);
    const matrix = Array.from({ length: size }, () => Array.from({ length: size }, () => 0));
    const right = Array.from({ length: size }, () => 0);
    const put = (row: number, column: number, [re, im]: readonly [number, number]): void => {
      for (const [r, c, value] of [
        [0, 0, re],
        [0, 1, -im],
        [1, 0, im],
        [1, 1, re],
      ] as const) {
        const line = matrix[2 * row + r];
        if (line !== undefined) line[2 * column + c] = (line[2 * column + c] ?? 0) + value;
      }
    };
    sections.forEach(({ series, across }, index) => {
      put(index, index, [sum(series, resistance), sum(series, reactance)]);
      if (index === 0) right[0] = voltage;
      else put(index, sections.length + index - 1, [-1, 0]);
      if (across.length === 0) return;
      put(index, sections.length + index, [1, 0]);
      const row = sections.length + index;
      put(row, index, [1, 0]);
      if (index + 1 < sections.length) put(row, index + 1, [-1, 0]);
      for (const element of across) {
        const own = resistance(element);
        put(row, sections.length + index, own > 0 ? [-1 / own, 0] : [0, 1 / reactance(element)]);
      }
    });
    const [re = 0, im = 0] = solveLinear(matrix, right) ?? [];
    return [Math.hypot(re, im), (-Math.atan2(im, re) * 180) / Math.PI, voltage * re];
  });
});

test("lens-mirror-train: matrices of rays", () => {
  interface Given {
    distance: number;
    height: number;
    lenses: number[];
    gaps: number[];
    mirror: number;
  }
  expectAgreement(lensMirrorTrain, ({ distance, height, lenses, gaps, mirror }: Given) => {
    const focals = mirror === 0 ? lenses : [...lenses, mirror];
    // Height and slope behind the train, of rays that leave the object's foot and its tip.
    const trace = (start: number, slope: number): [number, number] => {
      let [y, angle] = [start + slope * distance, slope];
      focals.forEach((focal, index) => {
        if (index > 0) y += angle * (gaps[index - 1] ?? 0);
        angle -= y / focal;
      });
      return [y, angle];
    };
    const [y, angle] = trace(0, 0.001);
    const place = -y / angle;
    const [tipHeight, tipAngle] = trace(height, 0);
    const image = tipHeight + tipAngle * place;
    return [place, Math.abs(image), place > 0 ? "real" : "virtual", image > 0 ? "upright" : "inverted"];
  });
});

test("decay-chain-activity: small steps of time", () => {
  interface Given {
    halfLives: number[];
    start: number;
    branches: number[];
    time: number;
  }
  const steps = 20_000;
  expectAgreement(
    decayChainActivity,
    ({ halfLives, start, branches, time }: Given) => {
      const rates = halfLives.map((half) => Math.log(2) / half);
      const run = (until: number, watch: (numbers: number[], now: number) => void): void => {
        const step = until / steps;
        const numbers = rates.map((rate, member) => (member === 0 ? start / rate : 0));
        const change = (now: readonly number[], member: number): number =>
          -(rates[member] ?? 0) * (now[member] ?? 0) +
          (member === 0 ? 0 : ((branches[member - 1] ?? 0) / 100) * (rates[member - 1] ?? 0) * (now[member - 1] ?? 0));
        for (let index = 0; index <= steps; index++) {
          watch(numbers, index * step);
          const middle = numbers.map((count, member) => count + (step / 2) * change(numbers, member));
          rates.forEach((_, member) => (numbers[member] = (numbers[member] ?? 0) + step * change(middle, member)));
        }
      };
      let atEnd: number[] = [];
      run(time, (numbers, now) => {
        if (now > time * (1 - 0.5 / steps)) atEnd = numbers.map((count, member) => count * (rates[member] ?? 0));
      });
      let [best, peak] = [0, 0];
      run(4 * ((halfLives[0] ?? 0) + (halfLives[1] ?? 0)), (numbers, now) => {
        if ((numbers[1] ?? 0) > best) [best, peak] = [numbers[1] ?? 0, now];
      });
      return [...atEnd.slice(1), peak];
    },
    3e-3,
  );
});

test("charge-in-fields: small steps of time under the force of Lorentz", () => {
  interface Given {
    mass: number;
    charge: number;
    acceleration: number;
    plates: { field: number; length: number } | null;
    drift: number;
    magnet: { field: number; length: number } | null;
    after: number;
  }
  expectAgreement(
    chargeInFields,
    ({ mass, charge, acceleration, plates, drift, magnet, after }: Given) => {
      const ratio = (charge * 1.602177e-19) / (mass * 1.660539e-27);
      const speed = Math.sqrt(2 * ratio * acceleration);
      const ends = [plates?.length ?? 0, drift, magnet?.length ?? 0, after].map((length) => length / 100);
      let [x, y, vx, vy] = [0, 0, speed, 0];
      const step = ends.reduce((sum, length) => sum + length, 0) / speed / 40_000;
      let edge = 0;
      for (const [region, length] of ends.entries()) {
        edge += length;
        const electric = region === 0 ? (plates?.field ?? 0) : 0;
        const magnetic = region === 2 ? (magnet?.field ?? 0) / 1000 : 0;
        while (x < edge) {
          const [ux, uy] = [
            vx + (step / 2) * ratio * vy * magnetic,
            vy + (step / 2) * ratio * (electric - vx * magnetic),
          ];
          x += ux * step;
          y += uy * step;
          vx += step * ratio * uy * magnetic;
          vy += step * ratio * (electric - ux * magnetic);
        }
      }
      return [speed / 1000, y * 1000, (Math.atan2(vy, vx) * 180) / Math.PI];
    },
    5e-3,
  );
});
