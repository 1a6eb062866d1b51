/** Reads the word behind a value: a percent word, degrees, a unit. */
import { type Expression, product, some } from "../values/expression.ts";
import type { Parser } from "./parser.ts";
import type { Token } from "./tokens.ts";
import { isUnitName } from "../values/units.ts";
import { Unparsable } from "./unparsable.ts";
import { FUNCTIONS, isSeparatorWord } from "../answer-text/vocabulary.ts";

/** Takes a unit when one comes next: the factors before it become one quantity. */
export function takeUnit(parser: Parser, factors: Expression[]): boolean {
  const token = parser.peek();
  if (token === undefined || !isWordLike(token) || isSeparatorWord(token.text)) return false;
  const lower = token.text.toLowerCase();
  const isPercent = lower === "percent" || lower === "pct";
  const isDegrees = lower === "degrees" || lower === "degree" || lower === "deg";
  if (!isPercent && !isDegrees && !isBound(token)) return false;
  const value = product(factors.splice(0));
  if (some(value, ({ kind }) => kind === "text")) throw new Unparsable("words between values");
  if (isPercent || isDegrees) {
    parser.next();
    factors.push({ kind: isPercent ? "percent" : "degrees", value });
    return true;
  }
  const unit = unitText(parser);
  if (OTHER_NUMBERS.test(unit)) throw new Unparsable("words that make another number of it");
  factors.push({ kind: "quantity", value, unit });
  return true;
}

/** "12 or more" is not 12. */
const OTHER_NUMBERS = /\b(?:or|and|more|less|fewer|than|least|most|to|not|except|plus|minus|times|between)\b/iu;

/** Text always; letters when they name a unit, or are a word apart. */
function isBound(token: Token): boolean {
  if (token.type === "text") return token.text !== "";
  if (Object.hasOwn(FUNCTIONS, token.text.toLowerCase())) return false;
  return isUnitName(token.text) || (token.spaced && token.text.length > 2);
}

function unitText(parser: Parser): string {
  let text = "";
  for (;;) {
    const token = parser.peek();
    const [slash, dot, caret] = [parser.isSign("/"), parser.isSign("."), parser.isSign("^")];
    if (token !== undefined && isWordLike(token) && !isSeparatorWord(token.text)) text += ` ${parser.next().text}`;
    else if (slash && text !== "" && isWordLike(parser.peek(1))) text += ` ${parser.next().text}`;
    else if (dot && text !== "") parser.next();
    else if (caret && text !== "") {
      parser.next();
      text += `^${exponentDigits(parser)}`;
    } else return text.trim().toLowerCase();
  }
}

function exponentDigits(parser: Parser): string {
  const braced = parser.takeSign("{");
  const minus = parser.takeSign("-") ? "-" : "";
  const token = parser.next();
  if (token.type !== "number") throw new Unparsable("a unit's exponent is a number");
  if (braced) parser.expectSign("}");
  return `${minus}${token.text}`;
}

function isWordLike(token: Token | undefined): boolean {
  return token?.type === "text" || token?.type === "word";
}
