/** Quantiles that intervals need: of the normal, Student's t and the beta distribution, to about twelve digits. */

/** More halvings than doubles can distinguish between any two bounds. */
const BISECTIONS = 200;

/** The z > 0 with P(|Z| <= z) = level. */
export function normalQuantile(level: number): number {
  return bisect(0, 40, (z) => centralNormal(z) < level);
}

/** The t > 0 with P(|T| <= t) = level for this many degrees of freedom. */
export function studentQuantile(level: number, freedom: number): number {
  // T² / (T² + freedom) has a beta distribution.
  const inside = betaQuantile(level, 0.5, freedom / 2);
  const outside = betaQuantile(1 - level, freedom / 2, 0.5);
  return Math.sqrt((freedom * inside) / outside);
}

/** The x with I_x(a, b) = p. */
export function betaQuantile(p: number, a: number, b: number): number {
  return bisect(0, 1, (x) => regularizedBeta(x, a, b) < p);
}

function bisect(from: number, to: number, isBelow: (x: number) => boolean): number {
  let [low, high] = [from, to];
  for (let i = 0; i < BISECTIONS; i++) {
    const middle = (low + high) / 2;
    if (middle === low || middle === high) break;
    if (isBelow(middle)) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}

/** P(|Z| <= z) = 2 φ(z) (z + z³/3 + z⁵/(3·5) + ...): every term is positive, so that nothing cancels. */
function centralNormal(z: number): number {
  if (z > 9) return 1;
  let term = z;
  let sum = z;
  for (let k = 3; term > sum * Number.EPSILON; k += 2) {
    term *= (z * z) / k;
    sum += term;
  }
  return sum * Math.sqrt(2 / Math.PI) * Math.exp((-z * z) / 2);
}

/** The regularised incomplete beta function I_x(a, b), by its continued fraction, on the side where the fraction converges fast. */
function regularizedBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const front = Math.exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * Math.log(x) + b * Math.log1p(-x));
  return x < (a + 1) / (a + b + 2) ? (front * betaFraction(x, a, b)) / a : 1 - (front * betaFraction(1 - x, b, a)) / b;
}

const FRACTION_STEPS = 10_000;
const TINY = 1e-300;

/** Lentz's evaluation of the continued fraction of the incomplete beta function. */
function betaFraction(x: number, a: number, b: number): number {
  const away = (value: number): number => (Math.abs(value) < TINY ? TINY : value);
  let c = 1;
  let d = 1 / away(1 - ((a + b) * x) / (a + 1));
  let result = d;
  for (let m = 1; m <= FRACTION_STEPS; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away(1 + even * d);
    c = away(1 + even / c);
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away(1 + odd * d);
    c = away(1 + odd / c);
    const step = d * c;
    result *= step;
    if (Math.abs(step - 1) < Number.EPSILON) break;
  }
  return result;
}

/** Stirling's series, evaluated where it is exact to a double; the recurrence leads there. */
function logGamma(x: number): number {
  let shift = 0;
  let y = x;
  for (; y < 20; y++) shift += Math.log(y);
  const square = 1 / (y * y);
  const series = (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188)))) / y;
  return (y - 0.5) * Math.log(y) - y + Math.log(2 * Math.PI) / 2 + series - shift;
}
