/** Hazards of programs that were written in Python: division towards minus infinity, unbounded numbers, precedence. */
import { between } from "../../../../../random/draws.ts";
import type { Rng } from "../../../../../random/rng.ts";
import { constant as k, floorDiv, floorMod, halfAway, halfEven, halfUp, type Hazard, int } from "./hazard.ts";

const some = (rng: Rng, low: number, high: number): bigint => BigInt(between(rng, low, high));
const signed = (rng: Rng, low: number, high: number): bigint =>
  (rng.integer(2) === 0 ? 1n : -1n) * some(rng, low, high);
const bit = (holds: boolean): bigint => (holds ? 1n : 0n);
const common = { from: "python", takes: "int", gives: "int" } as const;
const clamped = (index: bigint): bigint => (index < -4n ? -4n : index > 3n ? 3n : index);

export const FROM_PYTHON: readonly Hazard[] = [
  {
    ...common,
    id: "floor-division",
    draw: (rng) => [signed(rng, 2, 9)],
    source: "($x // $0)",
    value: (x, c) => floorDiv(int(x), k(c, 0)),
    ports: {
      javascript: {
        right: "floorDiv($x, $0)",
        wrong: "($x / $0)",
        slip: (x, c) => int(x) / k(c, 0),
        helpers: ["floorDiv"],
      },
      c: { right: "floor_div($x, $0)", wrong: "($x / $0)", slip: (x, c) => int(x) / k(c, 0), helpers: ["floor_div"] },
    },
  },
  {
    ...common,
    id: "floor-modulo",
    draw: (rng) => [signed(rng, 3, 9)],
    source: "($x % $0)",
    value: (x, c) => floorMod(int(x), k(c, 0)),
    ports: {
      javascript: {
        right: "floorMod($x, $0)",
        wrong: "($x % $0)",
        slip: (x, c) => int(x) % k(c, 0),
        helpers: ["floorMod"],
      },
      c: { right: "floor_mod($x, $0)", wrong: "($x % $0)", slip: (x, c) => int(x) % k(c, 0), helpers: ["floor_mod"] },
    },
  },
  {
    ...common,
    id: "wide-shift",
    wide: true,
    draw: (rng) => [some(rng, 2, 12)],
    source: "($x >> $0)",
    value: (x, c) => int(x) >> k(c, 0),
    ports: {
      javascript: {
        right: "($x >> $0)",
        wrong: "(BigInt.asIntN(32, $x) >> $0)",
        slip: (x, c) => BigInt.asIntN(32, int(x)) >> k(c, 0),
      },
    },
  },
  {
    ...common,
    id: "wide-product",
    wide: true,
    draw: (rng) => [10n ** 10n + some(rng, 1, 10 ** 9), 10n ** 9n + some(rng, 1, 10 ** 6)],
    source: "($x * $0 % $1)",
    value: (x, c) => floorMod(int(x) * k(c, 0), k(c, 1)),
    ports: {
      javascript: {
        right: "floorMod($x * $0, $1)",
        wrong: "floorMod(BigInt(Number($x) * Number($0)), $1)",
        slip: (x, c) => floorMod(BigInt(Number(x) * Number(k(c, 0))), k(c, 1)),
        helpers: ["floorMod"],
      },
      c: {
        right: "mul_mod($x, $0, $1)",
        wrong: "floor_mod((long long)((uint64_t)$x * (uint64_t)$0), $1)",
        slip: (x, c) => floorMod(BigInt.asIntN(64, int(x) * k(c, 0)), k(c, 1)),
        helpers: ["mul_mod", "floor_mod"],
      },
    },
  },
  {
    ...common,
    id: "round-half-even",
    draw: (rng) => [rng.pick([2n, 4n])],
    source: "round($x / $0)",
    value: (x, c) => halfEven(int(x), k(c, 0)),
    ports: {
      javascript: {
        right: "halfEven($x, $0)",
        wrong: "floorDiv(2n * $x + $0, 2n * $0)",
        slip: (x, c) => halfUp(int(x), k(c, 0)),
        helpers: ["floorMod", "floorDiv", "halfEven"],
      },
      c: {
        right: "half_even($x, $0)",
        wrong: "llround($x / (double)$0)",
        slip: (x, c) => halfAway(int(x), k(c, 0)),
        helpers: ["half_even"],
      },
    },
  },
  {
    ...common,
    id: "negative-index",
    draw: (rng) => [some(rng, 1, 9), some(rng, 10, 30), some(rng, 31, 60), some(rng, 61, 99)],
    source: "[$0, $1, $2, $3][max(-4, min(3, $x))]",
    value: (x, c) => k(c, Number(floorMod(clamped(int(x)), 4n))),
    ports: {
      javascript: {
        right: "pick([$0, $1, $2, $3], $x)",
        wrong: "pickFirst([$0, $1, $2, $3], $x)",
        slip: (x, c) => k(c, Math.max(0, Number(clamped(int(x))))),
        helpers: ["pick", "pickFirst"],
      },
      c: {
        right: "pick($0, $1, $2, $3, $x)",
        wrong: "pick_first($0, $1, $2, $3, $x)",
        slip: (x, c) => k(c, Math.max(0, Number(clamped(int(x))))),
        helpers: ["pick", "pick_first"],
      },
    },
  },
  {
    ...common,
    id: "chained-comparison",
    draw: (rng) => [some(rng, -20, 3), some(rng, 5, 30)],
    source: "int($0 < $x < $1)",
    value: (x, c) => bit(k(c, 0) < int(x) && int(x) < k(c, 1)),
    ports: {
      javascript: { right: "BigInt($0 < $x && $x < $1)", wrong: "BigInt(($0 < $x) < $1)", slip: () => 1n },
      c: { right: "($0 < $x && $x < $1)", wrong: "($0 < $x < $1)", slip: () => 1n },
    },
  },
  {
    ...common,
    id: "power-of-negative",
    draw: () => [],
    source: "(-$x ** 2)",
    value: (x) => -(int(x) ** 2n),
    ports: {
      javascript: { right: "(-($x ** 2n))", wrong: "((-$x) ** 2n)", slip: (x) => int(x) ** 2n },
      c: { right: "(-($x * $x))", wrong: "((-$x) * (-$x))", slip: (x) => int(x) ** 2n },
    },
  },
  {
    ...common,
    id: "or-value",
    draw: (rng) => [some(rng, 3, 40)],
    source: "(max($x, 0) or $0)",
    value: (x, c) => (int(x) > 0n ? int(x) : k(c, 0)),
    ports: { c: { right: "($x > 0 ? $x : $0)", wrong: "(($x > 0 ? $x : 0) || $0)", slip: () => 1n } },
  },
  {
    ...common,
    id: "and-value",
    draw: (rng) => [some(rng, 3, 40)],
    source: "(max($x, 0) and $0)",
    value: (x, c) => (int(x) > 0n ? k(c, 0) : 0n),
    ports: { c: { right: "($x > 0 ? $0 : 0)", wrong: "($x > 0 && $0)", slip: (x) => bit(int(x) > 0n) } },
  },
  {
    ...common,
    id: "not-precedence",
    draw: (rng) => [some(rng, 2, 6)],
    source: "int(not $x == $0)",
    value: (x, c) => bit(int(x) !== k(c, 0)),
    ports: {
      javascript: { right: "BigInt(!($x === $0))", wrong: "BigInt(!$x == $0)", slip: () => 0n },
      c: { right: "(!($x == $0))", wrong: "(!$x == $0)", slip: () => 0n },
    },
  },
  {
    ...common,
    id: "mask-precedence",
    draw: (rng) => [some(rng, 0, 6)],
    source: "int($x & 7 == $0)",
    value: (x, c) => bit((int(x) & 7n) === k(c, 0)),
    ports: {
      javascript: { right: "BigInt(($x & 7n) === $0)", wrong: "($x & BigInt(7n === $0))", slip: () => 0n },
      c: { right: "(($x & 7) == $0)", wrong: "($x & 7 == $0)", slip: () => 0n },
    },
  },
  {
    ...common,
    id: "int-of-quotient",
    draw: (rng) => [some(rng, 2, 9)],
    source: "int($x / $0)",
    value: (x, c) => int(x) / k(c, 0),
    ports: {
      javascript: {
        right: "($x / $0)",
        wrong: "floorDiv($x, $0)",
        slip: (x, c) => floorDiv(int(x), k(c, 0)),
        helpers: ["floorDiv"],
      },
      c: {
        right: "($x / $0)",
        wrong: "floor_div($x, $0)",
        slip: (x, c) => floorDiv(int(x), k(c, 0)),
        helpers: ["floor_div"],
      },
    },
  },
  {
    ...common,
    id: "length-of-range",
    draw: (rng) => [rng.pick([3n, 5n, 7n])],
    source: "len(range(0, $x, $0))",
    value: (x, c) => (int(x) > 0n ? (int(x) + k(c, 0) - 1n) / k(c, 0) : 0n),
    ports: {
      javascript: {
        right: "($x > 0n ? ($x + $0 - 1n) / $0 : 0n)",
        wrong: "($x > 0n ? $x / $0 : 0n)",
        slip: (x, c) => (int(x) > 0n ? int(x) / k(c, 0) : 0n),
      },
      c: {
        right: "($x > 0 ? ($x + $0 - 1) / $0 : 0)",
        wrong: "($x > 0 ? $x / $0 : 0)",
        slip: (x, c) => (int(x) > 0n ? int(x) / k(c, 0) : 0n),
      },
    },
  },
];
