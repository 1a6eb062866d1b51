/** Linear algebra against the definitions: permutations, minors and steps one by one, or orthogonal vectors in doubles. */
import { linearAlgebra } from "../../../../../ts/environments/catalogue/math/linear-algebra/index.ts";
import { compareWith } from "./against-brute-force.ts";

type Matrix = number[][];

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

function* orders(items: readonly number[]): Generator<number[]> {
  if (items.length === 0) yield [];
  for (const [at, item] of items.entries()) for (const rest of orders(items.toSpliced(at, 1))) yield [item, ...rest];
}

function* choices(items: readonly number[], size: number): Generator<number[]> {
  if (size === 0) yield [];
  else
    for (const [at, item] of items.entries())
      for (const rest of choices(items.slice(at + 1), size - 1)) yield [item, ...rest];
}

/** The sum over all permutations. */
function byPermutations(matrix: Matrix): number {
  let total = 0;
  for (const order of orders(upTo(matrix.length))) {
    const swaps = order.flatMap((a, at) => order.slice(at + 1).filter((b) => b < a)).length;
    const product = order.reduce((factor, column, row) => factor * (matrix[row]?.[column] ?? 0), 1);
    total += swaps % 2 === 0 ? product : -product;
  }
  return total;
}

function part(matrix: Matrix, rows: number[], columns: number[]): Matrix {
  return rows.map((row) => columns.map((column) => matrix[row]?.[column] ?? 0));
}

function dot(a: readonly number[], b: readonly number[]): number {
  return sum(a.map((value, at) => value * (b[at] ?? 0)));
}

/** What is left of a vector after its parts along the others are taken off. */
function residual(spanning: Matrix, vector: number[]): number[] {
  const units: number[][] = [];
  const reduce = (one: number[]): number[] =>
    [...units, ...units].reduce((rest, unit) => {
      const share = dot(rest, unit);
      return rest.map((value, at) => value - share * (unit[at] ?? 0));
    }, one);
  for (const one of spanning) {
    const rest = reduce(one);
    const length = Math.sqrt(dot(rest, rest));
    if (length > 1e-9) units.push(rest.map((value) => value / length));
  }
  return reduce(vector);
}

function gcd(a: number, b: number): number {
  return b === 0 ? Math.abs(a) : gcd(b, a % b);
}

compareWith(linearAlgebra, {
  "structured-determinant": [
    2,
    ({ size, pattern, a, b, c }: { size: number; pattern: string; a: number; b: number; c: number }) => {
      const matrix = upTo(size).map(() => upTo(size).map(() => 0));
      for (const i of upTo(size)) {
        const row = matrix[i] ?? [];
        for (const j of upTo(size)) {
          if (pattern === "smaller-index") row[j] = a * (1 + Math.min(i, j)) + b;
          if (pattern === "raised-diagonal") row[j] = j > i ? b : c;
        }
        if (pattern === "band") {
          row[i + 1] = b;
          row[i - 1] = c;
          row.length = size;
        }
        if (pattern === "arrow" && i === 0) row.fill(b);
        if (pattern === "arrow") row[0] = c;
        if (pattern === "band") row[i] = a;
        if (pattern === "arrow") row[i] = i % 2 === 0 && i > 0 ? a + 1 : a;
        if (pattern === "smaller-index") row[i] = (row[i] ?? 0) + c;
        if (pattern === "raised-diagonal") row[i] = a + i + 1;
      }
      return String(byPermutations(matrix));
    },
  ],
  "matrix-power-entry": [
    3,
    (one: { matrix: Matrix; power: number; modulus: number; row: number; column: number }) => {
      let vector = one.matrix.map((_, at) => Number(at === one.column));
      for (let step = 0; step < one.power; step++)
        vector = one.matrix.map((row) => ((dot(row, vector) % one.modulus) + one.modulus) % one.modulus);
      return String(vector[one.row]);
    },
  ],
  "least-squares-residual": [
    5,
    ({ spanning, target }: { spanning: Matrix; target: number[] }) => {
      const rest = residual(spanning, target);
      return dot(rest, rest);
    },
  ],
  "basis-change-map": [
    4,
    ({ map, basis }: { map: Matrix; basis: Matrix }) => {
      // Cramer's rule for each column.
      const whole = byPermutations(basis);
      const size = upTo(basis.length);
      const columns = size.map((column) => {
        const vector = basis.map((row) => row[column] ?? 0);
        const image = map.map((row) => dot(row, vector));
        return size.map((place) => byPermutations(basis.map((row, at) => row.with(place, image[at] ?? 0))) / whole);
      });
      // Adding 0 makes the negative zero a plain one.
      return size.flatMap((row) => columns.map((column) => (column[row] ?? 0) + 0)).join(", ");
    },
  ],
  "characteristic-coefficients": [
    5,
    ({ matrix }: { matrix: Matrix }) =>
      upTo(matrix.length)
        .map((at) => {
          const minors = [...choices(upTo(matrix.length), at + 1)].map((set) => byPermutations(part(matrix, set, set)));
          return sum(minors) * (at % 2 === 0 ? -1 : 1);
        })
        .join(", "),
  ],
  "invariant-factors": [
    5,
    ({ matrix }: { matrix: Matrix }) => {
      const places = upTo(matrix.length);
      const divisors = [
        1,
        ...places.map((at) => {
          const sets = [...choices(places, at + 1)];
          return sets
            .flatMap((rows) => sets.map((columns) => byPermutations(part(matrix, rows, columns))))
            .reduce(gcd, 0);
        }),
      ];
      return places.map((at) => (divisors[at + 1] ?? 0) / (divisors[at] ?? 1)).join(", ");
    },
  ],
  "definiteness-threshold": [
    3,
    ({ matrix, places }: { matrix: Matrix; places: number[] }) => {
      // Completing squares leaves positive pivots.
      const isDefinite = (parameter: number): boolean => {
        let rest = matrix.map((row, at) =>
          row.map((value, to) => (at === to && places.includes(at) ? value + parameter : value)),
        );
        while (rest.length > 0) {
          const [[pivot = 0, ...head] = [], ...others] = rest;
          if (pivot < 1e-9) return false;
          rest = others.map(([first = 0, ...row]) => row.map((value, at) => value - (first * (head[at] ?? 0)) / pivot));
        }
        return true;
      };
      let parameter = 2_000;
      while (isDefinite(parameter - 1)) parameter -= 1;
      return String(parameter);
    },
  ],
  "span-membership": [
    5,
    ({ spanning, candidates }: { spanning: Matrix; candidates: Matrix }) =>
      candidates
        .flatMap((one, at) =>
          Math.sqrt(dot(residual(spanning, one), residual(spanning, one))) < 1e-6 ? [at + 11] : [],
        )
        .join(", "),
  ],
});
