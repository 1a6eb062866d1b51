/** ordered-factorisations: ways to write a number as an ordered product under rules for the factors. */
import { between, sample } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";
import { binomial } from "../number-theory.ts";

interface Problem {
  /** `[prime, exponent]` of the number. */
  primes: [number, number][];
  factors: number;
  /** No factor is divisible by the square of this prime; 0: no such rule. */
  squareFree: number;
  /** This many of the factors are divisible by the first prime. */
  carriers: number | null;
}

/** By level: primes, largest exponent, least and most factors. */
const SIZES = [
  [2, 3, 2, 3],
  [3, 3, 3, 3],
  [3, 5, 4, 4],
  [4, 6, 5, 6],
  [5, 9, 7, 9],
] as const;

export const orderedFactorisations = exactRow<Problem>({
  id: "ordered-factorisations",
  asks: "ways to write a number as an ordered product under rules for the factors",
  kind: "integer",
  draw(rng, level) {
    const [count, exponent, least, most] = at(SIZES, level - 1);
    const primes = sample([2, 3, 5, 7, 11, 13], count, rng)
      .toSorted((a, b) => a - b)
      .map((prime): [number, number] => [prime, between(rng, 1, exponent)]);
    const factors = between(rng, least, most);
    const [last, power] = at(primes, 1);
    return {
      primes,
      factors,
      squareFree: power > 1 && power <= factors && rng.integer(2) === 0 ? last : 0,
      carriers: level > 1 && rng.integer(2) === 0 ? between(rng, 1, Math.min(factors, primes[0]?.[1] ?? 1)) : null,
    };
  },
  solve(problem) {
    const value = countOf(problem);
    const { primes, factors } = problem;
    const sum = primes.reduce((all, [, exponent]) => all + exponent, 0);
    return value < 4n ? null : { value: String(value), steps: factors * (sum + 2 * primes.length) };
  },
  prompts: [
    (one) =>
      `In how many ways can ${number(one)} be written as a product of ${one.factors} integers greater than 1, where the order of the factors counts${rules(one)}?`,
    (one) =>
      `Count the ordered ${one.factors}-tuples of integers, all at least 2, whose product is ${number(one)}${rules(one)}.`,
    (one) =>
      `Gears with whole-number ratios of 2 or more are put in a row of ${one.factors} places so that the total ratio is ${number(one)}; swapping two different gears gives another row${rules(one).replaceAll("factor", "ratio")}. How many rows are there?`,
    (one) =>
      `N = ${number(one)}. A chain of divisors 1 = d_0 < d_1 < ... < d_${one.factors} = N is wanted in which each member divides the next${rules(one).replaceAll("factors", "quotients d_i / d_(i-1)").replaceAll("factor", "quotient d_i / d_(i-1)")}. How many chains exist?`,
  ],
  slips(problem) {
    const { primes, factors } = problem;
    const withOnes = primes.reduce((product, [, e]) => product * binomial(e + factors - 1, factors - 1), 1n);
    return [
      withOnes,
      countOf({ ...problem, squareFree: 0, carriers: null }) +
        (problem.squareFree + (problem.carriers ?? 0) > 0 ? 0n : 2n),
      countOf({ ...problem, factors: factors - 1 }),
      withOnes - BigInt(factors),
    ];
  },
});

/** Inclusion and exclusion over the factors that are 1. */
function countOf({ primes, factors, squareFree, carriers }: Problem): bigint {
  let sum = 0n;
  for (let used = 0; used <= factors; used++) {
    let ways = binomial(factors, used);
    for (const [index, [prime, exponent]] of primes.entries()) {
      const isFree = prime !== squareFree;
      if (index === 0 && carriers !== null) {
        const shares = isFree ? binomial(exponent - 1, carriers - 1) : BigInt(Number(exponent === carriers));
        ways *= binomial(used, carriers) * shares;
      } else ways *= isFree ? spread(exponent, used) : binomial(used, exponent);
    }
    sum += (factors - used) % 2 === 0 ? ways : -ways;
  }
  return sum;
}

/** Ways to divide the exponent among this many factors. */
function spread(exponent: number, factors: number): bigint {
  return factors === 0 ? 0n : binomial(exponent + factors - 1, factors - 1);
}

function number({ primes }: Problem): string {
  return primes.map(([prime, exponent]) => (exponent === 1 ? String(prime) : `${prime}^${exponent}`)).join(" · ");
}

function rules({ primes, squareFree, carriers }: Problem): string {
  const texts = [
    ...(squareFree === 0 ? [] : [`no factor is divisible by ${squareFree ** 2}`]),
    ...(carriers === null
      ? []
      : [`exactly ${carriers} of the factors ${carriers === 1 ? "is" : "are"} divisible by ${primes[0]?.[0] ?? 0}`]),
  ];
  return texts.length === 0 ? "" : `, provided that ${texts.join(" and ")}`;
}
