/** Random formulas over a few atoms, and their texts. */
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";

export type Formula = { readonly atom: string } | { readonly op: string; readonly parts: readonly Formula[] };

export interface FormulaKind {
  readonly atoms: readonly string[];
  readonly unary: readonly string[];
  readonly binary: readonly string[];
}

/** A formula in which operators are nested to exactly this depth. */
export function randomFormula(kind: FormulaKind, depth: number, rng: Rng): Formula {
  if (depth === 0) return { atom: rng.pick(kind.atoms) };
  if (rng.integer(5) < 3) return { op: rng.pick(kind.unary), parts: [randomFormula(kind, depth - 1, rng)] };
  const deep = randomFormula(kind, depth - 1, rng);
  const other = randomFormula(kind, Math.max(0, depth - 2), rng);
  return { op: rng.pick(kind.binary), parts: rng.integer(2) === 0 ? [deep, other] : [other, deep] };
}

export function formulaText(formula: Formula): string {
  if ("atom" in formula) return formula.atom;
  const [first, second] = formula.parts;
  if (first === undefined) return formula.op;
  return second === undefined
    ? `${formula.op} ${formulaText(first)}`
    : `(${formulaText(first)} ${formula.op} ${formulaText(second)})`;
}

/** Truth at all places, from the truth of the parts at all places; each place of a part is looked at once. */
export function truthOf(
  formula: Formula,
  atomAt: (atom: string) => boolean[],
  combine: (op: string, parts: readonly (readonly boolean[])[]) => boolean[],
): boolean[] {
  if ("atom" in formula) return atomAt(formula.atom);
  return combine(
    formula.op,
    formula.parts.map((part) => truthOf(part, atomAt, combine)),
  );
}

export function sizeOf(formula: Formula): number {
  return "atom" in formula ? 1 : formula.parts.reduce((sum, part) => sum + sizeOf(part), 1);
}

/** The connectives that look at one place only; null for any other operator. */
export function atOnePlace(op: string, parts: readonly (readonly boolean[])[]): boolean[] | null {
  const [first = [], second = []] = parts;
  switch (op) {
    case "not":
      return first.map((value) => !value);
    case "and":
      return first.map((value, place) => value && at(second, place));
    case "or":
      return first.map((value, place) => value || at(second, place));
    case "implies":
      return first.map((value, place) => !value || at(second, place));
    default:
      return null;
  }
}
