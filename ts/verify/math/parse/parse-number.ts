/** Numbers with what belongs to them: a base, the fraction of a mixed number, the single digit that a command takes. */
import { type Expression, number, quotient, sum } from "../values/expression.ts";
import type { Parser } from "./parser.ts";
import { integer } from "../values/rational.ts";
import type { Token } from "./tokens.ts";
import { Unparsable } from "./unparsable.ts";

type NumberToken = Token & { type: "number" };

export function parseNumber(parser: Parser, token: NumberToken): Expression {
  const value = number(token.value, token.decimal);
  if (!/^\d+$/u.test(token.text)) return value;
  if (parser.takeSign("_")) return based(token.text, baseOf(parser.argument()));
  const isMixed = parser.isCommand("frac") || parser.peek()?.type === "number";
  return (isMixed ? parser.attempt(() => mixed(parser, value)) : null) ?? value;
}

/** 3\frac{1}{2} and 3 1/2. */
function mixed(parser: Parser, whole: Expression): Expression {
  if (parser.takeCommand("frac")) {
    const [numerator, denominator] = [parser.argument(), parser.argument()];
    if (!isNatural(numerator) || !isNatural(denominator)) throw new Unparsable("not a mixed number");
    return sum([whole, quotient(numerator, denominator)]);
  }
  const [numerator, slash, denominator] = [parser.peek(), parser.peek(1), parser.peek(2)];
  const isFraction = numerator?.type === "number" && denominator?.type === "number" && slash?.text === "/";
  if (!isFraction || !numerator.spaced) throw new Unparsable("not a mixed number");
  for (let taken = 0; taken < 3; taken++) parser.next();
  return sum([whole, quotient(number(numerator.value), number(denominator.value))]);
}

/** \based{16}\text{ff}: digits that were letters. */
export function parseBased(parser: Parser): Expression {
  const base = baseOf(parser.argument());
  return based(parser.next().text, base);
}

function baseOf(expression: Expression): number {
  if (!isNatural(expression)) throw new Unparsable("a base is a whole number");
  return Number(expression.value.numerator);
}

function isNatural(expression: Expression): expression is Expression & { kind: "number" } {
  return expression.kind === "number" && expression.value.denominator === 1n && !expression.decimal;
}

function based(text: string, base: number): Expression {
  if (base < 2 || base > 36) throw new Unparsable("no such base");
  const digits = text.toLowerCase();
  let value = 0n;
  for (const sign of digits) {
    const digit = Number.parseInt(sign, 36);
    if (!(digit < base)) throw new Unparsable("not a digit of that base");
    value = value * BigInt(base) + BigInt(digit);
  }
  return { kind: "based", digits, base, value: integer(value) };
}

/** \frac12 takes one digit, \sqrt12 all of them: the first digit of the number that comes next gets a token for itself. */
export function splitDigits(parser: Parser, token: NumberToken): void {
  if (token.text.length < 2 || !/^\d+$/u.test(token.text)) return;
  const part = (text: string): Token => ({ ...token, text, value: integer(BigInt(text)), decimal: false });
  parser.replace(1, part(token.text.slice(0, 1)), { ...part(token.text.slice(1)), spaced: false });
}

/** 0abc is no product as answers write them. */
export function isZeroBeforeLetters(token: Token, next: Token | undefined): boolean {
  return token.text === "0" && next?.type === "word" && !next.spaced && next.text.length > 1;
}
