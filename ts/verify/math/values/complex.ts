/** Complex doubles that carry a bound of their rounding error, so that a comparison knows what it does not know. */

export interface Complex {
  readonly re: number;
  readonly im: number;
  /** Absolute bound of the error of the modulus. */
  readonly error: number;
}

const EPSILON = 2 ** -52;

export function complex(re: number, im = 0, error = EPSILON * Math.hypot(re, im)): Complex {
  return { re, im, error };
}

export const isFinite = ({ re, im, error }: Complex): boolean =>
  Number.isFinite(re) && Number.isFinite(im) && Number.isFinite(error);

export const modulus = ({ re, im }: Complex): number => Math.hypot(re, im);

export function add(a: Complex, b: Complex): Complex {
  const [re, im] = [a.re + b.re, a.im + b.im];
  return { re, im, error: a.error + b.error + EPSILON * Math.hypot(re, im) };
}

export function multiply(a: Complex, b: Complex): Complex {
  const [re, im] = [a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re];
  return { re, im, error: modulus(a) * b.error + modulus(b) * a.error + 4 * EPSILON * Math.hypot(re, im) };
}

/** Null at 0. */
export function invert(a: Complex): Complex | null {
  const size = modulus(a);
  if (size <= a.error * 2 || size === 0) return null;
  const square = size * size;
  if (square === 0 || !Number.isFinite(square)) {
    return a.im === 0 ? { re: 1 / a.re, im: 0, error: a.error / size / size + EPSILON / size } : null;
  }
  return { re: a.re / square, im: -a.im / square, error: (a.error / size + 4 * EPSILON) / size };
}

export function exp(a: Complex): Complex {
  const scale = Math.exp(a.re);
  const value = { re: scale * Math.cos(a.im), im: a.im === 0 ? 0 : scale * Math.sin(a.im) };
  return { ...value, error: scale * (a.error + 8 * EPSILON * (1 + Math.abs(a.im))) };
}

/** The principal value; null at 0. */
export function log(a: Complex): Complex | null {
  const size = modulus(a);
  if (size <= a.error * 2 || size === 0) return null;
  const value = { re: Math.log(size), im: Math.atan2(nearZero(a.im, a.error), a.re) };
  return { ...value, error: a.error / size + 4 * EPSILON * (1 + Math.hypot(value.re, value.im)) };
}

/** The principal power. */
export function power(base: Complex, exponent: Complex): Complex | null {
  if (exponent.im === 0 && Number.isInteger(exponent.re) && exponent.error <= EPSILON * Math.abs(exponent.re)) {
    const whole = wholePower(base, exponent.re);
    if (whole !== undefined) return whole;
  }
  if (base.re === 0 && base.im === 0) return exponent.re > 0 ? complex(0) : null;
  if (base.im === 0 && base.re > 0 && exponent.im === 0) {
    const value = base.re ** exponent.re;
    const error =
      Math.abs(value) * ((Math.abs(exponent.re) * base.error) / base.re + exponent.error * Math.abs(Math.log(base.re)));
    return { re: value, im: 0, error: error + 4 * EPSILON * Math.abs(value) };
  }
  const logarithm = log(base);
  return logarithm === null ? null : exp(multiply(logarithm, exponent));
}

/** By squaring; undefined when it is too large for that, null at 0 to a negative power. */
function wholePower(base: Complex, exponent: number): Complex | null | undefined {
  if (exponent < 0) {
    const inverse = invert(base);
    return inverse === null ? null : wholePower(inverse, -exponent);
  }
  if (exponent > 1024) return undefined;
  let result = complex(1, 0, 0);
  let square = base;
  for (let left = exponent; left > 0; left = Math.floor(left / 2)) {
    if (left % 2 === 1) result = multiply(result, square);
    square = multiply(square, square);
  }
  return result;
}

/** A real function with its derivative at a real argument; null for arguments that are not real. */
export function real(a: Complex, f: (x: number) => number, slope: (x: number) => number): Complex | null {
  if (Math.abs(a.im) > a.error * 4 + EPSILON) return null;
  const value = f(a.re);
  const steep = Math.abs(slope(a.re));
  // At the end of arcsin the slope is infinite, and what it makes of an error is the error's root.
  const error = Number.isFinite(steep)
    ? steep * a.error + EPSILON * Math.abs(a.re * steep)
    : Math.sqrt(2 * (a.error + EPSILON * Math.abs(a.re)));
  return { re: value, im: 0, error: error + 4 * EPSILON * Math.abs(value) };
}

function nearZero(value: number, error: number): number {
  return Math.abs(value) <= error ? 0 : value;
}
