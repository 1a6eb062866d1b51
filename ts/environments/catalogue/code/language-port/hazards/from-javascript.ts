/** Hazards of programs that were written in JavaScript: 32-bit operators, doubles, sorting as text. */
import { between } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { constant as k, floorDiv, halfAway, halfEven, halfUp, type Hazard, int, int32, uint32 } from "./hazard.ts";

const some = (rng: Rng, low: number, high: number): bigint => BigInt(between(rng, low, high));
const common = { from: "javascript", takes: "int", gives: "int" } as const;
const textOrder = (a: bigint, b: bigint): number => (String(a) < String(b) ? -1 : String(a) > String(b) ? 1 : 0);
const sized = (value: bigint): bigint => (value < 0n ? 0n : value > 31n ? 31n : value);

export const FROM_JAVASCRIPT: readonly Hazard[] = [
  {
    ...common,
    id: "to-int32",
    wide: true,
    draw: () => [],
    source: "($x | 0)",
    value: (x) => int32(int(x)),
    ports: {
      python: { right: "to_int32($x)", wrong: "$x", slip: (x) => x, helpers: ["to_int32"] },
      c: { right: "(int32_t)(uint32_t)$x", wrong: "$x", slip: (x) => x },
    },
  },
  {
    ...common,
    id: "unsigned-shift",
    draw: (rng) => [some(rng, 0, 9)],
    source: "($x >>> $0)",
    value: (x, c) => uint32(int(x)) >> k(c, 0),
    ports: {
      python: { right: "(($x & 0xFFFFFFFF) >> $0)", wrong: "($x >> $0)", slip: (x, c) => int(x) >> k(c, 0) },
      c: { right: "(long long)((uint32_t)$x >> $0)", wrong: "($x >> $0)", slip: (x, c) => int(x) >> k(c, 0) },
    },
  },
  {
    ...common,
    id: "left-shift",
    draw: (rng) => [some(rng, 24, 30)],
    source: "($x << $0)",
    value: (x, c) => int32(int(x) << k(c, 0)),
    ports: {
      python: {
        right: "to_int32($x << $0)",
        wrong: "($x << $0)",
        slip: (x, c) => int(x) << k(c, 0),
        helpers: ["to_int32"],
      },
      c: { right: "(int32_t)((uint32_t)$x << $0)", wrong: "($x * (1LL << $0))", slip: (x, c) => int(x) << k(c, 0) },
    },
  },
  {
    ...common,
    id: "shift-count",
    draw: (rng) => [some(rng, 3, 9)],
    source: "($0 << $x)",
    value: (x, c) => int32(k(c, 0) << (int(x) & 31n)),
    ports: {
      python: {
        right: "to_int32($0 << ($x & 31))",
        wrong: "to_int32($0 << max(0, min(31, $x)))",
        slip: (x, c) => int32(k(c, 0) << sized(int(x))),
        helpers: ["to_int32"],
      },
      c: {
        right: "(int32_t)((uint32_t)$0 << ($x & 31))",
        wrong: "(int32_t)((uint32_t)$0 << ($x < 0 ? 0 : $x > 31 ? 31 : $x))",
        slip: (x, c) => int32(k(c, 0) << sized(int(x))),
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
    id: "round-half-up",
    draw: (rng) => [rng.pick([2n, 4n])],
    source: "Math.round($x / $0)",
    value: (x, c) => halfUp(int(x), k(c, 0)),
    ports: {
      python: {
        right: "half_up($x, $0)",
        wrong: "round($x / $0)",
        slip: (x, c) => halfEven(int(x), k(c, 0)),
        helpers: ["half_up"],
      },
      c: {
        right: "half_up($x, $0)",
        wrong: "llround($x / (double)$0)",
        slip: (x, c) => halfAway(int(x), k(c, 0)),
        helpers: ["half_up"],
      },
    },
  },
  {
    ...common,
    id: "truncation",
    draw: (rng) => [some(rng, 2, 9)],
    source: "Math.trunc($x / $0)",
    value: (x, c) => int(x) / k(c, 0),
    ports: {
      python: {
        right: "trunc_div($x, $0)",
        wrong: "($x // $0)",
        slip: (x, c) => floorDiv(int(x), k(c, 0)),
        helpers: ["trunc_div"],
      },
    },
  },
  {
    ...common,
    id: "floor-of-quotient",
    draw: (rng) => [some(rng, 2, 9)],
    source: "Math.floor($x / $0)",
    value: (x, c) => floorDiv(int(x), k(c, 0)),
    ports: {
      python: { right: "($x // $0)", wrong: "int($x / $0)", slip: (x, c) => int(x) / k(c, 0) },
      c: {
        right: "half_up(2 * $x - $0, 2 * $0)",
        wrong: "($x / $0)",
        slip: (x, c) => int(x) / k(c, 0),
        helpers: ["half_up"],
      },
    },
  },
  {
    ...common,
    id: "or-value",
    draw: (rng) => [some(rng, 3, 40)],
    source: "(Math.max($x, 0) || $0)",
    value: (x, c) => (int(x) > 0n ? int(x) : k(c, 0)),
    ports: { c: { right: "($x > 0 ? $x : $0)", wrong: "(($x > 0 ? $x : 0) || $0)", slip: () => 1n } },
  },
  {
    ...common,
    id: "int32-product",
    draw: (rng) => [10n ** 9n + some(rng, 1, 10 ** 9)],
    source: "Math.imul($x, $0)",
    value: (x, c) => int32(int(x) * k(c, 0)),
    ports: {
      python: {
        right: "to_int32($x * $0)",
        wrong: "($x * $0)",
        slip: (x, c) => int(x) * k(c, 0),
        helpers: ["to_int32"],
      },
      c: { right: "(int32_t)((uint32_t)$x * (uint32_t)$0)", wrong: "($x * $0)", slip: (x, c) => int(x) * k(c, 0) },
    },
  },
  {
    ...common,
    id: "int32-exclusive-or",
    wide: true,
    draw: (rng) => [some(rng, 1000, 10 ** 6)],
    source: "($x ^ $0)",
    value: (x, c) => int32(int(x) ^ k(c, 0)),
    ports: {
      python: {
        right: "to_int32($x ^ $0)",
        wrong: "($x ^ $0)",
        slip: (x, c) => int(x) ^ k(c, 0),
        helpers: ["to_int32"],
      },
      c: { right: "(int32_t)(uint32_t)($x ^ $0)", wrong: "($x ^ $0)", slip: (x, c) => int(x) ^ k(c, 0) },
    },
  },
  {
    ...common,
    id: "int32-complement",
    wide: true,
    draw: () => [],
    source: "(~$x)",
    value: (x) => int32(~int(x)),
    ports: {
      python: { right: "to_int32(~$x)", wrong: "(~$x)", slip: (x) => ~int(x), helpers: ["to_int32"] },
      c: { right: "(int32_t)(uint32_t)(~$x)", wrong: "(~$x)", slip: (x) => ~int(x) },
    },
  },
  {
    ...common,
    id: "double-product",
    draw: (rng) => [10n ** 15n + 2n * some(rng, 1, 10 ** 9) + 1n, 10n ** 6n + some(rng, 1, 10 ** 5)],
    source: "($x * $0 % $1)",
    value: (x, c) => BigInt((Number(x) * Number(k(c, 0))) % Number(k(c, 1))),
    ports: {
      python: {
        right: "int(math.fmod(float($x) * float($0), float($1)))",
        wrong: "int(math.copysign(abs($x * $0) % $1, $x))",
        slip: (x, c) => (int(x) * k(c, 0)) % k(c, 1),
      },
      c: {
        right: "(long long)fmod((double)$x * (double)$0, (double)$1)",
        wrong: "(long long)((__int128)$x * $0 % $1)",
        slip: (x, c) => (int(x) * k(c, 0)) % k(c, 1),
      },
    },
  },
  {
    ...common,
    takes: "list",
    id: "sort-as-text",
    draw: () => [],
    source: "[...xs].sort()[1]",
    value: (_, __, list) => list.toSorted(textOrder)[1] ?? 0n,
    ports: {
      python: {
        right: "sorted(xs, key=str)[1]",
        wrong: "sorted(xs)[1]",
        slip: (_, __, list) => list.toSorted((a, b) => Number(a - b))[1] ?? 0n,
      },
      c: {
        right: "second_as_text(xs, n)",
        wrong: "second(xs, n)",
        slip: (_, __, list) => list.toSorted((a, b) => Number(a - b))[1] ?? 0n,
        helpers: ["second_as_text", "second"],
      },
    },
  },
];
