/** Answers in words. */
import { children, type Expression } from "../values/expression.ts";

/** Words against words, letter by letter apart from case, articles and marks; words against letters when they spell the same. */
export function sameText(gold: Expression, answer: Expression): boolean {
  const [a, b] = [spelled(gold), spelled(answer)];
  return a !== null && b !== null && a.replaceAll(" ", "") === b.replaceAll(" ", "") && a !== "";
}

/** Words that name a set of numbers, as that set. */
export function namedSet(expression: Expression): Expression {
  if (expression.kind !== "text" || plain(expression.text) !== "all real numbers") return expression;
  return { kind: "numberSet", name: "R" };
}

/** Null for what has no spelling: numbers with operations, collections of several items. */
function spelled(expression: Expression): string | null {
  switch (expression.kind) {
    case "text":
      return plain(expression.text);
    case "symbol":
    case "constant":
      return plain(expression.name);
    case "number":
      return expression.value.denominator === 1n ? String(expression.value.numerator) : null;
    case "numberSet":
      return expression.name === "R" ? "all real numbers" : "no solution";
    case "tuple":
    case "set":
    case "product": {
      const parts = children(expression).map((part) => (part.kind === "numberSet" ? null : spelled(part)));
      return parts.includes(null) ? null : parts.join(expression.kind === "product" ? "" : " ");
    }
    default:
      return null;
  }
}

const SYNONYMS: Readonly<Record<string, string>> = {
  "no solutions": "no solution",
  "no real solution": "no solution",
  "no real solutions": "no solution",
  none: "no solution",
  "does not exist": "does not exist",
  dne: "does not exist",
  "all reals": "all real numbers",
  "the empty set": "no solution",
  "empty set": "no solution",
};

function plain(text: string): string {
  const words = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .replace(/\b(?:the|a|an)\s+(?=\p{L}{2})/gu, "")
    .trim();
  return Object.hasOwn(SYNONYMS, words) ? (SYNONYMS[words] ?? words) : words;
}
