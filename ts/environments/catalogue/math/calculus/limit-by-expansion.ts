/** limit-by-expansion: a limit of a quotient whose parts cancel up to a high order. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { plus, type Rational, ratio, textOf, times, ZERO } from "../rational.ts";
import { ELEMENTARY } from "./series.ts";

interface Problem {
  /** factor · function(rate · x), and a polynomial, lowest power first, that cancels what is left. */
  terms: { name: string; rate: number; factor: number }[];
  polynomial: string[];
  order: number;
}

/** By level: functions, order of the quotient. */
const SIZES = [
  [2, 2],
  [2, 3],
  [3, 4],
  [3, 6],
  [4, 8],
] as const;
const TEXTS: Readonly<Record<string, (inner: string) => string>> = {
  exp: (inner) => `exp(${inner})`,
  sin: (inner) => `sin(${inner})`,
  cos: (inner) => `cos(${inner})`,
  log1p: (inner) => `ln(1 ${inner.startsWith("-") ? "-" : "+"} ${inner.replace("-", "")})`,
  atan: (inner) => `arctan(${inner})`,
  sqrt1p: (inner) => `sqrt(1 ${inner.startsWith("-") ? "-" : "+"} ${inner.replace("-", "")})`,
};

export const limitByExpansion = exactRow<Problem>({
  id: "limit-by-expansion",
  asks: "the limit at 0 of a quotient whose numerator cancels up to a high order",
  kind: "fraction",
  draw(rng, level) {
    const [count, order] = at(SIZES, level - 1);
    const terms = range(count).map(() => ({
      name: rng.pick(Object.keys(TEXTS)),
      rate: between(rng, 1, 3) * rng.pick([1, -1]),
      factor: between(rng, 1, 5) * rng.pick([1, -1]),
    }));
    const isRepeated = new Set(terms.map(({ name, rate }) => `${name}${rate}`)).size < count;
    if (isRepeated || terms.every(({ name }) => name === "exp")) return null;
    const polynomial = range(order).map((power) => textOf(times(ratio(-1), coefficient(terms, power))));
    return { terms, polynomial, order };
  },
  solve({ terms, order }) {
    const found = coefficient(terms, order);
    return found.n === 0n ? null : { value: textOf(found), steps: terms.length * order ** 2 };
  },
  canonical: ({ terms, order }) => [
    terms.map(({ name, rate, factor }) => `${name},${rate},${factor}`).toSorted(),
    order,
  ],
  prompts: [
    (one) => `Compute the limit of (${topText(one)}) / x^${one.order} as x tends to 0.`,
    (one) => `Let g(x) = ${topText(one)}. To which number does g(x) divided by x^${one.order} converge for x -> 0?`,
    (one) =>
      `Near x = 0 the function ${topText(one)} behaves like c·x^${one.order}. Find the constant c as an exact fraction.`,
    (one) =>
      `L'Hospital's rule would have to be applied ${one.order} times to this quotient at 0: numerator ${topText(one)}, denominator x^${one.order}. What comes out in the end?`,
  ],
  slips({ terms, order }) {
    const flipped = terms.map((term, index) => (index === 0 ? { ...term, factor: -term.factor } : term));
    const missing = terms.slice(1);
    const raw = times(
      coefficient(terms, order),
      ratio(range(order).reduce((product, index) => product * (index + 1), 1)),
    );
    return [coefficient(flipped, order), coefficient(missing, order), raw, coefficient(terms, order + 1)].map(textOf);
  },
});

type Terms = Problem["terms"];

function coefficient(terms: Terms, power: number): Rational {
  return terms.reduce((sum, { name, rate, factor }) => {
    const own = ELEMENTARY[name]?.(power).at(-1) ?? ZERO;
    return plus(sum, times(ratio(factor * rate ** power), own));
  }, ZERO);
}

function topText({ terms, polynomial }: Problem): string {
  const parts = terms.map(({ name, rate, factor }) => {
    const inner = rate === 1 ? "x" : rate === -1 ? "-x" : `${rate}x`;
    const size = Math.abs(factor) === 1 ? "" : `${Math.abs(factor)}·`;
    return `${factor < 0 ? "-" : "+"} ${size}${TEXTS[name]?.(inner) ?? ""}`;
  });
  const rest = polynomial.flatMap((text, power) => {
    if (text === "0") return [];
    const size = text.replace("-", "");
    const base = power === 0 ? "" : power === 1 ? "x" : `x^${power}`;
    const shown =
      power > 0 && size === "1" ? base : power === 0 ? size : `${size.includes("/") ? `(${size})` : size}·${base}`;
    return [`${text.startsWith("-") ? "-" : "+"} ${shown}`];
  });
  return [...parts, ...rest].join(" ").replace(/^\+ /u, "").replace(/^- /u, "-");
}
