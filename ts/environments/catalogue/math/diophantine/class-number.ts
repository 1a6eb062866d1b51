/** class-number: how many reduced primitive forms have a given negative discriminant. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { gcd } from "../number-theory.ts";

interface Problem {
  /** The discriminant is its negative. */
  size: number;
}

/** By level: least and largest size of the discriminant. */
const SIZES = [
  [23, 300],
  [301, 2200],
  [2201, 5000],
  [5001, 12_000],
  [12_001, 30_000],
] as const;

export const classNumber = exactRow<Problem>({
  id: "class-number",
  asks: "how many reduced primitive quadratic forms have a given discriminant",
  kind: "integer",
  draw(rng, level) {
    const [least, most] = at(SIZES, level - 1);
    const size = between(rng, least, most);
    return size % 4 === 0 || size % 4 === 3 ? { size } : null;
  },
  solve({ size }) {
    const count = reducedForms(size).filter((form) => form.reduce(gcd) === 1).length;
    return count < 3 ? null : { value: String(count), steps: size };
  },
  prompts: [
    (one) =>
      `How many triples (a, b, c) of integers with greatest common divisor 1 satisfy b^2 - 4ac = -${one.size} and |b| ≤ a ≤ c, where b ≥ 0 whenever |b| = a or a = c?`,
    (one) =>
      `Compute the class number h(-${one.size}): the number of classes of primitive positive definite binary quadratic forms of discriminant -${one.size} under SL(2, Z).`,
    (one) =>
      `List the reduced forms ax^2 + bxy + cy^2 with a > 0, discriminant b^2 - 4ac = -${one.size} and coprime coefficients (reduced: -a < b ≤ a ≤ c, and b ≥ 0 if a = c). How long is the list?`,
    (one) =>
      `The ideal class group of the imaginary quadratic order of discriminant -${one.size} is finite. What is its order?`,
  ],
  slips({ size }) {
    const forms = reducedForms(size);
    const primitive = forms.filter((form) => form.reduce(gcd) === 1);
    return [forms.length, primitive.filter(([, b]) => b >= 0).length, primitive.length * 2, primitive.length + 1];
  },
});

function reducedForms(size: number): [number, number, number][] {
  const most = Math.floor(Math.sqrt(size / 3));
  return range(most + 1)
    .filter((b) => (b * b + size) % 4 === 0)
    .flatMap((b) => {
      const product = (b * b + size) / 4;
      const found: [number, number, number][] = [];
      for (let a = Math.max(1, b); a * a <= product; a++) {
        if (product % a !== 0) continue;
        const c = product / a;
        found.push([a, b, c]);
        if (b > 0 && b < a && a < c) found.push([a, -b, c]);
      }
      return found;
    });
}
