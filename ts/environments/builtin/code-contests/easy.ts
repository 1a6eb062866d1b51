/** Problems that one loop solves. */
import { between, type Family, lengthOf, numberLines } from "./problem.ts";

interface Choice {
  words: string;
  python: string;
  holds: (x: number) => boolean;
}

interface Aggregate {
  words: string;
  python: string;
  of: (numbers: readonly number[]) => string;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, x) => total + x, 0);

const AGGREGATES: readonly Aggregate[] = [
  { words: "the sum of", python: "sum(b)", of: (b) => String(sum(b)) },
  { words: "how many there are among the numbers of", python: "len(b)", of: (b) => String(b.length) },
  {
    words: "the largest of (or `none`)",
    python: 'max(b) if b else "none"',
    of: (b) => (b.length === 0 ? "none" : String(Math.max(...b))),
  },
  {
    words: "the sum of the squares of",
    python: "sum(x * x for x in b)",
    of: (b) => String(sum(b.map((x) => x * x))),
  },
  {
    words: "the difference between the largest and the smallest of (0 when there is none)",
    python: "max(b) - min(b) if b else 0",
    of: (b) => String(b.length === 0 ? 0 : Math.max(...b) - Math.min(...b)),
  },
];

const digitSum = (x: number): number => sum(Array.from(String(Math.abs(x)), Number));

const filteredNumbers: Family = {
  name: "filtered-numbers",
  level: "easy",
  make(rng) {
    const k = between(rng, 2, 9);
    const least = between(rng, -500, 500);
    const choices: readonly Choice[] = [
      { words: `divisible by ${k}`, python: `x % ${k} == 0`, holds: (x) => x % k === 0 },
      { words: `greater than ${least}`, python: `x > ${least}`, holds: (x) => x > least },
      {
        words: `with a digit sum divisible by ${k} (the sign does not count)`,
        python: `sum(map(int, str(abs(x)))) % ${k} == 0`,
        holds: (x) => digitSum(x) % k === 0,
      },
    ];
    const choice = rng.pick(choices);
    const aggregate = rng.pick(AGGREGATES);
    return {
      statement:
        `Of n whole numbers, print ${aggregate.words} those ${choice.words}.\n\n` +
        "Input: n in the first line (1 to 1000), the numbers in the second, each from -1000 to 1000.",
      parameters: [choice.words, aggregate.words],
      input(inputs, size) {
        const n = lengthOf(size, 1, 1000);
        const numbers = Array.from({ length: n }, () => between(inputs, -1000, 1000));
        return `${n}\n${numbers.join(" ")}\n`;
      },
      solve: (input) => aggregate.of((numberLines(input)[1] ?? []).filter(choice.holds)),
      gold: `n = int(input())\na = list(map(int, input().split()))\nb = [x for x in a if ${choice.python}]\nprint(${aggregate.python})\n`,
    };
  },
};

const words: Family = {
  name: "words",
  level: "easy",
  make(rng) {
    const least = between(rng, 2, 6);
    const order = rng.pick([
      { words: "in the order of the input", python: "w", sort: (all: string[]) => all },
      { words: "in alphabetical order", python: "sorted(w)", sort: (all: string[]) => all.toSorted() },
      {
        words: "shortest first, words of one length in alphabetical order",
        python: "sorted(w, key=lambda x: (len(x), x))",
        sort: (all: string[]) => all.toSorted((a, b) => a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)),
      },
    ]);
    const change = rng.pick([
      { words: "as they are", python: "x", of: (word: string) => word },
      { words: "backwards", python: "x[::-1]", of: (word: string) => Array.from(word).toReversed().join("") },
      { words: "in capital letters", python: "x.upper()", of: (word: string) => word.toUpperCase() },
      {
        words: "with their first letter moved to the end",
        python: "x[1:] + x[0]",
        of: (word: string) => word.slice(1) + word.slice(0, 1),
      },
    ]);
    const separator = rng.pick(["-", ",", "/", "+"]);
    return {
      statement:
        `From a line of words, take those of at least ${least} letters ${order.words}, write them ${change.words} and print them joined by ` +
        `"${separator}". Print "empty" when there is none.\n\nInput: one line of 1 to 200 words of small letters, one space between two.`,
      parameters: [least, order.words, change.words, separator],
      input(inputs, size) {
        const letter = (): string => inputs.pick("abcdefghij");
        const word = (): string => Array.from({ length: between(inputs, 1, 8) }, letter).join("");
        return `${Array.from({ length: lengthOf(size, 1, 200) }, word).join(" ")}\n`;
      },
      solve(input) {
        const taken = order.sort(
          input
            .trim()
            .split(" ")
            .filter((word) => word.length >= least),
        );
        return taken.length === 0 ? "empty" : taken.map(change.of).join(separator);
      },
      gold:
        `w = [x for x in input().split() if len(x) >= ${least}]\nw = ${order.python}\n` +
        `print(${JSON.stringify(separator)}.join(${change.python} for x in w) if w else "empty")\n`,
    };
  },
};

const orbit: Family = {
  name: "orbit",
  level: "easy",
  make(rng) {
    const m = between(rng, 50, 5000);
    const [a, c] = [between(rng, 2, m - 1), between(rng, 0, m - 1)];
    return {
      statement:
        `From a number x one gets to (${a} * x + ${c}) mod ${m}, from there to the next in the same way, and so on. ` +
        "Print for each query how many different numbers one visits, the first one included.\n\n" +
        `Input: q in the first line (1 to 20), then q lines with one number from 0 to ${m - 1} each. Output: one line per query.`,
      parameters: [a, c, m],
      input(inputs, size) {
        const q = lengthOf(size, 1, 20);
        return `${q}\n${Array.from({ length: q }, () => `${inputs.integer(m)}\n`).join("")}`;
      },
      solve(input) {
        const [, ...queries] = numberLines(input).flat();
        return queries
          .map((start) => {
            const seen = new Set<number>();
            for (let x = start; !seen.has(x); x = (a * x + c) % m) seen.add(x);
            return seen.size;
          })
          .join("\n");
      },
      gold:
        "for _ in range(int(input())):\n    x = int(input())\n    seen = set()\n    while x not in seen:\n        seen.add(x)\n" +
        `        x = (${a} * x + ${c}) % ${m}\n    print(len(seen))\n`,
    };
  },
};

export const EASY: readonly Family[] = [filteredNumbers, words, orbit];
