/** Counting rows against enumeration of what they count. */
import { counting } from "../../../../../ts/environments/catalogue/math/counting/index.ts";
import { compareWith } from "./against-brute-force.ts";

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

/** All lists of this length with values below the bound. */
function* lists(length: number, below: number): Generator<number[]> {
  if (length === 0) yield [];
  else for (const rest of lists(length - 1, below)) for (const value of upTo(below)) yield [...rest, value];
}

function countOf<Item>(items: Iterable<Item>, holds: (item: Item) => boolean): string {
  let count = 0;
  for (const item of items) count += Number(holds(item));
  return String(count);
}

function* orders<Item>(items: readonly Item[]): Generator<Item[]> {
  if (items.length === 0) yield [];
  for (const [at, item] of items.entries()) for (const rest of orders(items.toSpliced(at, 1))) yield [item, ...rest];
}

/** Places of an object's cells after each of its symmetries, from coordinates. */
function symmetriesOf(shape: string, size: number): number[][] {
  if (shape === "board") {
    const turned = (times: number) => (cell: number) => {
      let [x, y] = [cell % size, Math.floor(cell / size)];
      for (let turn = 0; turn < times; turn++) [x, y] = [size - 1 - y, x];
      return y * size + x;
    };
    return upTo(4).map((times) => upTo(size * size).map(turned(times)));
  }
  if (shape === "cube") {
    // Signed permutation matrices of determinant 1 move the six axis vectors.
    const axes = upTo(6).map((face) => upTo(3).map((axis) => (axis === face % 3 ? (face < 3 ? 1 : -1) : 0)));
    return [...orders([0, 1, 2])].flatMap((permutation) =>
      [...lists(3, 2)].flatMap((signs) => {
        const matrix = permutation.map((axis, row) =>
          upTo(3).map((column) => (column === axis ? 1 - 2 * (signs[row] ?? 0) : 0)),
        );
        const [[a = 0, b = 0, c = 0] = [], [d = 0, e = 0, f = 0] = [], [g = 0, h = 0, i = 0] = []] = matrix;
        if (a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g) !== 1) return [];
        const image = (face: number[]) =>
          matrix.map((row) => row.reduce((sum, entry, at) => sum + entry * (face[at] ?? 0), 0)).join();
        return [axes.map((face) => axes.findIndex((other) => other.join() === image(face)))];
      }),
    );
  }
  const turns = upTo(size).map((by) => upTo(size).map((place) => (place + by) % size));
  const mirrors = shape === "necklace" ? [] : turns.map((turn) => turn.toReversed());
  return [...turns, ...mirrors];
}

const MOST = 40_000;

/** Rows with a test file or a second method elsewhere. */
const ELSEWHERE = ["round-table-seating", "survey-regions", "forcing-threshold"];
const family = { ...counting, rows: counting.rows.filter(({ id }) => !ELSEWHERE.includes(id)) };

compareWith(family, {
  "adjacency-arrangements": [
    2,
    ({ counts, banned }: { counts: number[]; banned: [number, number][] }) => {
      const letters = counts.flatMap((n, letter) => upTo(n).map(() => letter));
      const words = new Set([...orders(letters)].map((word) => word.join("")));
      return countOf(words, (word) =>
        banned.every(([a, b]) => !word.includes(`${a}${b}`) && !word.includes(`${b}${a}`)),
      );
    },
  ],
  "obstacle-lattice-paths": [
    2,
    ({
      width,
      height,
      blocked,
      turns,
    }: {
      width: number;
      height: number;
      blocked: [number, number][];
      turns: number | null;
    }) =>
      countOf(lists(width + height, 2), (steps) => {
        let [x, y] = [0, 0];
        const free = steps.every((step) => {
          [x, y] = step === 0 ? [x + 1, y] : [x, y + 1];
          return !blocked.some(([u, v]) => u === x && v === y);
        });
        const bends = steps.filter((step, at) => at > 0 && step !== steps[at - 1]).length;
        return free && x === width && bends <= (turns ?? bends);
      }),
  ],
  "symmetry-colourings": [
    3,
    ({ shape, size, quotas, free }: { shape: string; size: number; quotas: number[]; free: number }) => {
      const places = shape === "board" ? size * size : size;
      const colours = quotas.length + free;
      if (colours ** places > MOST) return null;
      const symmetries = symmetriesOf(shape, size);
      const orbits = new Set<string>();
      for (const colouring of lists(places, colours)) {
        if (quotas.some((quota, colour) => colouring.filter((one) => one === colour).length !== quota)) continue;
        orbits.add(symmetries.map((moved) => moved.map((place) => colouring[place]).join("")).toSorted()[0] ?? "");
      }
      return String(orbits.size);
    },
  ],
  "restricted-partitions": [
    2,
    (one: {
      n: number;
      isOrdered: boolean;
      smallest: number;
      largest: number;
      notMultipleOf: number;
      repeats: number;
      parts: number | null;
    }) => {
      let count = 0;
      const extend = (left: number, parts: number[]): void => {
        if (left === 0) {
          const repeats = Math.max(...parts.map((part) => parts.filter((other) => other === part).length));
          count += Number(
            (one.isOrdered || repeats <= one.repeats) && (one.parts === null || parts.length === one.parts),
          );
        }
        for (let part = one.smallest; part <= Math.min(left, one.largest); part++) {
          if (one.notMultipleOf > 0 && part % one.notMultipleOf === 0) continue;
          if (one.isOrdered || part >= (parts.at(-1) ?? 0)) extend(left - part, [...parts, part]);
        }
      };
      if (one.isOrdered && one.n > 18) return null;
      extend(one.n, []);
      return String(count);
    },
  ],
  "boxes-and-balls": [
    2,
    ({ distinct, alike, boxes }: { distinct: number; alike: number; boxes: [number, number][] }) => {
      const shares = [...lists(boxes.length, alike + 1)].filter(
        (share) => share.reduce((sum, n) => sum + n, 0) === alike,
      );
      let count = 0;
      for (const places of lists(distinct, boxes.length)) {
        for (const share of shares) {
          const fits = boxes.every(([least, most], box) => {
            const items = places.filter((place) => place === box).length + (share[box] ?? 0);
            return items >= least && items <= most;
          });
          count += Number(fits);
        }
      }
      return String(count);
    },
  ],
  "forbidden-position-permutations": [
    2,
    ({ size, forbidden }: { size: number; forbidden: number[][] }) =>
      countOf(orders(upTo(size)), (order) => order.every((column, row) => forbidden[row]?.includes(column) === false)),
  ],
  "strip-tilings": [
    2,
    ({ width, length, tiles }: { width: number; length: number; tiles: [number, number][] }) => {
      // Shapes as sets of cells [row, column], in all positions that have their first cell at the first free cell of the rows.
      const shapes: readonly (readonly (readonly [number, number])[])[][] = [
        [[[0, 0]]],
        [[[0, 0], [0, 1]], [[0, 0], [1, 0]]], // prettier-ignore
        [[[0, 0], [0, 1], [1, 0], [1, 1]]], // prettier-ignore
        [[[0, 0], [0, 1], [1, 0]], [[0, 0], [0, 1], [1, 1]], [[0, 0], [1, 0], [1, 1]], [[0, 0], [1, -1], [1, 0]]], // prettier-ignore
        [[[0, 0], [0, 1], [0, 2]], [[0, 0], [1, 0], [2, 0]]], // prettier-ignore
      ];
      let [total, visits] = [0, 0];
      const fill = (covered: ReadonlySet<number>, ways: number): void => {
        if ((visits += 1) > MOST) return;
        const cell = upTo(width * length).find((one) => !covered.has(one));
        if (cell === undefined) total += ways;
        else
          for (const [tile, colours] of tiles) {
            for (const shape of shapes[tile] ?? []) {
              const cells = shape.map(([dy, dx]) => [Math.floor(cell / length) + dy, (cell % length) + dx] as const);
              if (!cells.every(([y, x]) => y < width && x >= 0 && x < length && !covered.has(y * length + x))) continue;
              fill(new Set([...covered, ...cells.map(([y, x]) => y * length + x)]), ways * colours);
            }
          }
      };
      fill(new Set(), 1);
      return visits > MOST ? null : String(total);
    },
  ],
  "labelled-graph-census": [
    2,
    ({ vertices, edges, colours }: { vertices: number; edges: [number, number][]; colours: number | null }) => {
      if (colours !== null)
        return countOf(lists(vertices, colours), (colouring) => edges.every(([a, b]) => colouring[a] !== colouring[b]));
      return countOf(lists(edges.length, 2), (chosen) => {
        const roots = upTo(vertices);
        let joined = 0;
        for (const [a, b] of edges.filter((_, at) => chosen[at] === 1)) {
          const [from, to] = [roots[a] ?? 0, roots[b] ?? 0];
          if (from === to) return false;
          for (const vertex of upTo(vertices)) if (roots[vertex] === from) roots[vertex] = to;
          joined += 1;
        }
        return joined === vertices - 1;
      });
    },
  ],
  "pattern-free-words": [
    2,
    ({
      letters,
      length,
      avoided,
      contained,
    }: {
      letters: number;
      length: number;
      avoided: string[];
      contained: string | null;
    }) =>
      countOf(lists(length, letters), (list) => {
        const word = list.map((letter) => "ABCD"[letter]).join("");
        return !avoided.some((pattern) => word.includes(pattern)) && word.includes(contained ?? "");
      }),
  ],
  "residue-subsets": [
    1,
    ({
      n,
      modulus,
      residue,
      size,
      gap,
    }: {
      n: number;
      modulus: number;
      residue: number;
      size: number | null;
      gap: number;
    }) =>
      countOf(lists(n, 2), (chosen) => {
        const set = upTo(n).flatMap((at) => (chosen[at] === 1 ? [at + 1] : []));
        const apart = set.every((one, at) => at === 0 || one - (set[at - 1] ?? 0) >= gap);
        return (
          apart && set.length === (size ?? set.length) && set.reduce((sum, one) => sum + one, 0) % modulus === residue
        );
      }),
  ],
  "ballot-and-tableaux": [
    2,
    ({ outer, inner }: { outer: number[]; inner: number[] }) => {
      const fill = (lengths: number[]): number => {
        if (lengths.join() === outer.join()) return 1;
        return lengths.reduce((sum, length, row) => {
          const isFree = length < (outer[row] ?? 0) && (row === 0 || (lengths[row - 1] ?? 0) > length);
          return isFree ? sum + fill(lengths.with(row, length + 1)) : sum;
        }, 0);
      };
      return String(fill(inner));
    },
  ],
});
