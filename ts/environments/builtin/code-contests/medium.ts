/** Problems that need an idea: a window, a table, a sweep. Trying everything is too slow for their largest inputs, or too long to write. */
import type { Rng } from "../../../random/rng.ts";
import { between, type Family, lengthOf, numberLines } from "./problem.ts";

const longestWindow: Family = {
  name: "longest-window",
  level: "medium",
  make(rng) {
    const kinds = between(rng, 2, 12);
    const span = between(rng, 20, 60);
    return {
      statement:
        `Find the longest run of neighbours in a list that holds at most ${kinds} different values, the first one of several. Print its length and the ` +
        "place of its first number, counted from 1.\n\n" +
        `Input: n in the first line (1 to 30000), n whole numbers from 1 to ${span} in the second.`,
      parameters: [kinds, span],
      input(inputs, size) {
        const n = lengthOf(size, 1, 30_000);
        // Values come in stretches, so that the longest run is not the same everywhere.
        let around = 1;
        const numbers = Array.from({ length: n }, () => {
          if (inputs.integer(50) === 0) around = between(inputs, 1, span);
          return Math.min(span, around + inputs.integer(inputs.integer(3) === 0 ? span : 3));
        });
        return `${n}\n${numbers.join(" ")}\n`;
      },
      solve(input) {
        const numbers = numberLines(input)[1] ?? [];
        const last = new Map<number, number>();
        let [start, length, place] = [0, 0, 0];
        numbers.forEach((x, i) => {
          last.delete(x);
          last.set(x, i);
          if (last.size > kinds) {
            const [oldest, at] = [...last][0] ?? [0, 0];
            last.delete(oldest);
            start = at + 1;
          }
          if (i + 1 - start > length) [length, place] = [i + 1 - start, start + 1];
        });
        return `${length} ${place}`;
      },
      gold: `from collections import Counter
n = int(input())
a = list(map(int, input().split()))
count = Counter()
i = best = place = 0
for j in range(n):
    count[a[j]] += 1
    while len(count) > ${kinds}:
        count[a[i]] -= 1
        if count[a[i]] == 0:
            del count[a[i]]
        i += 1
    if j - i + 1 > best:
        best, place = j - i + 1, i + 1
print(best, place)
`,
    };
  },
};

const MOVES: readonly { words: string; step: readonly [number, number] }[] = [
  { words: "one right", step: [0, 1] },
  { words: "one down", step: [1, 0] },
  { words: "one down and one right", step: [1, 1] },
  { words: "two down and one right", step: [2, 1] },
  { words: "one down and two right", step: [1, 2] },
  { words: "one down and one left", step: [1, -1] },
];

export function grid(rng: Rng, rows: number, columns: number, walls: number): string[] {
  return Array.from({ length: rows }, (_, r) =>
    Array.from({ length: columns }, (__, c) => {
      const isCorner = (r === 0 && c === 0) || (r === rows - 1 && c === columns - 1);
      return !isCorner && rng.next() < walls ? "#" : ".";
    }).join(""),
  );
}

const gridPaths: Family = {
  name: "grid-paths",
  level: "medium",
  make(rng) {
    const chosen = MOVES.filter((_, i) => i < 2 || rng.integer(2) === 0);
    const modulus = between(rng, 1_000, 1_000_000);
    return {
      statement:
        "A piece stands in the upper left corner of a grid and goes to the lower right one over free fields (.), never onto walls (#). Its moves: " +
        `${chosen.map(({ words }) => words).join("; ")}. Print how many ways there are, modulo ${modulus}. Fields that a longer move passes over do not ` +
        "matter.\n\nInput: the numbers of rows and columns (1 to 60), then the rows. Both corners are free.",
      parameters: [modulus, ...chosen.map(({ words }) => words)],
      input(inputs, size) {
        const [rows, columns] = [lengthOf(size, 1, 60), lengthOf(size, 2, 60)];
        return `${rows} ${columns}\n${grid(inputs, rows, columns, 0.15).join("\n")}\n`;
      },
      solve(input) {
        const [, ...rows] = input.trimEnd().split("\n");
        const ways = rows.map((row) => Array.from(row, () => 0));
        const free = (r: number, c: number): boolean => rows[r]?.[c] === ".";
        // Backwards from each field's predecessors; a move to the left only ever comes from the row above.
        rows.forEach((row, r) => {
          for (let c = 0; c < row.length; c += 1) {
            if (!free(r, c)) continue;
            const from = chosen.map(({ step: [dr, dc] }) => ways[r - dr]?.[c - dc] ?? 0);
            const all = (r === 0 && c === 0 ? 1 : 0) + from.reduce((total, one) => total + one, 0);
            (ways[r] ?? [])[c] = all % modulus;
          }
        });
        return String((ways.at(-1)?.at(-1) ?? 0) % modulus);
      },
      gold: `import sys
sys.setrecursionlimit(100000)
from functools import lru_cache
n, m = map(int, input().split())
g = [input() for _ in range(n)]
@lru_cache(None)
def ways(r, c):
    if not (0 <= r < n and 0 <= c < m) or g[r][c] == "#":
        return 0
    if (r, c) == (n - 1, m - 1):
        return 1
    return sum(ways(r + y, c + x) for y, x in ${JSON.stringify(chosen.map(({ step }) => step))}) % ${modulus}
print(ways(0, 0) % ${modulus})
`,
    };
  },
};

const coverage: Family = {
  name: "coverage",
  level: "medium",
  make(rng) {
    const least = between(rng, 1, 6);
    const scale = 10 ** between(rng, 6, 9);
    return {
      statement:
        `Lamps light stretches of a road, from one post to another, both included. Print how many posts are lit by at least ${least} lamp${least === 1 ? "" : "s"}.\n\n` +
        `Input: n in the first line (1 to 5000), then n lines with the numbers of two posts, the smaller one first, from 1 to ${scale}.`,
      parameters: [least, scale],
      input(inputs, size) {
        const n = lengthOf(size, 1, 5_000);
        const lamps = Array.from({ length: n }, () => {
          const from = between(inputs, 1, scale);
          return `${from} ${Math.min(scale, from + inputs.integer(Math.max(2, Math.floor((3 * scale) / n))))}\n`;
        });
        return `${n}\n${lamps.join("")}`;
      },
      solve(input) {
        const [, ...lamps] = numberLines(input);
        const change = new Map<number, number>();
        for (const [from = 0, to = 0] of lamps) {
          change.set(from, (change.get(from) ?? 0) + 1);
          change.set(to + 1, (change.get(to + 1) ?? 0) - 1);
        }
        let [lit, depth, before] = [0, 0, 0];
        for (const [post, by] of [...change].toSorted(([a], [b]) => a - b)) {
          if (depth >= least) lit += post - before;
          [depth, before] = [depth + by, post];
        }
        return String(lit);
      },
      gold: `import heapq, sys
data = sys.stdin.read().split()
lamps = sorted((int(data[i]), int(data[i + 1])) for i in range(1, len(data), 2))
posts = sorted({a for a, b in lamps} | {b + 1 for a, b in lamps})
open_lamps, i, lit = [], 0, 0
for p, q in zip(posts, posts[1:]):
    while i < len(lamps) and lamps[i][0] <= p:
        heapq.heappush(open_lamps, lamps[i][1])
        i += 1
    while open_lamps and open_lamps[0] < p:
        heapq.heappop(open_lamps)
    if len(open_lamps) >= ${least}:
        lit += q - p
print(lit)
`,
    };
  },
};

export const MEDIUM: readonly Family[] = [longestWindow, gridPaths, coverage];
