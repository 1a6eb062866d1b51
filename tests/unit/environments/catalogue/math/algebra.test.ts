/** Groups, codes, shares and matchings against lists of all elements, words and orders. */
import { algebra } from "../../../../../ts/environments/catalogue/math/algebra/index.ts";
import { graphs } from "../../../../../ts/environments/catalogue/math/graphs/index.ts";
import { optimisation } from "../../../../../ts/environments/catalogue/math/optimisation/index.ts";
import { type BruteForce, compareWith } from "./against-brute-force.ts";

function orders(count: number): number[][] {
  if (count === 0) return [[]];
  return orders(count - 1).flatMap((order) =>
    Array.from({ length: count }, (_, place) => [...order.slice(0, place), count - 1, ...order.slice(place)]),
  );
}

const METHODS: Readonly<Record<string, BruteForce>> = {
  "permutation-group-order": [
    2,
    ({ generators }: { generators: number[][] }) => {
      const seen = new Set([generators[0]?.map((_, place) => place).join()]);
      const queue = [...seen];
      for (const one of queue) {
        const images = (one ?? "").split(",").map(Number);
        for (const generator of generators) {
          const next = images.map((image) => generator[image]).join();
          if (!seen.has(next)) queue.push(next);
          seen.add(next);
        }
      }
      return String(seen.size);
    },
  ],
  "elliptic-curve-multiple": [
    2,
    ({ prime, a, b, point, factor }: { prime: number; a: number; b: number; point: number[]; factor: number }) => {
      // The third point of a line is searched among all points of the curve.
      const places = Array.from({ length: prime }, (_, value) => value);
      const reduced = (value: number): number => ((value % prime) + prime) % prime;
      const points = places.flatMap((x) =>
        places.flatMap((y) => (reduced(y * y - x * x * x - a * x - b) === 0 ? [[x, y] as const] : [])),
      );
      const [px = 0, py = 0] = point;
      let [x, y] = [px, py];
      for (let count = 1; count < factor; count++) {
        const isDouble = x === px && y === py;
        if (x === px && !isDouble) return null;
        const slope = places.find((one) =>
          isDouble ? reduced(2 * y * one - 3 * x * x - a) === 0 : reduced(one * (px - x) - (py - y)) === 0,
        );
        if (slope === undefined) return null;
        const sum = points.find(
          ([u, v]) => reduced(u + x + px - slope * slope) === 0 && reduced(v + y - slope * (x - u)) === 0,
        );
        if (sum === undefined) return null;
        [x, y] = sum;
      }
      return `${x}, ${y}`;
    },
  ],
  "corrupted-evaluations": [
    2,
    ({ prime, values, size, errors }: { prime: number; values: number[]; size: number; errors: number }) => {
      const found: string[] = [];
      for (let code = 0; code < prime ** size; code++) {
        const polynomial = Array.from({ length: size }, (_, power) => Math.floor(code / prime ** power) % prime);
        const wrong = values.filter(
          (value, x) => polynomial.reduce((sum, factor, power) => sum + factor * x ** power, 0) % prime !== value,
        );
        if (wrong.length <= errors) found.push(polynomial.join(", "));
      }
      return found.length === 1 ? (found[0] ?? null) : "several";
    },
  ],
  "shortest-register": [
    2,
    ({ prime, terms }: { prime: number; terms: number[] }) => {
      for (let length = 1; length < 4; length++) {
        for (let code = 0; code < prime ** length; code++) {
          const factors = Array.from({ length }, (_, place) => Math.floor(code / prime ** place) % prime);
          const isRight = terms.every(
            (term, n) =>
              n < length ||
              factors.reduce((sum, factor, k) => sum + factor * (terms[n - 1 - k] ?? 0), 0) % prime === term,
          );
          if (isRight) return factors.join(", ");
        }
      }
      return null;
    },
  ],
  "code-weights": [
    3,
    ({ prime, rows }: { prime: number; rows: number[][] }) => {
      const length = rows[0]?.length ?? 0;
      const counts = Array.from({ length: length + 1 }, () => 0);
      for (let code = 0; code < prime ** rows.length; code++) {
        const factors = rows.map((_, place) => Math.floor(code / prime ** place) % prime);
        const word = Array.from({ length }, (_, column) =>
          rows.reduce((sum, row, place) => sum + (factors[place] ?? 0) * (row[column] ?? 0), 0),
        );
        const weight = word.filter((value) => value % prime !== 0).length;
        counts[weight] = (counts[weight] ?? 0) + 1;
      }
      return counts.join(", ");
    },
  ],
  "shapley-shares": [
    3,
    ({ amounts, barrel }: { amounts: number[]; barrel: number }) => {
      const all = orders(amounts.length);
      const points = amounts.map(() => 0);
      for (const order of all) {
        let sum = 0;
        for (const partner of order) {
          const after = sum + (amounts[partner] ?? 0);
          points[partner] = (points[partner] ?? 0) + Math.floor(after / barrel) - Math.floor(sum / barrel);
          sum = after;
        }
      }
      const gcd = (x: number, y: number): number => (y === 0 ? x : gcd(y, x % y));
      const shares = points.map((point) => {
        const common = gcd(point, all.length);
        return all.length === common ? String(point / common) : `${point / common}/${all.length / common}`;
      });
      return shares.join(", ");
    },
  ],
  "stable-assignment": [
    3,
    ({ pupils, tutors }: { pupils: number[][]; tutors: number[][] }) => {
      const stable = orders(pupils.length).filter((tutorOf) =>
        pupils.every((wishes, pupil) =>
          wishes.slice(0, wishes.indexOf(tutorOf[pupil] ?? -1)).every((tutor) => {
            const list = tutors[tutor] ?? [];
            return list.indexOf(pupil) > list.indexOf(tutorOf.indexOf(tutor));
          }),
        ),
      );
      const rank = (tutorOf: readonly number[]): number =>
        tutorOf.reduce((sum, tutor, pupil) => sum + (tutors[tutor] ?? []).indexOf(pupil), 0);
      const [best = []] = stable.toSorted((a, b) => rank(a) - rank(b));
      return best.map((tutor) => tutor + 1).join(", ");
    },
  ],
  "absolute-deviation-minimum": [
    5,
    ({ terms }: { terms: { weight: number; slope: number; shift: number }[] }) => {
      const value = (x: number): number =>
        terms.reduce((sum, { weight, slope, shift }) => sum + weight * Math.abs(slope * x - shift), 0);
      // The function is convex: thirds of an interval close in on its lowest point.
      let [low, high] = [-200, 200];
      for (let step = 0; step < 200; step++) {
        const [left, right] = [low + (high - low) / 3, high - (high - low) / 3];
        if (value(left) < value(right)) high = right;
        else low = left;
      }
      return value(low);
    },
  ],
};

const rows = [algebra, graphs, optimisation].flatMap((family) => family.rows);
compareWith({ id: "algebra", rows: rows.filter(({ id }) => id in METHODS) }, METHODS);
