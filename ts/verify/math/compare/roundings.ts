/** Chains such as 4 pi ≈ 12.57: a value, and that value rounded. */
import * as c from "../values/complex.ts";
import { approximate, exact } from "../values/evaluate.ts";
import type { Expression } from "../values/expression.ts";

/** Longer chains list values. */
const MOST_SIDES = 4;
const MOST_PLACES = 15n;

/**
 * The sides of an answer's chain that state its value: all of them where of each two one is the other rounded or cut at its last digit, else only
 * the first. So a chain offers no choice of values: 1 ≈ 2 ≈ 3 is 1.
 */
export function statedSides(sides: readonly Expression[]): readonly Expression[] {
  const isRounded =
    sides.length <= MOST_SIDES &&
    sides.every((one, at) => sides.slice(0, at).every((other) => rounds(one, other) || rounds(other, one)));
  return isRounded ? sides : sides.slice(0, 1);
}

/** Whether the second is a decimal number, and the first is equal to it when it is rounded or cut at its last digit. */
function rounds(value: Expression, decimal: Expression): boolean {
  const step = stepOf(decimal);
  const [x, y] = [approximate(value, new Map()), approximate(decimal, new Map())];
  if (step === null || x === null || y === null) return false;
  const distance = c.modulus({ re: x.re - y.re, im: x.im - y.im, error: 0 });
  const isCut = distance < step && c.modulus(y) <= c.modulus(x);
  return isCut || distance <= (step / 2) * (1 + 1e-9);
}

/** One unit of the last digit; null for what is no decimal number. */
function stepOf(decimal: Expression): number | null {
  const value = exact(decimal, new Map());
  if (value === null) return null;
  for (let places = 0n; places <= MOST_PLACES; places++)
    if (10n ** places % value.denominator === 0n) return 10 ** -Number(places);
  return null;
}
