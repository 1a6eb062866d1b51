/** Problems whose state has to be found: searches and tables over more than what is seen. */
import { grid } from "./medium.ts";
import { between, type Family, lengthOf, numberLines } from "./problem.ts";

const breakWalls: Family = {
  name: "break-walls",
  level: "hard",
  make(rng) {
    const [most, cost] = [between(rng, 1, 4), between(rng, 1, 30)];
    return {
      statement:
        "A digger goes from the upper left corner of a grid to the lower right one, up, down, left or right. A step onto a free field (.) takes 1 minute, a step " +
        `onto a wall (#) ${cost + 1}, and it can go onto ${most} wall${most === 1 ? "" : "s"} at most. Print the fewest minutes that it takes, or -1.\n\n` +
        "Input: the numbers of rows and columns (2 to 40), then the rows. Both corners are free.",
      parameters: [most, cost],
      input(inputs, size) {
        const [rows, columns] = [lengthOf(size, 2, 40), lengthOf(size, 2, 40)];
        return `${rows} ${columns}\n${grid(inputs, rows, columns, 0.3 + 0.15 * inputs.next()).join("\n")}\n`;
      },
      solve(input) {
        const [, ...rows] = input.trimEnd().split("\n");
        const columns = rows[0]?.length ?? 0;
        const best = new Map<number, number>([[0, 0]]);
        const id = (r: number, c: number, broken: number): number => (r * columns + c) * (most + 1) + broken;
        // Minutes are small whole numbers: those that are reached after the same number of minutes are looked at together.
        const after: [number, number, number][][] = [[[0, 0, 0]]];
        for (let minutes = 0; minutes < after.length; minutes += 1) {
          for (const [r, c, broken] of after[minutes] ?? []) {
            if (best.get(id(r, c, broken)) !== minutes) continue;
            if (r === rows.length - 1 && c === columns - 1) return String(minutes);
            for (const [y, x] of [
              [r + 1, c],
              [r - 1, c],
              [r, c + 1],
              [r, c - 1],
            ] as const) {
              const field = rows[y]?.[x];
              const walls = broken + (field === "#" ? 1 : 0);
              const time = minutes + 1 + (field === "#" ? cost : 0);
              if (field === undefined || walls > most || time >= (best.get(id(y, x, walls)) ?? Infinity)) continue;
              best.set(id(y, x, walls), time);
              (after[time] ??= []).push([y, x, walls]);
            }
          }
        }
        return "-1";
      },
      gold: `import heapq
n, m = map(int, input().split())
g = [input() for _ in range(n)]
best = {(0, 0, 0): 0}
heap = [(0, 0, 0, 0)]
answer = -1
while heap:
    t, r, c, k = heapq.heappop(heap)
    if best[r, c, k] < t:
        continue
    if (r, c) == (n - 1, m - 1):
        answer = t
        break
    for y, x in (r + 1, c), (r - 1, c), (r, c + 1), (r, c - 1):
        if 0 <= y < n and 0 <= x < m:
            wall = g[y][x] == "#"
            s, j = t + 1 + ${cost} * wall, k + wall
            if j <= ${most} and s < best.get((y, x, j), 10 ** 9):
                best[y, x, j] = s
                heapq.heappush(heap, (s, y, x, j))
print(answer)
`,
    };
  },
};

const coins: Family = {
  name: "coins",
  level: "hard",
  make(rng) {
    const [fee, limit] = [between(rng, 0, 9), between(rng, 3, 20)];
    return {
      statement:
        "An amount is to be paid exactly, with coins of which there are so many of each value. Each coin used counts 1, and each different value used counts " +
        `${fee} more. Print the least count, or -1 when the amount cannot be paid.\n\nInput: the amount (1 to 2000) and n (1 to 12) in the first line, then n lines ` +
        `with a value (1 to 200, all different) and how many there are (1 to ${limit}).`,
      parameters: [fee, limit],
      input(inputs, size) {
        const n = lengthOf(size, 1, 12);
        const values = new Set<number>();
        while (values.size < n) values.add(between(inputs, 2, 200));
        const given = [...values].map((value) => [value, between(inputs, 1, limit)] as const);
        const all = given.reduce((total, [value, count]) => total + value * count, 0);
        const amount = Math.min(2_000, between(inputs, 1, Math.max(1, Math.floor(all * 0.8))));
        return `${amount} ${n}\n${given.map(([value, count]) => `${value} ${count}\n`).join("")}`;
      },
      solve(input) {
        const [[amount = 0] = [], ...given] = numberLines(input);
        let least = Array.from({ length: amount + 1 }, (_, paid) => (paid === 0 ? 0 : Infinity));
        for (const [value = 1, count = 0] of given) {
          const before = least;
          least = before.map((without, paid) => {
            let best = without;
            for (let used = 1; used <= count && used * value <= paid; used += 1) {
              best = Math.min(best, (before[paid - used * value] ?? Infinity) + used + fee);
            }
            return best;
          });
        }
        const answer = least[amount] ?? Infinity;
        return String(answer === Infinity ? -1 : answer);
      },
      gold: `from functools import lru_cache
amount, n = map(int, input().split())
coins = [tuple(map(int, input().split())) for _ in range(n)]
INF = 10 ** 9
@lru_cache(None)
def least(i, rest):
    if rest == 0:
        return 0
    if i == n:
        return INF
    value, count = coins[i]
    best = least(i + 1, rest)
    for used in range(1, min(count, rest // value) + 1):
        best = min(best, used + ${fee} + least(i + 1, rest - used * value))
    return best
answer = least(0, amount)
print(answer if answer < INF else -1)
`,
    };
  },
};

const climbing: Family = {
  name: "climbing",
  level: "hard",
  make(rng) {
    const [rise, top] = [between(rng, 1, 80), 10 ** between(rng, 4, 9)];
    return {
      statement:
        `From a list, strike out as few numbers as possible, so that each of those that are left is at least ${rise} more than the one before it. Print how many are left.\n\n` +
        `Input: n in the first line (1 to 30000), n whole numbers from 1 to ${top} in the second.`,
      parameters: [rise, top],
      input(inputs, size) {
        const n = lengthOf(size, 1, 30_000);
        const trend = inputs.next();
        const numbers = Array.from({ length: n }, (_, i) =>
          Math.max(1, Math.min(top, Math.floor((trend * i * top) / n + (1 - trend) * inputs.integer(top)))),
        );
        return `${n}\n${numbers.join(" ")}\n`;
      },
      solve(input) {
        // ends[l]: the least number that a list of l + 1 can end with.
        const ends: number[] = [];
        for (const x of numberLines(input)[1] ?? []) {
          let [low, high] = [0, ends.length];
          while (low < high) {
            const middle = (low + high) >> 1;
            if ((ends[middle] ?? 0) <= x - rise) low = middle + 1;
            else high = middle;
          }
          if (low === ends.length || x < (ends[low] ?? 0)) ends[low] = x;
        }
        return String(ends.length);
      },
      gold: `n = int(input())
a = list(map(int, input().split()))
values = sorted(set(a))
place = {v: i + 1 for i, v in enumerate(values)}
import bisect
tree = [0] * (len(values) + 1)
best = 0
for x in a:
    i, longest = bisect.bisect_right(values, x - ${rise}), 0
    while i:
        longest = max(longest, tree[i])
        i -= i & -i
    longest += 1
    best = max(best, longest)
    i = place[x]
    while i < len(tree):
        tree[i] = max(tree[i], longest)
        i += i & -i
print(best)
`,
    };
  },
};

export const HARD: readonly Family[] = [breakWalls, coins, climbing];
