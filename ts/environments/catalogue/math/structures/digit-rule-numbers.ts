/** digit-rule-numbers: how many numbers up to a bound have digits that obey rules. */
import { between, sample } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { exactRow } from "../exact-row.ts";

interface Problem {
  /** Decimal digits of the bound. */
  bound: string;
  /** The digit sum leaves this remainder on division by this modulus. */
  modulus: number;
  residue: number;
  /** Digits that do not occur. */
  banned: number[];
  /** Neighbouring digits differ by at least so much. */
  gap: number;
}

/** By level: least and most digits of the bound, banned digits, largest gap. */
const SIZES = [
  [3, 3, 1, 0],
  [4, 5, 2, 1],
  [6, 8, 2, 2],
  [9, 12, 2, 2],
  [13, 18, 3, 3],
] as const;

export const digitRuleNumbers = exactRow<Problem>({
  id: "digit-rule-numbers",
  asks: "how many numbers up to a bound have digits that obey rules",
  kind: "integer",
  draw(rng, level) {
    const [least, most, bans, gap] = at(SIZES, level - 1);
    const digits = between(rng, least, most);
    const modulus = between(rng, 3, 9);
    return {
      bound: range(digits)
        .map((place) => between(rng, place === 0 ? 1 : 0, 9))
        .join(""),
      modulus,
      residue: rng.integer(modulus),
      banned: sample(range(10), bans, rng).toSorted((a, b) => a - b),
      gap: between(rng, Math.min(1, gap), gap),
    };
  },
  solve(problem) {
    const value = countOf(problem);
    const steps = problem.bound.length * problem.modulus * (1 + problem.gap + problem.banned.length);
    return value < 5n ? null : { value: String(value), steps: steps * problem.bound.length };
  },
  prompts: [
    (one) =>
      `How many integers n with 1 ≤ n ≤ ${one.bound} fulfil all of these conditions on their decimal digits? ${rules(one)}`,
    (one) =>
      `Codes are the positive whole numbers up to ${one.bound}, written without leading zeros. A code is valid if these rules hold: ${rules(one)} Find the number of valid codes.`,
    (one) => `${rules(one)} Count the positive integers not above ${one.bound} with these properties (base ten).`,
    (one) =>
      `A counter runs through 1, 2, 3, ..., ${one.bound}. A lamp lights up for those numbers whose decimal notation meets the following. ${rules(one)} How often does the lamp light up?`,
  ],
  slips(problem) {
    const { bound, modulus, banned } = problem;
    const ratio = BigInt(10 - banned.length) ** BigInt(bound.length) / BigInt(modulus);
    return [
      BigInt(bound) / BigInt(modulus),
      ratio,
      countOf({ ...problem, gap: 0 }) + (problem.gap === 0 ? 1n : 0n),
      countOf({ ...problem, banned: [] }),
      countOf({ ...problem, residue: (problem.residue + 1) % modulus }),
    ];
  },
});

function countOf({ bound, modulus, residue, banned, gap }: Problem): bigint {
  const limit = bound.split("").map(Number);
  /** Keyed by the last digit (-1 before the first), the remainder so far, and whether the prefix equals that of the bound. */
  let ways = new Map([["-1,0,true", { last: -1, rest: 0, isTight: true, count: 1n }]]);
  for (const most of limit) {
    const after: typeof ways = new Map();
    for (const { last, rest, isTight, count } of ways.values()) {
      for (let digit = 0; digit <= (isTight ? most : 9); digit++) {
        // A zero before the first digit is no digit of the number.
        const isStarted = last >= 0 || digit > 0;
        if (isStarted && (banned.includes(digit) || (last >= 0 && Math.abs(digit - last) < gap))) continue;
        const next = {
          last: isStarted ? digit : -1,
          rest: (rest + digit) % modulus,
          isTight: isTight && digit === most,
        };
        const key = `${next.last},${next.rest},${next.isTight}`;
        after.set(key, { ...next, count: (after.get(key)?.count ?? 0n) + count });
      }
    }
    ways = after;
  }
  let sum = 0n;
  for (const { last, rest, count } of ways.values()) if (last >= 0 && rest === residue) sum += count;
  return sum;
}

function rules({ modulus, residue, banned, gap }: Problem): string {
  const apart =
    gap === 0
      ? ""
      : gap === 1
        ? " Neighbouring digits are different."
        : ` Neighbouring digits differ by at least ${gap}.`;
  const without = banned.length === 1 ? `The digit ${banned[0]} does` : `The digits ${banned.join(", ")} do`;
  return `The sum of the digits leaves the remainder ${residue} when divided by ${modulus}. ${without} not occur.${apart}`;
}
