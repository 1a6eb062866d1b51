/**
 * Values with names: AB = 4, CD = 5. Among each other they are compared by name; values without names stand in the order of the named ones, and
 * coordinates in brackets in the order of the alphabet.
 */
import { sameMembers } from "./compare-collections.ts";
import { assigned } from "./equations.ts";
import { children, type Expression, mapNodes, type Same, symbolsOf } from "../values/expression.ts";

/** Every label of a value, as AB, \text{Area}, f(3) or P(X = 2), replaced by a symbol: it is a name, not a product. */
export function withLabels(expression: Expression): Expression {
  return mapNodes(expression, (node) => {
    if (node.kind !== "relation" || !node.operators.every((operator) => operator === "=" || operator === "~"))
      return null;
    const [first, ...rest] = node.sides;
    if (first === undefined || rest.length === 0 || rest.some((side) => symbolsOf(side).size > 0)) return node;
    const name = labelOf(first);
    return name === null ? node : { ...node, sides: [{ kind: "symbol", name }, ...rest] };
  });
}

function labelOf(expression: Expression): string | null {
  if (expression.kind === "text") return `label ${expression.text}`;
  if (expression.kind === "call" && (expression.name === "abs" || expression.name === "conjugate"))
    return expression.args[0] === undefined ? null : labelOf(expression.args[0]);
  if (expression.kind !== "product") return null;
  const letters = expression.factors.map((factor) => (factor.kind === "symbol" ? factor.name : null));
  const [first, ...rest] = letters;
  if (first === undefined || first === null) return null;
  // AB and BA are one segment.
  if (letters.every((letter) => letter !== null && /^\p{Lu}(?:_.*)?$/u.test(letter)))
    return `label ${(letters.length === 2 ? letters.toSorted((a, b) => (String(a) < String(b) ? -1 : 1)) : letters).join("")}`;
  const [argument] = expression.factors.slice(1);
  const isApplied = rest.length === 1 && /^(?:[fghpFGPETSV]|\p{L}{2,})$/u.test(first);
  return isApplied && argument !== undefined ? `label ${first}(${spelled(argument)})` : null;
}

function spelled(expression: Expression): string {
  if (expression.kind === "symbol") return expression.name;
  if (expression.kind === "number") return `${expression.value.numerator}/${expression.value.denominator}`;
  return `${expression.kind}(${children(expression).map(spelled).join(",")})`;
}

type Named = readonly (readonly [name: string, value: Expression])[];

/** Null when neither is a list of values with different names. */
export function compareNamed(gold: Expression, answer: Expression, same: Same): boolean | null {
  const [a, b] = [namedValues(gold), namedValues(answer)];
  if (a === null && b === null) return null;
  if (a !== null && b !== null) {
    const other = new Map(b);
    if (a.length === b.length && a.every(([name]) => other.has(name))) {
      return a.every(([name, value]) => same(value, other.get(name) ?? value));
    }
    return false;
  }
  const named = a ?? b ?? [];
  const values = named.map(([, value]) => value);
  const plain = a === null ? gold : answer;
  const members = membersOf(plain);
  if (members.length !== named.length) return false;
  const isBracketed = plain.kind === "tuple" && plain.brackets !== "";
  // x_1 = 2, x_2 = 3 are the roots in any order, and so are the values of a gold set.
  if (!isBracketed && (a === null || areRoots(named))) return sameMembers(values, members, same);
  const ordered =
    isBracketed && named.every(([name]) => /^(?:\p{L}|\\\p{L}+)(?:_.*)?$/u.test(name)) ? byName(named) : values;
  return ordered.every((value, index) => members[index] !== undefined && same(value, members[index]));
}

function byName(named: Named): Expression[] {
  return named.toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value);
}

function areRoots(named: Named): boolean {
  const [first] = named;
  const letter = first?.[0].split("_")[0];
  return named.every(([name]) => name.includes("_") && name.split("_")[0] === letter);
}

/** Returns the values of "x = 2 or x = 3". */
function membersOf(plain: Expression): readonly Expression[] {
  if (plain.kind === "relation" && plain.operators[0] === "in") return membersOf(plain.sides[1] ?? plain);
  if (plain.kind !== "tuple" && plain.kind !== "set") return [plain];
  const values = plain.items.map((item) => assigned(item)?.value);
  return values.every((value) => value !== undefined) ? values : plain.items;
}

function namedValues(expression: Expression): Named | null {
  const [left, right] = expression.kind === "relation" && expression.operators.join("") === "=" ? expression.sides : [];
  if (left?.kind === "tuple" && right?.kind === "tuple" && left.items.length === right.items.length) {
    return distinctNames(left.items.map((item, index) => [nameOf(item), right.items[index] ?? item] as const));
  }
  if (expression.kind !== "tuple" || expression.brackets !== "" || expression.items.length < 2) return null;
  return distinctNames(
    expression.items.map((item) => {
      const assignment = assigned(item);
      return [assignment?.name ?? null, assignment?.value ?? item] as const;
    }),
  );
}

function nameOf(expression: Expression): string | null {
  return expression.kind === "symbol" ? expression.name : null;
}

function distinctNames(pairs: readonly (readonly [string | null, Expression])[]): Named | null {
  const named = pairs.flatMap(([name, value]) => (name === null ? [] : [[name, value] as const]));
  return named.length === pairs.length && new Set(named.map(([name]) => name)).size === named.length ? named : null;
}
