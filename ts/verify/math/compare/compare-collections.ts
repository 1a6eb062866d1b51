/** Tuples, sets and lists. The gold's form decides: tuples keep their order, sets and bare lists have none. */
import { type Expression, negative, type Same, some, sum } from "../values/expression.ts";

type Tuple = Expression & { kind: "tuple" };

/** Null when neither is a collection. */
export function compareCollections(gold: Expression, answer: Expression, same: Same): boolean | null {
  const [a, b] = [spreadPlusMinus(gold), spreadPlusMinus(answer)];
  if (!isCollection(a) && !isCollection(b)) return null;
  const [left, right] = [items(a), items(b)];
  if (isBracketed(a) || isBracketed(b)) {
    // A point is no number, whatever its coordinates are.
    if (!isCollection(a) || !isCollection(b) || left.length !== right.length) return false;
    if (isBracketed(a) && isBracketed(b) && readAsIntervals(a, b)) return false;
    if (isBracketed(a)) return left.every((item, i) => right[i] !== undefined && same(item, right[i]));
  }
  return sameMembers(left, right, same);
}

const isCollection = ({ kind }: Expression): boolean => kind === "set" || kind === "tuple";
const isBracketed = (one: Expression): one is Tuple => one.kind === "tuple" && one.brackets !== "";

/** [0, 5] and (0, 5): of two items brackets of one kind and the other are different intervals. */
function readAsIntervals(a: Tuple, b: Tuple): boolean {
  const kinds = new Set([a.brackets, b.brackets]);
  return a.items.length === 2 && kinds.has("()") && kinds.has("[]");
}

function items(expression: Expression): readonly Expression[] {
  if (expression.kind === "set" || expression.kind === "tuple") {
    return expression.items.flatMap((item) => (item.kind === "plusMinus" ? items(spreadPlusMinus(item)) : [item]));
  }
  return [expression];
}

/** Each has its equal among the others; what is written twice counts once. */
export function sameMembers(a: readonly Expression[], b: readonly Expression[], same: Same): boolean {
  // Whole numbers and fractions find their equals by name, so that long lists take no time.
  const [named, others] = [keysOf(a), keysOf(b)];
  const [left, right] = [distinct(unmatched(a, others), same), distinct(unmatched(b, named), same)];
  if (left.length !== right.length) return false;
  const open = [...right];
  return left.every((item) => {
    const index = open.findIndex((other) => same(item, other));
    if (index >= 0) open.splice(index, 1);
    return index >= 0;
  });
}

const MOST_UNNAMED = 200;

function distinct(members: readonly Expression[], same: Same): readonly Expression[] {
  if (members.length > MOST_UNNAMED) return members;
  return members.filter((one, index) => !members.slice(0, index).some((other) => same(other, one)));
}

function unmatched(members: readonly Expression[], keys: ReadonlySet<string>): Expression[] {
  return members.filter((member) => !keys.has(keyOf(member) ?? ""));
}

function keysOf(members: readonly Expression[]): ReadonlySet<string> {
  return new Set(members.flatMap((member) => keyOf(member) ?? []));
}

function keyOf(member: Expression): string | null {
  return member.kind === "number" ? `${member.value.numerator}/${member.value.denominator}` : null;
}

/** Values of a set, of a list without brackets, of an expression with ±; else the expression alone. */
export function valuesOf(expression: Expression): readonly Expression[] {
  const spread = spreadPlusMinus(expression);
  if (spread.kind === "set") return spread.items;
  if (spread.kind === "tuple" && spread.brackets === "") return spread.items.flatMap(valuesOf);
  return [spread];
}

/** a ± b anywhere becomes the set of both values; several ± move together. */
function spreadPlusMinus(expression: Expression): Expression {
  if (expression.kind === "tuple" || expression.kind === "set") return expression;
  if (!some(expression, ({ kind }) => kind === "plusMinus")) return expression;
  return { kind: "set", items: [withSign(expression, 1), withSign(expression, -1)] };
}

function withSign(expression: Expression, sign: 1 | -1): Expression {
  switch (expression.kind) {
    case "plusMinus": {
      const offset = withSign(expression.offset, sign);
      return sum([withSign(expression.base, sign), sign === 1 ? offset : negative(offset)]);
    }
    case "sum":
      return { ...expression, terms: expression.terms.map((term) => withSign(term, sign)) };
    case "product":
      return { ...expression, factors: expression.factors.map((factor) => withSign(factor, sign)) };
    case "power":
      return { ...expression, base: withSign(expression.base, sign), exponent: withSign(expression.exponent, sign) };
    case "call":
      return { ...expression, args: expression.args.map((argument) => withSign(argument, sign)) };
    case "relation":
      return { ...expression, sides: expression.sides.map((side) => withSign(side, sign)) };
    default:
      return expression;
  }
}
