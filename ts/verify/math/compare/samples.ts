/** Where expressions with symbols are compared: fractions, whole numbers for what counts, complex numbers for what conjugates. */
import * as c from "../values/complex.ts";
import { type Bindings, type Expression, some, symbolsOf } from "../values/expression.ts";
import * as q from "../values/rational.ts";

/** Fractions between -3 and 3 without structure; each symbol walks through them in its own order. */
const FRACTIONS: readonly q.Rational[] = [
  [17n, 11n],
  [7n, 13n],
  [29n, 10n],
  [23n, 9n],
  [5n, 7n],
  [-19n, 12n],
  [-8n, 15n],
  [-27n, 11n],
  [31n, 14n],
  [-13n, 6n],
].map(([numerator = 0n, denominator = 1n]) => ({ numerator, denominator }));

/** Symbols in the order of the alphabet get one column each; mostly the later is the larger, as k of n. */
const WHOLE: readonly (readonly number[])[] = [
  [3, 7, 11, 5],
  [2, 5, 9, 12],
  [4, 9, 6, 3],
  [1, 6, 3, 8],
  [6, 8, 10, 2],
  [5, 11, 2, 7],
  [2, 4, 7, 9],
  [7, 10, 5, 4],
  [3, 12, 8, 6],
  [8, 3, 4, 10],
];

export const SAMPLES = 10;

export interface Sample {
  /** Empty where the values are no fractions. */
  readonly exactly: Bindings<q.Rational>;
  readonly roughly: Bindings<c.Complex>;
}

export function sampleOf(sample: number, symbol: number): q.Rational {
  return FRACTIONS[(sample * (symbol + 1) * 3 + sample + symbol * 4) % FRACTIONS.length] ?? q.ONE;
}

/** Whether symbols stand for whole numbers: in factorials, binomials, bounds of sums, exponents of negative numbers. */
export function countsWith(gold: Expression, answer: Expression): boolean {
  return some(gold, counts) || some(answer, counts);
}

/** The samples for two expressions, by what stands in either. */
export function samplesFor(gold: Expression, answer: Expression, symbols: readonly string[]): (at: number) => Sample {
  if (some(gold, conjugates) || some(answer, conjugates)) return (at) => complexSample(at, symbols);
  const value = countsWith(gold, answer) ? wholeOf : sampleOf;
  return (at) => {
    const exactly = new Map(symbols.map((name, index) => [name, value(at, index)] as const));
    return { exactly, roughly: new Map([...exactly].map(([name, one]) => [name, c.complex(q.toNumber(one))])) };
  };
}

function wholeOf(sample: number, symbol: number): q.Rational {
  return q.integer(WHOLE[sample % WHOLE.length]?.[symbol] ?? 1 + ((sample * 5 + symbol * 3) % 11));
}

function complexSample(sample: number, symbols: readonly string[]): Sample {
  const at = (index: number): c.Complex =>
    c.complex(q.toNumber(sampleOf(sample, index)), q.toNumber(sampleOf(sample + 3, index + 1)));
  return { exactly: new Map(), roughly: new Map(symbols.map((name, index) => [name, at(index)])) };
}

const CONJUGATING = new Set(["conjugate", "Re", "Im", "arg"]);
const COUNTING = new Set(["factorial", "doubleFactorial", "binomial"]);

function conjugates(node: Expression): boolean {
  return node.kind === "call" && CONJUGATING.has(node.name) && symbolsOf(node).size > 0;
}

/** Factorials and binomials of symbols, sums that run to a symbol, powers of negative numbers: made for whole numbers. */
function counts(node: Expression): boolean {
  if (node.kind === "power")
    return node.base.kind === "number" && node.base.value.numerator < 0n && symbolsOf(node.exponent).size > 0;
  if (node.kind !== "call") return false;
  if (COUNTING.has(node.name)) return symbolsOf(node).size > 0;
  return (node.name === "sum" || node.name === "prod") && node.args.slice(2).some((bound) => symbolsOf(bound).size > 0);
}
