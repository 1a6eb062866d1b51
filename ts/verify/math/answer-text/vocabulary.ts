/** Names that mean something: functions with the number of their arguments, Greek letters, words between items; letters that are none. */

/** Number of arguments; -1: any. */
export const FUNCTIONS: Readonly<Record<string, number>> = {
  sin: 1,
  cos: 1,
  tan: 1,
  cot: 1,
  sec: 1,
  csc: 1,
  arcsin: 1,
  arccos: 1,
  arctan: 1,
  arccot: 1,
  asin: 1,
  acos: 1,
  atan: 1,
  sinh: 1,
  cosh: 1,
  tanh: 1,
  coth: 1,
  arcsinh: 1,
  arccosh: 1,
  arctanh: 1,
  exp: 1,
  ln: 1,
  log: 1,
  lg: 1,
  sqrt: 1,
  cbrt: 1,
  abs: 1,
  floor: 1,
  ceil: 1,
  sgn: 1,
  sign: 1,
  cis: 1,
  arg: 1,
  det: 1,
  gcd: -1,
  lcm: -1,
  max: -1,
  min: -1,
};

/** One spelling for each function. */
export const CANONICAL: Readonly<Record<string, string>> = {
  asin: "arcsin",
  acos: "arccos",
  atan: "arctan",
  sign: "sgn",
};

export const GREEK: Readonly<Record<string, true>> = Object.fromEntries(
  (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta iota kappa lambda mu nu xi pi rho sigma tau phi varphi " +
    "chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell hbar"
  )
    .split(" ")
    .map((name) => [name, true] as const),
);

export function isSeparatorWord(word: string): boolean {
  return /^(?:and|or)$/iu.test(word.trim());
}

/** Words of two letters that answers have. */
const SHORT_WORDS = new Set("no on is it in an at by to up we us he me my go do as am or of if so".split(" "));

/**
 * Whether letters without space between are factors, in any order, and not a word or a name. Words have vowels, products of letters hardly any
 * but a, i and e beside letters for unknowns; three capitals name a figure or an order. Two letters that stand right behind a coefficient
 * (`isAttached`) are factors even where they spell a word: 2by is 2yb, but "2 by" is a size that was cut off.
 */
export function isLetterProduct(run: string, isAttached = false): boolean {
  if (run.length === 1) return true;
  if (run.length === 2) return isAttached || !SHORT_WORDS.has(run.toLowerCase());
  if (/^\p{Lu}+$/u.test(run)) return false;
  return /^(?:[abcdxyz]{3,7}[ie]?|[uvwxyz]{3,5}|[^aeiouAEIOU]{3,5})$/u.test(run);
}

const SMALL =
  "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen";
const TENS = "twenty thirty forty fifty sixty seventy eighty ninety";

/** Whole numbers below a hundred in words. */
export const NUMBER_WORDS: ReadonlyMap<string, number> = new Map([
  ...SMALL.split(" ").map((word, value) => [word, value] as const),
  ...TENS.split(" ").flatMap((ten, index) =>
    SMALL.split(" ")
      .slice(0, 10)
      .flatMap((word, value) => {
        const both = (index + 2) * 10 + value;
        return value === 0
          ? [[ten, both] as const]
          : [[`${ten}-${word}`, both] as const, [`${ten} ${word}`, both] as const];
      }),
  ),
]);
