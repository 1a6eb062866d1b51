/** Sequences and sums against their terms, one after the other. */
import { sequences } from "../../../../../ts/environments/catalogue/math/sequences/index.ts";
import { compareWith } from "./against-brute-force.ts";

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, n) => n);
}

compareWith(sequences, {
  "product-coefficient": [
    2,
    (one: { polynomials: { factors: number[]; step: number; power: number }[]; series: number[]; place: number }) => {
      // Every way to take one term from each factor.
      const factors = [
        ...one.polynomials.flatMap(({ factors: list, step, power }) =>
          upTo(power).map(() => list.map((factor, at) => [at * step, factor] as const)),
        ),
        ...one.series.map((step) =>
          upTo(one.place + 1)
            .filter((exponent) => exponent % step === 0)
            .map((exponent) => [exponent, 1] as const),
        ),
      ];
      const take = (index: number, left: number): number => {
        const terms = factors[index];
        if (terms === undefined) return Number(left === 0);
        return terms.reduce(
          (sum, [exponent, factor]) => (exponent > left ? sum : sum + factor * take(index + 1, left - exponent)),
          0,
        );
      };
      return String(take(0, one.place));
    },
  ],
  "polynomial-geometric-series": [
    5,
    (one: { polynomial: number[]; ratio: [number, number]; first: number; pattern: number[] }) => {
      const share = one.ratio[0] / one.ratio[1];
      const terms = upTo(1_500).map((index) => {
        const k = one.first + index;
        const value = one.polynomial.reduce((sum, factor, exponent) => sum + factor * k ** exponent, 0);
        return value * (one.pattern[k % one.pattern.length] ?? 0) * share ** k;
      });
      // Where large terms cancel, doubles decide nothing.
      const largest = Math.max(...terms.map(Math.abs));
      const total = terms.toReversed().reduce((sum, term) => sum + term, 0);
      return Math.abs(total) < largest / 1_000 ? null : total;
    },
  ],
  "telescoping-reciprocals": [
    5,
    (one: { a: number; b: number; shift: number; top: number; first: number; last: number; alternates: boolean }) => {
      let total = 0;
      for (let k = one.last; k >= one.first; k--) {
        const sign = one.alternates && (k - one.first) % 2 === 1 ? -1 : 1;
        total += (sign * one.top) / ((one.a * k + one.b) * (one.a * (k + one.shift) + one.b));
      }
      return total;
    },
  ],
  "merged-multiples": [
    3,
    ({ divisors, excluded, n }: { divisors: number[]; excluded: number[]; n: number }) => {
      let [number, found] = [0, 0];
      while (found < n) {
        number += 1;
        const isMember = divisors.some((one) => number % one === 0) && !excluded.some((one) => number % one === 0);
        found += Number(isMember);
      }
      return String(number);
    },
  ],
  "elimination-circle": [
    4,
    ({ people, steps, left }: { people: number; steps: number[]; left: number }) => {
      const ring = upTo(people).map((index) => index + 1);
      for (let removal = 0; ; removal++) {
        for (let count = 1; count < (steps[removal % steps.length] ?? 1); count++) ring.push(ring.shift() ?? 0);
        const removed = ring.shift();
        if (ring.length === left) return String(removed);
      }
    },
  ],
  "endless-concatenation": [
    3,
    ({ start, step, place }: { start: number; step: number; place: number }) => {
      let [text, number] = [String(start), start];
      while (text.length < place) {
        number += step;
        text += String(number);
      }
      return `${text.charAt(place - 1)}, ${number}`;
    },
  ],
});
