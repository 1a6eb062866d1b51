/** Drawn theories: equations from known laws on drawn operations, and equations that no book has. */
import { between, sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import {
  areEqual,
  atomsOf,
  type Equation,
  isVariable,
  operationsOf,
  parsed,
  printed,
  sizeOf,
  substituted,
  type Term,
  VARIABLES,
} from "./terms.ts";

export interface Theory {
  readonly binary: readonly string[];
  readonly unary: readonly string[];
  /** Constants that the equations may name. */
  readonly constants: readonly string[];
  readonly equations: readonly Equation[];
}

export interface TheorySize {
  readonly binary: number;
  readonly unary: number;
  readonly constants: number;
  /** Known laws, and equations that are drawn term by term. */
  readonly laws: number;
  readonly drawn: number;
}

const BINARY = ["f", "g", "h"] as const;
const UNARY = ["i", "j"] as const;
const CONSTANTS = ["e", "o"] as const;

/** Over two binary operations f and g, a unary one i and a constant e, which get other names. */
const LAWS: readonly Equation[] = [
  "f(x, y) = f(y, x)",
  "f(f(x, y), z) = f(x, f(y, z))",
  "f(x, f(y, z)) = f(y, f(x, z))",
  "f(f(x, y), z) = f(f(x, z), y)",
  "f(x, f(y, z)) = f(y, f(z, x))",
  "f(f(x, y), f(z, u)) = f(f(x, z), f(y, u))",
  "f(x, f(y, z)) = f(f(x, y), f(x, z))",
  "f(x, g(y, z)) = g(f(x, y), f(x, z))",
  "f(g(x, y), z) = g(f(x, z), f(y, z))",
  "f(g(x, y), g(z, u)) = g(f(x, z), f(y, u))",
  "f(g(x, y), z) = g(x, f(y, z))",
  "i(f(x, y)) = f(i(y), i(x))",
  "i(f(x, y)) = f(i(x), i(y))",
  "i(f(x, y)) = g(i(x), i(y))",
  "f(i(x), y) = f(x, i(y))",
  "i(f(x, y)) = f(i(x), y)",
  "i(i(x)) = x",
  "f(x, e) = x",
  "f(e, x) = x",
  "f(e, x) = i(x)",
  "f(x, i(x)) = e",
  "f(i(x), f(x, y)) = y",
  "f(x, g(x, y)) = x",
  "f(x, x) = x",
].map(equationOf);

/** Null where the draw is no theory: an equation twice, or an operation without one. */
export function drawTheory(rng: Rng, size: TheorySize): Theory | null {
  const [binary, unary] = [BINARY.slice(0, size.binary), UNARY.slice(0, size.unary)];
  const constants = CONSTANTS.slice(0, size.constants);
  const laws = sample(LAWS, LAWS.length, rng).flatMap((law): Equation[] => {
    const [f, g] = shuffled(binary, rng);
    const names = new Map(Object.entries({ f, g, i: drawnOf(unary, rng), e: drawnOf(constants, rng) }));
    const { left, right } = law;
    return namesOf(law).every((name) => names.get(name) !== undefined)
      ? [{ left: renamed(left, names), right: renamed(right, names) }]
      : [];
  });
  const drawn = range(size.drawn).flatMap(() => drawEquation(rng, binary, unary) ?? []);
  const equations = shuffled([...laws.slice(0, size.laws), ...drawn], rng);
  const used = new Set(equations.flatMap(namesOf));
  const isWhole = [...binary, ...unary, ...constants].every((name) => used.has(name));
  const texts = new Set(equations.map((one) => normal(one, (name) => name)));
  const theory = { binary, unary, constants, equations };
  return isWhole && equations.length === size.laws + size.drawn && texts.size === equations.length ? theory : null;
}

/** The same text for theories that differ in the names, sides and order alone. */
export function canonicalTheory({ binary, unary, constants, equations }: Theory): string {
  const renamings = permutations(binary).flatMap((b) =>
    permutations(unary).flatMap((u) =>
      permutations(constants).map(
        (c) =>
          new Map([
            ...b.map((name, index): [string, string] => [name, at(binary, index)]),
            ...u.map((name, index): [string, string] => [name, at(unary, index)]),
            ...c.map((name, index): [string, string] => [name, at(constants, index)]),
          ]),
      ),
    ),
  );
  const texts = renamings.map((renaming) =>
    equations
      .map((one) => normal(one, (name) => renaming.get(name) ?? name))
      .toSorted()
      .join("; "),
  );
  return at(texts.toSorted(), 0);
}

function equationOf(text: string): Equation {
  const arities = new Map([...VARIABLES, "e"].map((name): [string, number] => [name, 0]));
  for (const [name, arity] of [
    ["f", 2],
    ["g", 2],
    ["i", 1],
  ] as const)
    arities.set(name, arity);
  const [before = "", after = ""] = text.split(" = ");
  const [left, right] = [parsed(before, arities), parsed(after, arities)];
  if (left === null || right === null) throw new RangeError(`no equation: ${text}`);
  return { left, right };
}

function drawnOf(names: readonly string[], rng: Rng): string | undefined {
  return names.length === 0 ? undefined : rng.pick(names);
}

function renamed(term: Term, names: ReadonlyMap<string, string | undefined>): Term {
  if (typeof term === "string") return names.get(term) ?? term;
  const { operation, args } = term;
  return { operation: names.get(operation) ?? operation, args: args.map((arg) => renamed(arg, names)) };
}

function namesOf({ left, right }: Equation): string[] {
  const atoms = [...atomsOf(left), ...atomsOf(right)].filter((atom) => !isVariable(atom));
  return [...operationsOf(left), ...operationsOf(right), ...atoms];
}

/** Two terms with the same variables, each once. */
function drawEquation(rng: Rng, binary: readonly string[], unary: readonly string[]): Equation | null {
  const count = between(rng, 2, 3);
  const variables = VARIABLES.slice(0, count);
  const side = (): Term => {
    let parts: Term[] = shuffled(variables, rng);
    let more = rng.integer(3);
    while (parts.length > 1 || more > 0) {
      const isUnary = unary.length > 0 && more > 0 && (parts.length === 1 || rng.integer(2) === 0);
      const place = rng.integer(parts.length - (isUnary ? 0 : 1) || 1);
      if (parts.length === 1 && !isUnary) break;
      if (isUnary) more -= 1;
      const joined: Term = isUnary
        ? { operation: rng.pick(unary), args: [at(parts, place)] }
        : { operation: rng.pick(binary), args: [at(parts, place), at(parts, place + 1)] };
      parts = [...parts.slice(0, place), joined, ...parts.slice(place + (isUnary ? 1 : 2))];
    }
    return at(parts, 0);
  };
  const [left, right] = [side(), side()];
  const isBalanced = Math.abs(sizeOf(left) - sizeOf(right)) <= 1 && sizeOf(left) <= 6;
  return isBalanced && !areEqual(left, right) ? { left, right } : null;
}

/** An equation with variables in the order of their occurrence, the lesser side first. */
function normal({ left, right }: Equation, rename: (name: string) => string): string {
  const written = (first: Term, second: Term): string => {
    const variables = [...new Set([...atomsOf(first), ...atomsOf(second)].filter(isVariable))];
    const values = new Map(variables.map((name, index): [string, Term] => [name, `$${index}`]));
    const text = (term: Term): string =>
      printed(substituted(term, values)).replaceAll(/[a-z]/gu, (name) => rename(name));
    return `${text(first)} = ${text(second)}`;
  };
  return at([written(left, right), written(right, left)].toSorted(), 0);
}

function permutations<Item>(items: readonly Item[]): Item[][] {
  if (items.length === 0) return [[]];
  return items.flatMap((first, index) =>
    permutations(items.filter((_, other) => other !== index)).map((rest) => [first, ...rest]),
  );
}
