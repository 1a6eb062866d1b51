/** lattice-planes: indices of planes from their intercepts, the axis of a zone, spacings and angles in an orthorhombic crystal. */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { fieldRow, type Solution } from "../../field-row.ts";
import { at, range } from "../../lists.ts";
import { gcd, lcm } from "../../math/number-theory.ts";
import { over, plus, ratio, type Rational, textOf, times, total } from "../../math/rational.ts";
import type { Level } from "../../row.ts";

interface Given {
  /** Squares of the edges of the cell. */
  squares: number[];
  /** Intercepts of each plane in edges, as numerator and denominator; null: parallel to the axis. */
  planes: ([number, number] | null)[][];
  /** Whether the zone, the spacings and the angle are asked for. */
  asks: number;
}

/** By level: planes, questions. */
const SIZES = [
  [1, 0],
  [2, 0],
  [2, 1],
  [2, 2],
  [3, 3],
] as const;

export const latticePlanes = fieldRow<Given>({
  id: "lattice-planes",
  asks: "Miller indices of planes from intercepts, the axis of their zone, squared spacings and angles in an orthorhombic crystal",
  draw,
  solve,
  values: (one) => valuesText(one),
  wordings: [
    (one) => `A list of planes by their intercepts:\n${planeList(one)}\n\n${RULE} ${cell(one)}`,
    (one) => `${cell(one)} ${RULE}\n\nThe faces of the crystal that were seen under the microscope:\n${planeList(one)}`,
    (one) =>
      `A diffraction laboratory describes faces by where they cut the axes a, b and c.\n${planeList(one)}\n${cell(one)}\n${RULE}`,
    (one) => `Index these planes of an orthogonal lattice. ${RULE}\n${planeList(one)}\nAbout the cell: ${cell(one)}`,
  ],
});

const RULE =
  "Miller indices h, k, l are the reciprocal intercepts brought to the smallest whole numbers, without change of sign; a plane parallel to an axis has index 0 there.";

function draw(rng: Rng, level: Level): Given | null {
  const [count, asks] = at(SIZES, level - 1);
  const planes = range(count).map(() =>
    range(3).map((): [number, number] | null =>
      rng.integer(6) === 0 ? null : [between(rng, 1, 5) * (rng.integer(4) === 0 ? -1 : 1), between(rng, 1, 4)],
    ),
  );
  return { squares: range(3).map(() => between(rng, 9, 60)), planes, asks };
}

function indicesOf(plane: readonly ([number, number] | null)[]): number[] | null {
  const parts = plane.map((cut) => (cut === null ? ([0, 1] as const) : ([cut[1], cut[0]] as const)));
  const common = parts.reduce((all, [, d]) => lcm(all, Math.abs(d)), 1);
  const whole = parts.map(([n, d]) => (n * common) / d);
  const divisor = whole.reduce((all, one) => gcd(all, Math.abs(one)), 0);
  return divisor === 0 ? null : whole.map((one) => one / divisor);
}

function solve({ squares, planes, asks }: Given): Solution | null {
  const indices = planes.map(indicesOf);
  const sure = indices.filter((one) => one !== null);
  if (sure.length < planes.length || sure.some((one) => one.filter((index) => index === 0).length > 1)) return null;
  const fields = sure.flatMap((list, plane) =>
    list.map((index, axis) => ({ name: `${"hkl"[axis]}${plane + 1}`, value: String(index) })),
  );
  const product = (a: readonly number[], b: readonly number[]): Rational =>
    total(a.map((index, axis) => ratio(index * at(b, axis), at(squares, axis))));
  const [p = [], q = []] = sure;
  if (asks > 0) {
    const axis = range(3).map((one) => {
      const [next, last] = [(one + 1) % 3, (one + 2) % 3];
      return at(p, next) * at(q, last) - at(p, last) * at(q, next);
    });
    const divisor = axis.reduce((all, one) => gcd(all, Math.abs(one)), 0);
    const lead = axis.find((one) => one !== 0);
    if (divisor === 0 || lead === undefined) return null;
    fields.push(
      ...axis.map((one, place) => ({
        name: at(["u", "v", "w"], place),
        value: String(one / divisor / Math.sign(lead) || 0),
      })),
    );
  }
  if (asks > 1)
    fields.push(
      ...sure.map((one, plane) => ({ name: `s${plane + 1}`, value: textOf(over(ratio(1), product(one, one))) })),
    );
  if (asks > 2) {
    const dot = product(p, q);
    fields.push({ name: "cosine", value: textOf(over(times(dot, dot), times(product(p, p), product(q, q)))) });
  }
  const cuts = planes.flatMap((plane) => plane.map((cut) => (cut === null ? "0" : String(cut[0]))));
  const rest = fields.slice(cuts.length).map(({ value }) => value);
  if (cuts.every((cut, index) => cut === at(fields, index).value)) return null;
  const plain = plus(ratio(fields.length), ratio(1));
  return {
    fields: fields.map(({ name, value }) => ({ name, kind: "number", value })),
    slips: [[...cuts, ...rest], fields.map(({ value }) => (value === "0" ? textOf(plain) : `${value}7`))],
    steps: fields.length * (2 + asks) * planes.length,
  };
}

function valuesText({ planes, asks }: Given): string {
  const parts = [`h1, k1, l1${planes.length > 1 ? " and so on" : ""} are the indices of the planes by number`];
  if (asks > 0)
    parts.push(
      "u, v, w are the smallest whole numbers, the first one that is not 0 being positive, of the direction that lies in planes 1 and 2",
    );
  if (asks > 1)
    parts.push(
      "s1, s2, ... are the squares of the spacings d of the planes in square ångström, as exact fractions, from 1/d² = h²/a² + k²/b² + l²/c²",
    );
  if (asks > 2)
    parts.push(
      "cosine is the square of the cosine of the angle between the normals of planes 1 and 2, as an exact fraction",
    );
  return parts.join("; ");
}

function cell({ squares: [a, b, c] }: Given): string {
  return `The crystal is orthorhombic with a² = ${a} Å², b² = ${b} Å², c² = ${c} Å².`;
}

function planeList({ planes }: Given): string {
  return planes
    .map((plane, index) => {
      const cuts = plane.map((cut, axis) => {
        const name = "abc"[axis];
        if (cut === null) return `parallel to ${name}`;
        return `${name} at ${cut[1] === 1 ? cut[0] : `${cut[0]}/${cut[1]}`} ${name}`;
      });
      return `Plane ${index + 1} cuts ${cuts.join(", ")}.`;
    })
    .join("\n");
}
