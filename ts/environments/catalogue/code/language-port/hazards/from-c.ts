/** Hazards of programs that were written in C: fixed widths, unsigned numbers, logical values, text macros. */
import { between } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { constant as k, floorDiv, type Hazard, int, uint32 } from "./hazard.ts";

const some = (rng: Rng, low: number, high: number): bigint => BigInt(between(rng, low, high));
const bit = (holds: boolean): bigint => (holds ? 1n : 0n);
const common = { from: "c", takes: "int", gives: "int" } as const;
const mask64 = "0xFFFFFFFFFFFFFFFF";

/** A cast to a signed type of so many bits, where the careless port keeps the number. */
function narrowed(bits: number, wide: boolean): Hazard {
  return {
    ...common,
    id: `int${bits}`,
    wide,
    draw: () => [],
    source: `(int${bits}_t)$x`,
    value: (x) => BigInt.asIntN(bits, int(x)),
    ports: {
      python: { right: `narrow($x, ${bits})`, wrong: "$x", slip: (x) => x, helpers: ["narrow"] },
      javascript: { right: `BigInt.asIntN(${bits}, $x)`, wrong: "$x", slip: (x) => x },
    },
  };
}

export const FROM_C: readonly Hazard[] = [
  {
    ...common,
    id: "quotient",
    draw: (rng) => [some(rng, 2, 9)],
    source: "($x / $0)",
    value: (x, c) => int(x) / k(c, 0),
    ports: {
      python: {
        right: "trunc_div($x, $0)",
        wrong: "($x // $0)",
        slip: (x, c) => floorDiv(int(x), k(c, 0)),
        helpers: ["trunc_div"],
      },
      javascript: {
        right: "($x / $0)",
        wrong: "floorDiv($x, $0)",
        slip: (x, c) => floorDiv(int(x), k(c, 0)),
        helpers: ["floorDiv"],
      },
    },
  },
  {
    ...common,
    id: "remainder",
    draw: (rng) => [some(rng, 3, 9)],
    source: "($x % $0)",
    value: (x, c) => int(x) % k(c, 0),
    ports: {
      python: {
        right: "trunc_mod($x, $0)",
        wrong: "($x % $0)",
        slip: (x, c) => int(x) - k(c, 0) * floorDiv(int(x), k(c, 0)),
        helpers: ["trunc_mod"],
      },
    },
  },
  {
    ...common,
    id: "uint32-product",
    draw: (rng) => [10n ** 9n + some(rng, 1, 10 ** 9)],
    source: "(long long)((uint32_t)$x * (uint32_t)$0)",
    value: (x, c) => uint32(int(x) * k(c, 0)),
    ports: {
      python: { right: "($x * $0 & 0xFFFFFFFF)", wrong: "($x * $0)", slip: (x, c) => int(x) * k(c, 0) },
      javascript: { right: "BigInt.asUintN(32, $x * $0)", wrong: "($x * $0)", slip: (x, c) => int(x) * k(c, 0) },
    },
  },
  narrowed(8, false),
  narrowed(16, true),
  narrowed(32, true),
  {
    ...common,
    id: "uint8",
    draw: () => [],
    source: "(uint8_t)$x",
    value: (x) => BigInt.asUintN(8, int(x)),
    ports: {
      python: { right: "($x & 255)", wrong: "$x", slip: (x) => x },
      javascript: { right: "BigInt.asUintN(8, $x)", wrong: "$x", slip: (x) => x },
    },
  },
  {
    ...common,
    id: "wrapping-64",
    wide: true,
    draw: (rng) => [10n ** 18n + some(rng, 1, 10 ** 9) * 10n ** 9n + 1n],
    source: "(long long)((uint64_t)$x * $0ULL >> 40)",
    value: (x, c) => BigInt.asUintN(64, int(x) * k(c, 0)) >> 40n,
    ports: {
      python: {
        right: `(($x * $0 & ${mask64}) >> 40)`,
        wrong: "($x * $0 >> 40)",
        slip: (x, c) => (int(x) * k(c, 0)) >> 40n,
      },
      javascript: {
        right: "(BigInt.asUintN(64, $x * $0) >> 40n)",
        wrong: "(($x * $0) >> 40n)",
        slip: (x, c) => (int(x) * k(c, 0)) >> 40n,
      },
    },
  },
  {
    ...common,
    id: "unsigned-comparison",
    draw: (rng) => [some(rng, 3, 90)],
    source: "((int32_t)$x < (uint32_t)$0)",
    value: (x, c) => bit(uint32(int(x)) < k(c, 0)),
    ports: {
      python: { right: "int(($x & 0xFFFFFFFF) < $0)", wrong: "int($x < $0)", slip: (x, c) => bit(int(x) < k(c, 0)) },
      javascript: {
        right: "BigInt(BigInt.asUintN(32, $x) < $0)",
        wrong: "BigInt($x < $0)",
        slip: (x, c) => bit(int(x) < k(c, 0)),
      },
    },
  },
  {
    ...common,
    id: "unsigned-difference",
    draw: (rng) => [some(rng, 20, 900)],
    source: "(long long)(((uint32_t)$x - (uint32_t)$0) / 2)",
    value: (x, c) => uint32(int(x) - k(c, 0)) / 2n,
    ports: {
      python: {
        right: "(($x - $0 & 0xFFFFFFFF) // 2)",
        wrong: "(($x - $0) // 2)",
        slip: (x, c) => floorDiv(int(x) - k(c, 0), 2n),
      },
      javascript: {
        right: "(BigInt.asUintN(32, $x - $0) / 2n)",
        wrong: "(($x - $0) / 2n)",
        slip: (x, c) => (int(x) - k(c, 0)) / 2n,
      },
    },
  },
  {
    ...common,
    id: "logical-value",
    draw: (rng) => [some(rng, 3, 40)],
    source: "($x && $0)",
    value: (x) => bit(int(x) !== 0n),
    ports: {
      python: { right: "int($x != 0)", wrong: "($x and $0)", slip: (x, c) => (int(x) === 0n ? 0n : k(c, 0)) },
      javascript: { right: "BigInt($x !== 0n)", wrong: "($x && $0)", slip: (x, c) => (int(x) === 0n ? 0n : k(c, 0)) },
    },
  },
  {
    ...common,
    id: "unsigned-shift",
    draw: (rng) => [some(rng, 1, 9)],
    source: "(long long)((uint32_t)$x >> $0)",
    value: (x, c) => uint32(int(x)) >> k(c, 0),
    ports: {
      python: { right: "(($x & 0xFFFFFFFF) >> $0)", wrong: "($x >> $0)", slip: (x, c) => int(x) >> k(c, 0) },
      javascript: { right: "(BigInt.asUintN(32, $x) >> $0)", wrong: "($x >> $0)", slip: (x, c) => int(x) >> k(c, 0) },
    },
  },
  {
    ...common,
    id: "mask-precedence",
    draw: () => [],
    source: "($x & 3 == 3)",
    value: (x) => int(x) & 1n,
    ports: { python: { right: "($x & (3 == 3))", wrong: "int($x & 3 == 3)", slip: (x) => bit((int(x) & 3n) === 3n) } },
  },
  {
    ...common,
    id: "fall-through",
    draw: (rng) => [some(rng, 2, 20), some(rng, 21, 50), some(rng, 51, 90)],
    source: "steps($x, $0, $1, $2)",
    sourceHelper:
      "static long long steps(long long a, long long p, long long q, long long r) {\n    long long sum = 0;\n    switch (a & 3) {\n    case 0:\n        sum += p;\n    case 1:\n        sum += q;\n        break;\n    default:\n        sum += r;\n    }\n    return sum;\n}",
    value: (x, c) => [k(c, 0) + k(c, 1), k(c, 1), k(c, 2), k(c, 2)][Number(int(x) & 3n)] ?? 0n,
    ports: {
      python: {
        right: "steps($x, $0, $1, $2)",
        wrong: "steps_apart($x, $0, $1, $2)",
        slip: (x, c) => [k(c, 0), k(c, 1), k(c, 2), k(c, 2)][Number(int(x) & 3n)] ?? 0n,
        helpers: ["steps", "steps_apart"],
      },
      javascript: {
        right: "steps($x, $0, $1, $2)",
        wrong: "stepsApart($x, $0, $1, $2)",
        slip: (x, c) => [k(c, 0), k(c, 1), k(c, 2), k(c, 2)][Number(int(x) & 3n)] ?? 0n,
        helpers: ["steps", "stepsApart"],
      },
    },
  },
  {
    ...common,
    id: "macro-text",
    draw: (rng) => [some(rng, 2, 30), some(rng, 3, 9)],
    source: "(PLUS($x, $0) * $1)",
    sourceHelper: "#define PLUS(a, b) a + b",
    value: (x, c) => int(x) + k(c, 0) * k(c, 1),
    ports: {
      python: { right: "($x + $0 * $1)", wrong: "(($x + $0) * $1)", slip: (x, c) => (int(x) + k(c, 0)) * k(c, 1) },
      javascript: { right: "($x + $0 * $1)", wrong: "(($x + $0) * $1)", slip: (x, c) => (int(x) + k(c, 0)) * k(c, 1) },
    },
  },
];
