/** Python's arithmetic and its way of writing floats. */
import { TemplateFailure, TemplateUnsupported } from "../failures.ts";

/** Python refuses to write longer ones. */
const MAX_DIGITS = 4300;
const MAX_BITS = 1 << 16;
const EXACT = BigInt(Number.MAX_SAFE_INTEGER);

/** `repr` of a float: the shortest digits that give it back, with an exponent below 1e-4 and from 1e16. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa = "", exponentText = ""] = Math.abs(value).toExponential().split("e");
  const digits = mantissa.replace(".", "");
  const exponent = Number(exponentText);
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    return `${sign}${digits.slice(0, 1)}${fraction}e${exponentOf(exponent)}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

/** An exponent has a sign and at least two digits. */
export function exponentOf(exponent: number): string {
  return `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

export function intText(value: bigint): string {
  if (bits(value) > MAX_DIGITS * 4) throw new TemplateFailure(`an int of more than ${MAX_DIGITS} digits is printed`);
  const text = value.toString();
  if (text.length > MAX_DIGITS + (value < 0n ? 1 : 0)) {
    throw new TemplateFailure(`an int of more than ${MAX_DIGITS} digits is printed`);
  }
  return text;
}

function bits(value: bigint): number {
  return (value < 0n ? -value : value).toString(16).length * 4;
}

/** `value * 10 ** digits` as a whole number, exact, a half going to the even one. */
export function scaledToInt(value: number, digits: number): bigint {
  const bytes = new DataView(new ArrayBuffer(8));
  bytes.setFloat64(0, Math.abs(value));
  const raw = bytes.getBigUint64(0);
  const biased = Number(raw >> 52n);
  const fraction = raw & 0xfffffffffffffn;
  const mantissa = biased === 0 ? fraction : fraction | (1n << 52n);
  const power = Math.max(biased, 1) - 1075;
  let [above, below] = [mantissa, 1n];
  if (power >= 0) above <<= BigInt(power);
  else below <<= BigInt(-power);
  if (digits >= 0) above *= 10n ** BigInt(digits);
  else below *= 10n ** BigInt(-digits);
  const [whole, rest] = [above / below, (above % below) * 2n];
  const up = rest > below || (rest === below && whole % 2n === 1n);
  return up ? whole + 1n : whole;
}

/** `round(value, digits)` of a float. */
export function roundFloat(value: number, digits: number): number {
  if (!Number.isFinite(value) || digits > 323) return value;
  if (digits < -309) return value < 0 ? -0 : 0;
  const magnitude = Number(`${scaledToInt(value, digits)}e${-digits}`);
  return value < 0 || Object.is(value, -0) ? -magnitude : magnitude;
}

/** `round(value, digits)` of an int. */
export function roundInt(value: bigint, digits: number): bigint {
  if (digits >= 0) return value;
  const unit = 10n ** BigInt(Math.min(-digits, MAX_DIGITS));
  const low = floorDivideInts(value, unit) * unit;
  const rest = (value - low) * 2n;
  const up = rest > unit || (rest === unit && (low / unit) % 2n !== 0n);
  return up ? low + unit : low;
}

type Numeric = bigint | number;

export type ArithmeticOperator = "+" | "-" | "*" | "/" | "//" | "%" | "**";

export function arithmetic(operator: ArithmeticOperator, a: Numeric, b: Numeric): Numeric {
  if (typeof a === "bigint" && typeof b === "bigint") return intArithmetic(operator, a, b);
  return floatArithmetic(operator, toFloat(a), toFloat(b));
}

export function toFloat(value: Numeric): number {
  const float = Number(value);
  if (typeof value === "bigint" && !Number.isFinite(float))
    throw new TemplateFailure("int too large to convert to float");
  return float;
}

function intArithmetic(operator: ArithmeticOperator, a: bigint, b: bigint): Numeric {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      if (bits(a) + bits(b) > MAX_BITS) throw new TemplateFailure("an int grows beyond what a template may compute");
      return a * b;
    case "/":
      return divideInts(a, b);
    case "//":
      return floorDivideInts(a, b);
    case "%":
      return a - floorDivideInts(a, b) * b;
    case "**":
      return intPower(a, b);
  }
}

function divideInts(a: bigint, b: bigint): number {
  if (b === 0n) throw new TemplateFailure("division by zero");
  const isExact = (value: bigint): boolean => value <= EXACT && value >= -EXACT;
  if (!isExact(a) || !isExact(b)) throw new TemplateUnsupported("division of ints above 2 ** 53 is not implemented");
  return Number(a) / Number(b);
}

export function floorDivideInts(a: bigint, b: bigint): bigint {
  if (b === 0n) throw new TemplateFailure("integer division or modulo by zero");
  const quotient = a / b;
  return a % b !== 0n && a < 0n !== b < 0n ? quotient - 1n : quotient;
}

function intPower(a: bigint, b: bigint): Numeric {
  if (b < 0n) return floatArithmetic("**", toFloat(a), toFloat(b));
  const isSmall = a >= -1n && a <= 1n;
  if (!isSmall && BigInt(bits(a)) * b > BigInt(MAX_BITS)) {
    throw new TemplateFailure("an int grows beyond what a template may compute");
  }
  return isSmall ? smallPower(a, b) : a ** b;
}

function smallPower(a: bigint, b: bigint): bigint {
  if (b === 0n) return 1n;
  return a === -1n && b % 2n === 0n ? 1n : a;
}

function floatArithmetic(operator: ArithmeticOperator, a: number, b: number): number {
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      if (b === 0) throw new TemplateFailure("float division by zero");
      return a / b;
    case "//":
      return divideFloats(a, b)[0];
    case "%":
      return divideFloats(a, b)[1];
    case "**":
      return floatPower(a, b);
  }
}

/** Quotient and rest as CPython computes them. */
function divideFloats(a: number, b: number): [number, number] {
  if (b === 0) throw new TemplateFailure("float floor division or modulo by zero");
  let rest = a % b;
  let quotient = (a - rest) / b;
  if (rest === 0) {
    rest = b < 0 ? -0 : 0;
  } else if (rest < 0 !== b < 0) {
    rest += b;
    quotient -= 1;
  }
  if (quotient === 0) return [a / b < 0 || Object.is(a / b, -0) ? -0 : 0, rest];
  const whole = Math.floor(quotient);
  return [quotient - whole > 0.5 ? whole + 1 : whole, rest];
}

function floatPower(a: number, b: number): number {
  // Python has 1.0 where JavaScript has NaN.
  if (a === 1 || (a === -1 && !Number.isFinite(b) && !Number.isNaN(b))) return 1;
  if (a === 0 && b < 0) throw new TemplateFailure("0.0 cannot be raised to a negative power");
  if (a < 0 && Number.isFinite(a) && Number.isFinite(b) && !Number.isInteger(b)) {
    throw new TemplateUnsupported("complex numbers are not implemented");
  }
  const power = a ** b;
  if (!Number.isFinite(power) && Number.isFinite(a) && Number.isFinite(b)) {
    throw new TemplateFailure("the result of ** is too large for a float");
  }
  return power;
}
