/** addition-chain: a shortest chain of additions that contains two numbers; each sum is checked. */
import { between } from "../../../../random/draws.ts";
import { at } from "../../lists.ts";
import { certificateRow } from "../certificate-row.ts";
import { integersIn } from "../certificate-text.ts";

interface Problem {
  middle: number;
  target: number;
  /** Additions of a shortest chain. */
  length: number;
}

/** By level: least and greatest target, additions. */
const SIZES = [
  [12, 40, 5],
  [25, 90, 7],
  [50, 180, 8],
  [100, 300, 9],
  [200, 500, 10],
] as const;

const MOST_NODES = 60_000;

export const additionChain = certificateRow<Problem>({
  id: "addition-chain",
  asks: "a shortest chain of additions from 1 that contains two given numbers",
  draw(rng, level) {
    const [low, high, length] = at(SIZES, level - 1);
    const target = between(rng, low, high);
    const middle = between(rng, 5, target - 3);
    if (target % middle === 0) return null;
    const found = shortest(middle, target, length);
    if (found === null) return null;
    return { problem: { middle, target, length }, certificate: found.join(", "), steps: target * length ** 2 };
  },
  proves({ middle, target, length }, answer) {
    const chain = integersIn(answer);
    if (chain === null || chain.length !== length + 1 || chain[0] !== 1 || chain.at(-1) !== target) return false;
    if (!chain.includes(middle)) return false;
    return chain.every((value, index) => {
      if (index === 0) return true;
      const before = chain.slice(0, index);
      return value > at(before, index - 1) && before.some((one) => before.includes(value - one));
    });
  },
  prompts: [
    (one) =>
      `An addition chain starts with 1, and each further number is the sum of two numbers before it (they may be equal). Find a chain that contains ${one.middle}, ends with ${one.target} and has as few additions as possible, namely ${one.length}. List its ${one.length + 1} numbers in ascending order, separated by commas.`,
    (one) =>
      `To compute both x^${one.middle} and x^${one.target} with ${one.length} multiplications, only powers that were computed before (at first x itself) may be multiplied. Give the exponents of all powers in the order of computation, growing from 1 to ${one.target}, with commas between.`,
    (one) =>
      `Start from the number 1. A step appends the sum of two entries of the list, which may be one entry taken twice. After ${one.length} steps the increasing list shall end in ${one.target}, and ${one.middle} shall be in it. Write the whole list comma-separated.`,
    (one) =>
      `Reach ${one.target} by way of ${one.middle} from 1 by ${one.length} additions and nothing else, where summands are 1 or earlier results. Which ${one.length + 1} increasing numbers, the 1 included, appear? Separate them by commas.`,
  ],
  slips({ middle, target }, certificate) {
    const chain = certificate.split(", ").map(Number);
    const doubled = [1];
    while (at(doubled, doubled.length - 1) * 2 < middle) doubled.push(at(doubled, doubled.length - 1) * 2);
    return [
      [...doubled, middle, target].join(", "),
      chain.slice(1).join(", "),
      chain.slice(0, -1).join(", "),
      chain.filter((value) => value !== middle).join(", "),
    ];
  },
  variants: (_, certificate) => [`[${certificate.replaceAll(", ", ",")}]`],
});

/** Iterative deepening over increasing chains; null where the least length is another one, or the search too long. */
function shortest(middle: number, target: number, length: number): number[] | null {
  let nodes = 0;
  for (let most = Math.ceil(Math.log2(target)); most <= length; most++) {
    const chain = [1];
    const extend = (): boolean => {
      nodes += 1;
      const last = at(chain, chain.length - 1);
      if (last === target) return true;
      const left = most - (chain.length - 1);
      if (left === 0 || last * 2 ** left < target || nodes > MOST_NODES) return false;
      const next = last < middle ? middle : target;
      const sums = new Set<number>();
      for (const [index, a] of chain.entries()) for (const b of chain.slice(index)) sums.add(a + b);
      for (const sum of [...sums].filter((one) => one > last && one <= next).toSorted((a, b) => b - a)) {
        chain.push(sum);
        if (extend()) return true;
        chain.pop();
      }
      return false;
    };
    if (extend()) return most === length ? chain : null;
    if (nodes > MOST_NODES) return null;
  }
  return null;
}
