/** Tables, maps and logs against systems that are solved another way, waves over a map, and states that are looked up backwards. */
import { expect, test } from "vitest";

import { booleanQueryWriter } from "../../../../../ts/environments/catalogue/research/collections/boolean-query-writer.ts";
import { overwrittenKeys } from "../../../../../ts/environments/catalogue/research/collections/overwritten-keys.ts";
import { factTableFromMemos } from "../../../../../ts/environments/catalogue/research/evidence/fact-table-from-memos.ts";
import { scaleMapReading } from "../../../../../ts/environments/catalogue/research/tables/scale-map-reading.ts";
import { scheduleSlackReading } from "../../../../../ts/environments/catalogue/research/tables/schedule-slack-reading.ts";
import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { LEVELS } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { expectAgreement } from "./solved-instances.ts";

test("scale-map-reading: distances settle by relaxation, lakes by the least number that spreads", () => {
  interface Given {
    rows: string[];
    scale: number;
    legend: [string, string, string, string, string];
  }
  expectAgreement(
    scaleMapReading,
    ({ rows, scale, legend: [water, cliff, , from, to] }: Given) => {
      const cells = rows.flatMap((row, y) => row.split("").map((mark, x) => ({ mark, x, y })));
      const near = (a: (typeof cells)[number], b: (typeof cells)[number]): boolean =>
        Math.abs(a.x - b.x) + Math.abs(a.y - b.y) === 1;
      const land = cells.filter(({ mark }) => mark !== water && mark !== cliff);
      const steps = new Map(land.map((cell) => [cell, cell.mark === from ? 0 : Infinity]));
      const lakes = new Map(cells.filter(({ mark }) => mark === water).map((cell, index) => [cell, index]));
      for (let isMoving = true; isMoving;) {
        isMoving = false;
        for (const [map, plus] of [
          [steps, 1],
          [lakes, 0],
        ] as const)
          for (const [cell, value] of map)
            for (const [other, found] of map)
              if (near(cell, other) && found + plus < value && found + plus < (map.get(cell) ?? 0)) {
                map.set(cell, found + plus);
                isMoving = true;
              }
      }
      const sizes = new Map<number, number>();
      for (const lake of lakes.values()) sizes.set(lake, (sizes.get(lake) ?? 0) + 1);
      const largest = Math.max(...sizes.values());
      const mine = [...lakes].filter(([, lake]) => sizes.get(lake) === largest).map(([cell]) => cell);
      const shore = mine.reduce(
        (sum, cell) => sum + cells.filter((other) => near(cell, other) && other.mark !== water).length,
        0,
      );
      const end = land.find(({ mark }) => mark === to);
      const way = end === undefined ? 0 : (steps.get(end) ?? 0);
      return [way * scale, largest * scale ** 2, shore * scale].map(String);
    },
    [1, 2],
  );
});

test("schedule-slack-reading: delays are tried one day after the other", () => {
  interface Given {
    jobs: { days: number; after: { job: number; wait: number }[] }[];
    marks: string[];
    late: number;
    delay: number;
    loose: number;
  }
  expectAgreement(
    scheduleSlackReading,
    ({ jobs, marks, late, delay, loose }: Given) => {
      const length = (job: number, more: number): number => {
        const end = (index: number): number => {
          const { days = 0, after = [] } = jobs[index] ?? {};
          return days + (index === job ? more : 0) + Math.max(0, ...after.map((one) => end(one.job) + one.wait));
        };
        return Math.max(...jobs.map((_, index) => end(index)));
      };
      const whole = length(-1, 0);
      const slack = (job: number): number => {
        let more = 0;
        while (length(job, more + 1) === whole) more += 1;
        return more;
      };
      const critical = marks.filter((_, index) => length(index, 1) > whole).toSorted();
      return [String(whole), critical.join(", "), String(slack(loose)), String(length(late, delay))];
    },
    [1, 2, 3],
  );
});

test("overwritten-keys: each value is traced back from the end", () => {
  interface Entry {
    kind: string;
    key?: string;
    other?: string;
    value?: string;
  }
  expectAgreement(
    overwrittenKeys,
    ({ entries, asked }: { entries: Entry[]; asked: string[] }) => {
      /** The value of a key after the first `count` entries; undefined where there is none. */
      const valueAt = (key: string, count: number): string | undefined => {
        if (count === 0) return undefined;
        const { kind, key: from = "", other = "", value } = entries[count - 1] ?? { kind: "" };
        const before = (one: string): string | undefined => valueAt(one, count - 1);
        if (kind === "set") return key === from ? value : before(key);
        if (kind === "delete") return key === from ? undefined : before(key);
        const moved = before(from);
        if (moved === undefined || (kind === "swap" && before(other) === undefined)) return before(key);
        if (key === other) return moved;
        if (key !== from || kind === "copy") return before(key);
        return kind === "swap" ? before(other) : undefined;
      };
      return asked.map((key) => valueAt(key, entries.length) ?? "missing");
    },
    [1],
  );
});

test("fact-table-from-memos: a memo counts unless a memo that counts revokes it", () => {
  type Memo =
    | { kind: "revoke"; memo: number }
    | { kind: "set" | "raise" | "add"; items: number[]; price?: number; percent?: number; amount?: number };
  expectAgreement(
    factTableFromMemos,
    ({ start, memos }: { start: number[]; memos: Memo[] }) => {
      const counts = (place: number): boolean =>
        !memos.some((memo, other) => memo.kind === "revoke" && memo.memo === place && counts(other));
      // Cents of cents: percentages divide by 20 at most, a few times.
      const unit = 20n ** 12n;
      const prices = start.map((price) => BigInt(price) * unit);
      for (const [place, memo] of memos.entries()) {
        if (memo.kind === "revoke" || !counts(place)) continue;
        for (const item of memo.items) {
          const before = prices[item] ?? 0n;
          if (memo.kind === "set") prices[item] = BigInt(memo.price ?? 0) * unit;
          else if (memo.kind === "add") prices[item] = before + BigInt(memo.amount ?? 0) * unit;
          else prices[item] = (before * BigInt(100 + (memo.percent ?? 0))) / 100n;
        }
      }
      const divisor = (a: bigint, b: bigint): bigint => (b === 0n ? a : divisor(b, a % b));
      return prices.map((price) => {
        const common = divisor(price, unit);
        return common === unit ? String(price / unit) : `${price / common}/${unit / common}`;
      });
    },
    [1, 2, 3],
  );
});

test("boolean-query-writer: brackets, other orders and De Morgan's forms earn the same, too many words nothing", () => {
  const rng = createRng(3);
  for (const level of LEVELS) {
    const { instance } = drawInstance(booleanQueryWriter, level, rng);
    const { gold } = instance as { gold: string };
    for (const text of [`NOT NOT (${gold})`, `((${gold}))`, `NOT (NOT (${gold}))`])
      expect(booleanQueryWriter.score(instance, text)).toBe(1);
    for (const text of [`${gold} AND`, `(${gold}`, `${gold} OR (${gold})`, "AND", "NOT", `${"(".repeat(900)}a`])
      expect(booleanQueryWriter.score(instance, text)).toBe(0);
  }
});
