/** Terms such as `f(a, i(b))`: reading, writing, matching and replacing. */

/** An atom, or an operation with its arguments. */
export type Term = string | Application;
export interface Application {
  readonly operation: string;
  readonly args: readonly Term[];
}

export interface Equation {
  readonly left: Term;
  readonly right: Term;
}

/** Names that stand for any term in an equation. */
export const VARIABLES: readonly string[] = ["x", "y", "z", "u", "v", "w"];
/** Longer texts are not read. */
const LONGEST = 800;

export function isVariable(name: string): boolean {
  return VARIABLES.includes(name);
}

/** Null where the text is no term over these arities. */
export function parsed(text: string, arities: ReadonlyMap<string, number>): Term | null {
  if (text.length > LONGEST) return null;
  const tokens = text.replaceAll(/\s+/gu, "").split("");
  let next = 0;
  const read = (): Term | null => {
    const operation = tokens[next++] ?? "";
    const arity = arities.get(operation);
    if (arity === undefined) return null;
    if (arity === 0) return operation;
    const args: Term[] = [];
    for (let index = 0; index < arity; index++) {
      if (tokens[next++] !== (index === 0 ? "(" : ",")) return null;
      const arg = read();
      if (arg === null) return null;
      args.push(arg);
    }
    return tokens[next++] === ")" ? { operation, args } : null;
  };
  const term = read();
  return next === tokens.length ? term : null;
}

export function printed(term: Term): string {
  return typeof term === "string" ? term : `${term.operation}(${term.args.map(printed).join(", ")})`;
}

export function sizeOf(term: Term): number {
  return typeof term === "string" ? 1 : term.args.reduce((sum, arg) => sum + sizeOf(arg), 1);
}

/** Atoms in the order of their occurrence, each as often as it occurs. */
export function atomsOf(term: Term): string[] {
  return typeof term === "string" ? [term] : term.args.flatMap(atomsOf);
}

export function operationsOf(term: Term): string[] {
  return typeof term === "string" ? [] : [term.operation, ...term.args.flatMap(operationsOf)];
}

export function areEqual(a: Term, b: Term): boolean {
  if (typeof a === "string" || typeof b === "string") return a === b;
  return a.operation === b.operation && a.args.every((arg, index) => areEqual(arg, b.args[index] ?? ""));
}

/** Whether the pattern becomes the term under some values of its variables, which are added to those that are known. */
export function isMatch(pattern: Term, term: Term, values: Map<string, Term>): boolean {
  if (typeof pattern === "string") {
    if (!isVariable(pattern)) return pattern === term;
    const bound = values.get(pattern);
    if (bound !== undefined) return areEqual(bound, term);
    values.set(pattern, term);
    return true;
  }
  if (typeof term === "string" || pattern.operation !== term.operation) return false;
  return pattern.args.every((arg, index) => isMatch(arg, term.args[index] ?? "", values));
}

/** Atoms without a value stay. */
export function substituted(term: Term, values: ReadonlyMap<string, Term>): Term {
  if (typeof term === "string") return values.get(term) ?? term;
  return { operation: term.operation, args: term.args.map((arg) => substituted(arg, values)) };
}

/** Whether `after` is `before` with one instance of one side, somewhere, replaced by the same instance of the other side. */
export function isStep(equation: Equation, before: Term, after: Term): boolean {
  const { left, right } = equation;
  if (isInstance(left, right, before, after) || isInstance(right, left, before, after)) return true;
  if (typeof before === "string" || typeof after === "string" || before.operation !== after.operation) return false;
  const pairs = before.args.map((arg, index): [Term, Term] => [arg, after.args[index] ?? ""]);
  const changed = pairs.filter(([one, other]) => !areEqual(one, other));
  // Where nothing changed, the step may be inside of any argument.
  const places = changed.length === 0 ? pairs : changed;
  return changed.length < 2 && places.some(([one, other]) => isStep(equation, one, other));
}

function isInstance(from: Term, to: Term, before: Term, after: Term): boolean {
  const values = new Map<string, Term>();
  return isMatch(from, before, values) && isMatch(to, after, values);
}
