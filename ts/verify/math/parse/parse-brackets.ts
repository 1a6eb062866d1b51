/** Round, square, curly and angle brackets: groups, tuples, intervals, sets. */
import { call, type Expression, some } from "../values/expression.ts";
import type { Parser } from "./parser.ts";
import { Unparsable } from "./unparsable.ts";

/** Behind an opening "(", "[" or "<". */
export function parseBrackets(parser: Parser, open: "(" | "[" | "<"): Expression {
  const bars = parser.bars;
  parser.bars = 0;
  const inner = parser.list();
  parser.bars = bars;
  if (open === "<") {
    parser.expectSign(">");
    return { kind: "tuple", items: itemsOf(inner), brackets: "<>", joined: "," };
  }
  // [a, b[ is half open.
  const round = parser.takeSign(")") || parser.takeSign("[");
  if (!round && !parser.takeSign("]")) throw new Unparsable("a bracket is not closed");
  const items = itemsOf(inner);
  if (items.length === 2 && ((open === "[" && isInfinite(items[0])) || (!round && isInfinite(items[1]))))
    throw new Unparsable("nothing ends at infinity");
  if (round !== (open === "(")) {
    const [low, high] = items;
    if (items.length !== 2 || low === undefined || high === undefined) throw new Unparsable("brackets do not match");
    return { kind: "interval", low, high, lowOpen: open === "(", highOpen: round };
  }
  if (inner.kind === "tuple" && inner.brackets === "")
    return { kind: "tuple", items, brackets: round ? "()" : "[]", joined: "," };
  return inner;
}

/** ]a, b[ and ]a, b]. */
export function reversedInterval(parser: Parser): Expression {
  const items = itemsOf(parser.list());
  const [low, high] = items;
  if (items.length !== 2 || low === undefined || high === undefined) throw new Unparsable("not an interval");
  const highOpen = parser.takeSign("[");
  if (!highOpen) parser.expectSign("]");
  return { kind: "interval", low, high, lowOpen: true, highOpen };
}

/** Behind \{: items, or a description "x | condition", which is its condition. */
export function parseSetBraces(parser: Parser): Expression {
  if (parser.takeCommand("}")) return { kind: "numberSet", name: "empty" };
  const described = parser.attempt(() => description(parser));
  if (described !== null) return described;
  const inner = parser.list();
  if (!parser.takeCommand("}")) throw new Unparsable("a set is not closed");
  return { kind: "set", items: itemsOf(inner) };
}

/** {x | x > 0} is its condition; {2k | k in Z} is known by its form alone. */
function description(parser: Parser): Expression {
  parser.bars++;
  const outer = parser.described;
  parser.described = true;
  const subject = parser.relation();
  parser.described = outer;
  parser.bars--;
  if (!parser.takeSign("|") && !parser.takeSign(":")) throw new Unparsable("no description");
  const condition = parser.list();
  if (!parser.takeCommand("}")) throw new Unparsable("a set is not closed");
  const isReal = subject.kind === "relation" && subject.operators.length === 1 && isReals(subject.sides[1]);
  if (subject.kind === "symbol" || isReal) return condition;
  return call("described", subject, condition);
}

function isInfinite(end: Expression | undefined): boolean {
  return end !== undefined && some(end, (node) => node.kind === "constant" && node.name === "infinity");
}

function isReals(side: Expression | undefined): boolean {
  return side?.kind === "numberSet" && side.name === "R";
}

function itemsOf(inner: Expression): readonly Expression[] {
  return inner.kind === "tuple" && inner.brackets === "" ? inner.items : [inner];
}
