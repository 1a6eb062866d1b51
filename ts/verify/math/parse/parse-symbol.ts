/** Names: letters with their subscripts, and words. */
import type { Expression } from "../values/expression.ts";
import type { Parser } from "./parser.ts";
import { Unparsable } from "./unparsable.ts";

/** A letter or name with its subscript. e and i are the constants. */
export function parseSymbol(parser: Parser, letters: string): Expression {
  let name = letters;
  while (parser.takeSign("'")) name += "'";
  if (parser.takeSign("_")) {
    const index = parser.next();
    if (index.text !== "{") return { kind: "symbol", name: `${name}_${index.text}` };
    let text = "";
    while (!parser.isSign("}")) text += parser.next().text;
    parser.next();
    return { kind: "symbol", name: `${name}_${text}` };
  }
  if (name === "e") return { kind: "constant", name: "e" };
  if (name === "i") return { kind: "constant", name: "i" };
  return { kind: "symbol", name };
}

/** \text{...}; lower case, single spaces. */
export function textNode(text: string): Expression {
  if (text === "") throw new Unparsable("empty text");
  return { kind: "text", text: text.toLowerCase().replace(/\s+/gu, " ").trim() };
}
