/** Combinatorial structures against enumeration of what they count. */
import { structures } from "../../../../../ts/environments/catalogue/math/structures/index.ts";
import { compareWith } from "./against-brute-force.ts";

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

function* lists(length: number, below: number): Generator<number[]> {
  if (length === 0) yield [];
  else for (const rest of lists(length - 1, below)) for (const value of upTo(below)) yield [...rest, value];
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

function countOf<Item>(items: Iterable<Item>, holds: (item: Item) => boolean): string {
  let count = 0;
  for (const item of items) count += Number(holds(item));
  return String(count);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

const MOST = 40_000;

compareWith(structures, {
  "cycle-structure-permutations": [
    1,
    (one: { n: number; lengths: number[]; cycles: number; joined: boolean | null }) =>
      countOf(orders(upTo(one.n)), (order) => {
        const cycleOf = (start: number): number[] => {
          const cycle = [start];
          for (let next = order[start] ?? 0; next !== start; next = order[next] ?? 0) cycle.push(next);
          return cycle;
        };
        const cycles = new Set(
          upTo(one.n).map((start) =>
            cycleOf(start)
              .toSorted((a, b) => a - b)
              .join(),
          ),
        );
        const isJoined = cycleOf(0).includes(1);
        return (
          cycles.size === one.cycles &&
          [...cycles].every((cycle) => one.lengths.includes(cycle.split(",").length)) &&
          (one.joined ?? isJoined) === isJoined
        );
      }),
  ],
  "descent-pattern-permutations": [
    2,
    ({ pattern, last }: { pattern: string; last: number | null }) =>
      countOf(
        orders(upTo(pattern.length + 1)),
        (order) =>
          pattern.split("").every((sign, at) => {
            const rises = (order[at] ?? 0) < (order[at + 1] ?? 0);
            return sign === "?" || (sign === "<") === rises;
          }) &&
          (last === null || order.at(-1) === last - 1),
      ),
  ],
  "subset-tuple-census": [
    2,
    (one: {
      n: number;
      sets: number;
      relations: { kind: string; pair: [number, number] }[];
      sizes: { kind: string; pair: [number, number]; size: number }[];
    }) => {
      if (2 ** (one.sets * one.n) > MOST) return null;
      return countOf(lists(one.sets, 2 ** one.n), (sets) => {
        const of = (index: number): Set<number> =>
          new Set(upTo(one.n).filter((bit) => Math.floor((sets[index] ?? 0) / 2 ** bit) % 2 === 1));
        const keeps = one.relations.every(({ kind, pair: [a, b] }) => {
          const [first, second] = [[...of(a)], of(b)];
          if (kind === "inside") return first.every((item) => second.has(item));
          if (kind === "disjoint") return first.every((item) => !second.has(item));
          return new Set([...first, ...second]).size === one.n;
        });
        return (
          keeps &&
          one.sizes.every(({ kind, pair: [a, b], size }) => {
            const [first, second] = [[...of(a)], of(b)];
            const result =
              kind === "union" ? new Set([...first, ...second]).size : first.filter((x) => second.has(x)).length;
            return result === size;
          })
        );
      });
    },
  ],
  "digit-rule-numbers": [
    2,
    (one: { bound: string; modulus: number; residue: number; banned: number[]; gap: number }) =>
      countOf(upTo(Number(one.bound) + 1).slice(1), (n) => {
        const digits = String(n).split("").map(Number);
        return (
          sum(digits) % one.modulus === one.residue &&
          !digits.some((digit) => one.banned.includes(digit)) &&
          digits.every((digit, at) => at === 0 || Math.abs(digit - (digits[at - 1] ?? 0)) >= one.gap)
        );
      }),
  ],
  "margin-tables": [
    2,
    ({ rows, columns, most }: { rows: number[]; columns: number[]; most: number }) => {
      const width = columns.length;
      if ((most + 1) ** (rows.length * width) > MOST) return null;
      return countOf(
        lists(rows.length * width, most + 1),
        (cells) =>
          rows.every((total, row) => sum(cells.slice(row * width, (row + 1) * width)) === total) &&
          columns.every((total, column) => sum(cells.filter((_, at) => at % width === column)) === total),
      );
    },
  ],
  "guarded-board-placements": [
    3,
    (one: { rows: number; columns: number; piece: string; pieces: number; holes: [number, number][] }) => {
      const cells = upTo(one.rows * one.columns).filter(
        (cell) => !one.holes.some(([row, column]) => row * one.columns + column === cell),
      );
      return countOf(choices(cells, one.pieces), (chosen) =>
        chosen.every((a) =>
          chosen.every((b) => {
            const steps = [
              Math.abs(Math.floor(a / one.columns) - Math.floor(b / one.columns)),
              Math.abs((a % one.columns) - (b % one.columns)),
            ].toSorted((x, y) => x - y);
            const attacks: Record<string, string[]> = {
              king: ["0,1", "1,1"],
              knight: ["1,2"],
              jumper: ["0,2", "1,1"],
              guard: ["0,1", "0,2"],
            };
            return a === b || attacks[one.piece]?.includes(steps.join()) === false;
          }),
        ),
      );
    },
  ],
  "degree-labelled-trees": [
    1,
    (one: { n: number; degrees: [number, number][]; leaves: number; most: number }) => {
      if (one.n > 6) return null;
      const pairs = upTo(one.n).flatMap((a) => upTo(a).map((b) => [b, a] as const));
      return countOf(choices(upTo(pairs.length), one.n - 1), (chosen) => {
        const edges = chosen.map((at) => pairs[at] ?? [0, 0]);
        const reached = new Set([0]);
        for (const node of reached)
          for (const [a, b] of edges)
            if (a === node) reached.add(b);
            else if (b === node) reached.add(a);
        const degrees = upTo(one.n).map((node) => edges.filter(([a, b]) => a === node || b === node).length);
        return (
          reached.size === one.n &&
          Math.max(...degrees) <= one.most &&
          degrees.filter((degree) => degree === 1).length === one.leaves &&
          one.degrees.every(([vertex, degree]) => degrees[vertex - 1] === degree)
        );
      });
    },
  ],
  "feuding-groups": [
    3,
    (one: {
      people: number;
      groups: number;
      smallest: number;
      largest: number;
      together: [number, number][];
      apart: [number, number][];
    }) => {
      // Restricted growth strings: a person joins a group that exists or opens the next one.
      let count = 0;
      const place = (groupOf: number[]): void => {
        const used = Math.max(-1, ...groupOf) + 1;
        if (groupOf.length < one.people) {
          for (const group of upTo(Math.min(used + 1, one.groups))) place([...groupOf, group]);
          return;
        }
        const sizes = upTo(used).map((group) => groupOf.filter((other) => other === group).length);
        const holds =
          used === one.groups &&
          sizes.every((size) => size >= one.smallest && size <= one.largest) &&
          one.together.every(([a, b]) => groupOf[a] === groupOf[b]) &&
          one.apart.every(([a, b]) => groupOf[a] !== groupOf[b]);
        count += Number(holds);
      };
      place([]);
      return String(count);
    },
  ],
  "disjoint-path-families": [
    2,
    ({ starts, ends }: { starts: [number, number][]; ends: [number, number][] }) => {
      const pathsOf = ([x, y]: [number, number], [u, v]: [number, number]): string[][] => {
        if (u < x || v < y) return [];
        if (u === x && v === y) return [[`${x},${y}`]];
        return [...pathsOf([x + 1, y], [u, v]), ...pathsOf([x, y + 1], [u, v])].map((path) => [`${x},${y}`, ...path]);
      };
      const all = starts.map((start, at) => pathsOf(start, ends[at] ?? start));
      const extend = (index: number, used: ReadonlySet<string>): number => {
        const paths = all[index];
        if (paths === undefined) return 1;
        const free = paths.filter((path) => !path.some((point) => used.has(point)));
        return sum(free.map((path) => extend(index + 1, new Set([...used, ...path]))));
      };
      return all.reduce((product, paths) => product * paths.length, 1) > MOST ? null : String(extend(0, new Set()));
    },
  ],
  "pairing-plans": [
    1,
    (one: { people: number; forbidden: [number, number][]; marked: [number, number][]; most: number }) => {
      const pairs = upTo(one.people).flatMap((a) => upTo(a).map((b): [number, number] => [b, a]));
      const isIn = (list: [number, number][], [a, b]: [number, number]): boolean =>
        list.some(([x, y]) => x === a && y === b);
      return countOf(choices(upTo(pairs.length), one.people / 2), (chosen) => {
        const made = chosen.map((at): [number, number] => pairs[at] ?? [0, 0]);
        return (
          new Set(made.flat()).size === one.people &&
          !made.some((pair) => isIn(one.forbidden, pair)) &&
          made.filter((pair) => isIn(one.marked, pair)).length <= one.most
        );
      });
    },
  ],
  "ordered-factorisations": [
    2,
    (one: { primes: [number, number][]; factors: number; squareFree: number; carriers: number | null }) => {
      const number = one.primes.reduce((product, [prime, exponent]) => product * prime ** exponent, 1);
      const square = one.squareFree ** 2;
      const first = one.primes[0]?.[0] ?? 1;
      const extend = (left: number, factors: number[]): number => {
        if (factors.length === one.factors) {
          const carriers = factors.filter((factor) => factor % first === 0).length;
          return Number(left === 1 && carriers === (one.carriers ?? carriers));
        }
        let count = 0;
        for (let factor = 2; factor <= left; factor++)
          if (left % factor === 0 && (square === 0 || factor % square !== 0))
            count += extend(left / factor, [...factors, factor]);
        return count;
      };
      return number > 20_000 ? null : String(extend(number, []));
    },
  ],
});
