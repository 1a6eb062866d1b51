/** x = pi/4 + k pi, k in Z: the letter of a whole number that is free may be any. */
import { type Expression, mapSymbols, symbolsOf } from "../values/expression.ts";

const PARAMETER = "integer";
/** Letters that usually stand for whole numbers. */
const USUAL = new Set(["k", "n", "m"]);

/** Both with the same name for the whole number that one of them declares; as they are when neither does. */
export function withIntegerParameters(gold: Expression, answer: Expression): [Expression, Expression] {
  const [a, b] = [declared(gold), declared(answer)];
  if (a === null && b === null) return [gold, answer];
  const [one, other] = [a ?? usual(gold), b ?? usual(answer)];
  return one === null || other === null ? [gold, answer] : [renamed(one), renamed(other)];
}

interface Declared {
  readonly body: Expression;
  readonly letter: string;
}

function declared(expression: Expression): Declared | null {
  if (expression.kind !== "tuple" || expression.brackets !== "" || expression.items.length < 2) return null;
  const last = expression.items.at(-1);
  if (last?.kind !== "relation" || last.operators.join(" ") !== "in") return null;
  const [letter, set] = last.sides;
  if (letter?.kind !== "symbol" || set?.kind !== "text" || set.text !== "\\mathbb{z}") return null;
  const [only, ...more] = expression.items.slice(0, -1);
  if (only === undefined || !symbolsOf(only).has(letter.name)) return null;
  const body: Expression = more.length === 0 ? only : { ...expression, items: [only, ...more] };
  return { body, letter: letter.name };
}

function usual(expression: Expression): Declared | null {
  const letters = [...symbolsOf(expression)].filter((name) => USUAL.has(name));
  const [letter] = letters;
  return letters.length === 1 && letter !== undefined ? { body: expression, letter } : null;
}

function renamed({ body, letter }: Declared): Expression {
  return mapSymbols(body, (name) => ({ kind: "symbol", name: name === letter ? PARAMETER : name }));
}
