/** Letters: functions and Greek names, products of variables, names of several letters, subscripts. */
import { call, type Expression, product } from "../values/expression.ts";
import { parseCommand } from "./parse-command.ts";
import { parseSymbol } from "./parse-symbol.ts";
import type { Parser } from "./parser.ts";
import type { Token } from "./tokens.ts";
import { Unparsable } from "./unparsable.ts";
import { FUNCTIONS, GREEK, isLetterProduct } from "../answer-text/vocabulary.ts";

type WordToken = Token & { type: "word" };

export function parseWord(parser: Parser, token: WordToken): Expression {
  const lower = token.text.toLowerCase();
  if (Object.hasOwn(FUNCTIONS, lower) && token.text.length > 1) return parseCommand(parser, lower);
  if (Object.hasOwn(GREEK, lower) && token.text.length > 1) return parseCommand(parser, lower);
  if (lower === "infinity" || lower === "inf" || lower === "oo") return { kind: "constant", name: "infinity" };
  if (token.text === "Re" || token.text === "Im") return parseCommand(parser, token.text);
  const isRaised = parser.isSign("^") || parser.isSign("_") || parser.isSign("!");
  if (!isLetterProduct(token.text, !token.spaced) && !(isRaised && token.text.length <= 4))
    return parseSymbol(parser, token.text);
  const chosen = token.text === "C" ? parser.attempt(() => combinations(parser)) : null;
  if (chosen !== null) return chosen;
  const letters = Array.from(token.text);
  // An index or exponent behind letters belongs to the last of them: xy^2 is x times y^2.
  const last = letters.length > 1 && isRaised ? letters.pop() : undefined;
  if (last !== undefined) parser.replace(0, { ...token, text: last, spaced: false });
  return product(letters.map((name) => letter(parser, name, token.text.length === 1)));
}

/** C(n, k) with two numbers. */
function combinations(parser: Parser): Expression {
  if (!parser.takeSign("(")) throw new Unparsable("no arguments");
  const [n, , k] = [parser.next(), parser.expectSign(","), parser.next()];
  parser.expectSign(")");
  if (n.type !== "number" || k.type !== "number") throw new Unparsable("no numbers");
  return call("binomial", numberOf(n), numberOf(k));
}

function numberOf({ value }: Token & { type: "number" }): Expression {
  return { kind: "number", value, decimal: false };
}

function letter(parser: Parser, name: string, alone: boolean): Expression {
  if (
    alone &&
    /^[fgh]$/u.test(name) &&
    parser.isSign("(") &&
    parser.peek(1)?.type === "word" &&
    parser.isSign(")", 2)
  ) {
    const [, argument] = [parser.next(), parser.next(), parser.next()];
    return { kind: "symbol", name: `${name}(${argument.text})` };
  }
  return parseSymbol(parser, name);
}

/**
 * Letters as an argument without braces. \frac ab takes one letter (`raised`: a power takes them all); in e^xe^y the last letter is the base of
 * the next power.
 */
export function splitLetters(parser: Parser, token: WordToken, raised: boolean): void {
  const behind = parser.peek(1);
  if (token.text.length < 2 || (raised && !(behind?.type === "sign" && behind.text === "^"))) return;
  if (Object.hasOwn(FUNCTIONS, token.text.toLowerCase()) || Object.hasOwn(GREEK, token.text.toLowerCase())) return;
  const at = raised ? token.text.length - 1 : 1;
  const [first, rest] = [token.text.slice(0, at), token.text.slice(at)];
  parser.replace(1, { ...token, text: first }, { ...token, text: rest, spaced: false });
}
