/** Exact fractions of big integers. Sizes are bounded: what would grow beyond MAX_DIGITS is refused with null by those who make it. */

/** Always reduced, the denominator positive. */
export interface Rational {
  readonly numerator: bigint;
  readonly denominator: bigint;
}

/** Decimal digits of a numerator or denominator that exact arithmetic still handles; a float does for what is larger. */
export const MAX_DIGITS = 20_000;
const MAX_BITS = BigInt(Math.ceil(MAX_DIGITS * Math.log2(10)));

export const ZERO: Rational = { numerator: 0n, denominator: 1n };
export const ONE: Rational = { numerator: 1n, denominator: 1n };

export function integer(value: bigint | number): Rational {
  return { numerator: BigInt(value), denominator: 1n };
}

/** Null when the denominator is 0 or a part is too long. */
export function rational(numerator: bigint, denominator: bigint): Rational | null {
  if (denominator === 0n) return null;
  if (tooLong(numerator) || tooLong(denominator)) return null;
  if (denominator === 1n) return { numerator, denominator };
  const divisor = gcd(numerator < 0n ? -numerator : numerator, denominator < 0n ? -denominator : denominator);
  const sign = denominator < 0n ? -1n : 1n;
  return { numerator: (sign * numerator) / divisor, denominator: (sign * denominator) / divisor };
}

export function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a, b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x < 0n ? -x : x;
}

export function add(a: Rational, b: Rational): Rational | null {
  return rational(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator);
}

export function multiply(a: Rational, b: Rational): Rational | null {
  return rational(a.numerator * b.numerator, a.denominator * b.denominator);
}

export function negate(a: Rational): Rational {
  return { numerator: -a.numerator, denominator: a.denominator };
}

/** Null for 1/0. */
export function invert(a: Rational): Rational | null {
  return rational(a.denominator, a.numerator);
}

/** A whole power; null for 0 to a negative one and for results that are too long. 0 to the 0 is 1. */
export function power(base: Rational, exponent: bigint): Rational | null {
  if (exponent < 0n) {
    const inverse = invert(base);
    return inverse === null ? null : power(inverse, -exponent);
  }
  const bits = BigInt(Math.max(bitLength(base.numerator), bitLength(base.denominator)));
  if (bits > 1n && bits * exponent > MAX_BITS) return null;
  if (bits <= 1n && exponent > 2n) {
    return power(base, 2n - (exponent % 2n));
  }
  return { numerator: base.numerator ** exponent, denominator: base.denominator ** exponent };
}

export function compare(a: Rational, b: Rational): number {
  const difference = a.numerator * b.denominator - b.numerator * a.denominator;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

export function equal(a: Rational, b: Rational): boolean {
  return a.numerator === b.numerator && a.denominator === b.denominator;
}

export function isInteger(a: Rational): boolean {
  return a.denominator === 1n;
}

/** Largest whole number that is not above it. */
export function floor(a: Rational): bigint {
  const quotient = a.numerator / a.denominator;
  return a.numerator < 0n && a.numerator % a.denominator !== 0n ? quotient - 1n : quotient;
}

/** The nearest double, also when the parts are beyond its range. */
export function toNumber(a: Rational): number {
  const direct = Number(a.numerator) / Number(a.denominator);
  if (Number.isFinite(direct) && Number.isFinite(Number(a.numerator)) && Number.isFinite(Number(a.denominator))) {
    return direct;
  }
  const shift = bitLength(a.numerator) - bitLength(a.denominator) - 64;
  const scaled =
    shift >= 0 ? a.numerator / (a.denominator << BigInt(shift)) : (a.numerator << BigInt(-shift)) / a.denominator;
  return Number(scaled) * 2 ** Math.max(-1074, Math.min(1023, shift)) * (shift > 1023 ? Infinity : 1);
}

/** The k-th root when it is exact, else null. */
export function exactRoot(a: Rational, k: number): Rational | null {
  const numerator = integerRoot(a.numerator, k);
  const denominator = integerRoot(a.denominator, k);
  return numerator === null || denominator === null ? null : { numerator, denominator };
}

function integerRoot(value: bigint, k: number): bigint | null {
  if (value < 0n) {
    if (k % 2 === 0) return null;
    const root = integerRoot(-value, k);
    return root === null ? null : -root;
  }
  if (value < 2n) return value;
  if (bitLength(value) > 4096) return null;
  const order = BigInt(k);
  let low = 1n;
  let high = 1n << BigInt(Math.ceil(bitLength(value) / k) + 1);
  while (low < high) {
    const middle = (low + high + 1n) >> 1n;
    if (middle ** order <= value) low = middle;
    else high = middle - 1n;
  }
  return low ** order === value ? low : null;
}

function bitLength(value: bigint): number {
  return (value < 0n ? -value : value).toString(16).length * 4;
}

const LONGEST = 1n << (MAX_BITS + 64n);

function tooLong(value: bigint): boolean {
  return value > LONGEST || value < -LONGEST;
}
