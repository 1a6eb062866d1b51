/**
 * Checks numbers before they enter native code, whose conversions silently wrap -1, cut 1.5 and turn NaN into 0.
 */

import { PrlError, type ErrorCode } from "../errors.ts";

const MAX_U32 = 0xffff_ffff;

/** `value` when it is a whole number from `min` to `max` (default: what u32 holds), else an error with `code` that names it. */
export function whole(code: ErrorCode, name: string, value: number, { min = 0, max = MAX_U32 } = {}): number {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw new PrlError(code, `${name} is ${String(value)}: give a whole number from ${min} to ${max}`);
}

/** The same for a setting that may be unset. */
export function wholeOrNull(
  code: ErrorCode,
  name: string,
  value: number | null | undefined,
  range?: { min?: number; max?: number },
): number | null {
  return value === null || value === undefined ? null : whole(code, name, value, range);
}

/** `values` as u32, each of them checked. */
export function wholes(code: ErrorCode, name: string, values: ArrayLike<number>): Uint32Array {
  if (values instanceof Uint32Array) return values;
  return Uint32Array.from(values, (value, i) => whole(code, `${name}[${i}]`, value));
}

/** `value` when it is finite, else an error with `code` that names it. */
export function finite(code: ErrorCode, name: string, value: number): number {
  if (Number.isFinite(value)) return value;
  throw new PrlError(code, `${name} is ${String(value)}: give a finite number`);
}
