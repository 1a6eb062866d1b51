/** form-reduction: the reduced form that is equivalent to a positive definite binary quadratic form. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

type Form = [a: number, b: number, c: number];

interface Problem {
  form: Form;
}

/** By level: largest coefficient of the reduced form, changes of variables, largest shift. */
const SIZES = [
  [6, 2, 2],
  [12, 3, 3],
  [30, 4, 4],
  [80, 5, 5],
  [200, 7, 6],
] as const;

export const formReduction = exactRow<Problem>({
  id: "form-reduction",
  asks: "the reduced form that is equivalent to a binary quadratic form",
  kind: "tuple",
  draw(rng, level) {
    const [most, changes, shift] = at(SIZES, level - 1);
    const a = between(rng, 1, most);
    let form: Form = [a, between(rng, -a, a), between(rng, a, 2 * most)];
    for (const _ of range(changes)) form = swapped(shifted(form, between(rng, 1, shift) * rng.pick([1, -1])));
    return { form };
  },
  solve({ form }) {
    const { reduced, steps } = reduce(form);
    return steps < 2 ? null : { value: reduced.join(", "), steps: steps * form.join("").length };
  },
  prompts: [
    (one) =>
      `Reduce the positive definite form ${formText(one)}: find the form Ax^2 + Bxy + Cy^2 that is properly equivalent to it (integer substitutions of determinant 1) and has |B| ≤ A ≤ C, where B ≥ 0 if |B| = A or A = C. Give A, B, C.`,
    (one) =>
      `Which Gauss-reduced binary quadratic form belongs to the class of ${formText(one)}? Reduced means -A < B ≤ A ≤ C, and B ≥ 0 in case A = C; classes are those of SL(2, Z). State the coefficients A, B, C of x^2, xy, y^2.`,
    (one) =>
      `A lattice in the plane has a basis u, v with |u|^2 = ${2 * one.form[0]}, u·v = ${one.form[1]}, |v|^2 = ${2 * one.form[2]}. Replace the basis (determinant 1, whole combinations) by u', v' that are as short as possible: with A = |u'|^2 / 2, B = u'·v', C = |v'|^2 / 2 it holds that -A < B ≤ A ≤ C, and B ≥ 0 if A = C. Give A, B, C.`,
    (one) =>
      `Apply the substitutions x -> x + ky and (x, y) -> (-y, x) to ${formText(one)} until the middle coefficient B satisfies -A < B ≤ A, the outer ones A ≤ C, and B is not negative when A = C. Write the coefficients "A, B, C" at the end.`,
  ],
  slips({ form }) {
    const [a, b, c] = reduce(form).reduced;
    const once = shifted(form, -Math.round(form[1] / (2 * form[0])));
    return [[c, b, a], [a, b === 0 ? a : -b, c], once].map((list) => list.join(", "));
  },
});

function formText({ form: [a, b, c] }: Problem): string {
  const head = (factor: number): string => (factor === 1 ? "" : String(factor));
  const middle = b === 0 ? "" : ` ${b < 0 ? "-" : "+"} ${head(Math.abs(b))}xy`;
  return `${head(a)}x^2${middle} + ${head(c)}y^2`;
}

/** x becomes x + k·y. */
function shifted([a, b, c]: Form, k: number): Form {
  return [a, b + 2 * a * k, a * k * k + b * k + c];
}

/** (x, y) becomes (-y, x). */
function swapped([a, b, c]: Form): Form {
  return [c, -b + 0, a];
}

function reduce(form: Form): { reduced: Form; steps: number } {
  let [current, steps] = [form, 0];
  for (;;) {
    const [a, b, c] = current;
    if (-a < b && b <= a && (a < c || (a === c && b >= 0))) return { reduced: current, steps };
    // The shift that brings b into the interval from -a, excluded, to a.
    const shift = Math.floor((a - b) / (2 * a));
    current = shift === 0 ? swapped(current) : shifted(current, shift);
    steps += 1;
  }
}
