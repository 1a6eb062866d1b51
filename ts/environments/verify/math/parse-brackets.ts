/** Round, square, curly and angle brackets: groups, tuples, intervals, sets. */
import type { Expression } from "./expression.ts";
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
  const round = parser.takeSign(")");
  if (!round && !parser.takeSign("]")) throw new Unparsable("a bracket is not closed");
  const items = itemsOf(inner);
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
  const described = parser.attempt(() => {
    parser.bars++;
    const subject = parser.relation();
    parser.bars--;
    if (!parser.takeSign("|") && !parser.takeSign(":")) throw new Unparsable("no description");
    const condition = parser.list();
    if (!parser.takeCommand("}")) throw new Unparsable("a set is not closed");
    if (subject.kind !== "symbol" && subject.kind !== "relation") throw new Unparsable("not a symbol");
    return condition;
  });
  if (described !== null) return described;
  const inner = parser.list();
  if (!parser.takeCommand("}")) throw new Unparsable("a set is not closed");
  return { kind: "set", items: itemsOf(inner) };
}

function itemsOf(inner: Expression): readonly Expression[] {
  return inner.kind === "tuple" && inner.brackets === "" ? inner.items : [inner];
}
