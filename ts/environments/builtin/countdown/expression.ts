/** Exact arithmetic in replies: whole numbers, + - * / and brackets; other text is not evaluated. */

export interface Evaluated {
  /** Numerator and denominator, reduced to a positive denominator; null after a division by 0. */
  value: { numerator: bigint; denominator: bigint } | null;
  /** The numbers that were used, in order. */
  numbers: number[];
}

const MAX_LENGTH = 500;

/** Null when the text is not such an expression. Of an equation only the left side counts. */
export function evaluate(text: string): Evaluated | null {
  const [left = ""] = text.split("=");
  const source = left.replace(/[×·]/gu, "*").replace(/÷/gu, "/").replace(/[−–]/gu, "-").replace(/\s+/gu, "");
  if (source === "" || source.length > MAX_LENGTH || !/^[\d+\-*/()]+$/u.test(source)) return null;
  const numbers: number[] = [];
  let at = 0;

  const factor = (): Fraction | null => {
    if (source[at] === "-") {
      at++;
      const inner = factor();
      return inner === null ? null : { ...inner, numerator: -inner.numerator };
    }
    if (source[at] === "(") {
      at++;
      const inner = sum();
      if (inner === null || source[at] !== ")") return null;
      at++;
      return inner;
    }
    const digits = /^\d+/u.exec(source.slice(at))?.[0];
    if (digits === undefined) return null;
    at += digits.length;
    numbers.push(Number(digits));
    return { numerator: BigInt(digits), denominator: 1n };
  };
  const chain =
    (next: () => Fraction | null, operators: string): (() => Fraction | null) =>
    () => {
      let value = next();
      while (value !== null && operators.includes(source[at] ?? " ")) {
        const operator = source[at++];
        const other = next();
        value = other === null ? null : apply(operator ?? "", value, other);
      }
      return value;
    };
  const term = chain(factor, "*/");
  const sum = chain(term, "+-");

  const value = sum();
  if (value === null || at !== source.length) return null;
  return { value: value.denominator === 0n ? null : value, numbers };
}

interface Fraction {
  numerator: bigint;
  denominator: bigint;
}

/** A denominator of 0 stays: it marks a division by 0 anywhere. */
function apply(operator: string, a: Fraction, b: Fraction): Fraction {
  const result =
    operator === "*"
      ? { numerator: a.numerator * b.numerator, denominator: a.denominator * b.denominator }
      : operator === "/"
        ? { numerator: a.numerator * b.denominator, denominator: a.denominator * b.numerator }
        : {
            numerator: a.numerator * b.denominator + (operator === "+" ? 1n : -1n) * b.numerator * a.denominator,
            denominator: a.denominator * b.denominator,
          };
  if (b.denominator === 0n || a.denominator === 0n || result.denominator === 0n)
    return { numerator: 0n, denominator: 0n };
  const divisor = gcd(result.numerator, result.denominator) * (result.denominator < 0n ? -1n : 1n);
  return { numerator: result.numerator / divisor, denominator: result.denominator / divisor };
}

function gcd(a: bigint, b: bigint): bigint {
  let [x, y] = [a < 0n ? -a : a, b < 0n ? -b : b];
  while (y !== 0n) [x, y] = [y, x % y];
  return x === 0n ? 1n : x;
}
