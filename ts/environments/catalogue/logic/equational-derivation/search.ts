/** Breadth-first search for derivations. New variables of a step stand for atoms of the problem, and terms are no larger than a bound. */
import { atomsOf, type Equation, isMatch, isVariable, printed, sizeOf, substituted, type Term } from "./terms.ts";

export interface Line {
  /** Number of the equation, from 0. */
  readonly equation: number;
  readonly term: Term;
}

export interface Bounds {
  /** Largest term. */
  readonly size: number;
  /** Most terms that are seen. */
  readonly terms: number;
  /** What a new variable can stand for. */
  readonly atoms: readonly string[];
}

interface Node {
  readonly term: Term;
  readonly line: number;
  readonly from: Node | null;
  readonly depth: number;
}

/** One direction of an equation. */
interface Rule {
  readonly equation: number;
  readonly from: Term;
  readonly to: Term;
  /** Variables of `to` alone. */
  readonly open: readonly string[];
}

/** All terms that one step leads to, with the equation's number. */
function neighbours(term: Term, rules: readonly Rule[], atoms: readonly string[]): Line[] {
  const lines: Line[] = [];
  for (const rule of rules) {
    const values = new Map<string, Term>();
    if (!isMatch(rule.from, term, values)) continue;
    for (const way of completed(values, rule.open, atoms))
      lines.push({ equation: rule.equation, term: substituted(rule.to, way) });
  }
  if (typeof term === "string") return lines;
  const { operation, args } = term;
  for (const [place, arg] of args.entries())
    for (const { equation, term: after } of neighbours(arg, rules, atoms))
      lines.push({ equation, term: { operation, args: args.with(place, after) } });
  return lines;
}

function rulesOf(equations: readonly Equation[]): Rule[] {
  return equations.flatMap(({ left, right }, equation) =>
    [[left, right] as const, [right, left] as const].map(([from, to]): Rule => {
      const known = atomsOf(from);
      const open = [...new Set(atomsOf(to))].filter((atom) => isVariable(atom) && !known.includes(atom));
      return { equation, from, to, open };
    }),
  );
}

/** Terms by their distance from the start, in the order in which they are found, until a bound stops the search. */
export class Search {
  readonly nodes: Node[];

  constructor(start: Term, equations: readonly Equation[], bounds: Bounds) {
    const rules = rulesOf(equations);
    const known = new Set([printed(start)]);
    this.nodes = [{ term: start, line: -1, from: null, depth: 0 }];
    for (const node of this.nodes) {
      for (const { equation, term } of neighbours(node.term, rules, bounds.atoms)) {
        if (sizeOf(term) > bounds.size) continue;
        const text = printed(term);
        if (known.has(text)) continue;
        known.add(text);
        this.nodes.push({ term, line: equation, from: node, depth: node.depth + 1 });
        if (this.nodes.length >= bounds.terms) return;
      }
    }
  }

  /** Lines from the start to a node. */
  static path(node: Node): Line[] {
    return node.from === null ? [] : [...Search.path(node.from), { equation: node.line, term: node.term }];
  }
}

function completed(
  values: ReadonlyMap<string, Term>,
  open: readonly string[],
  atoms: readonly string[],
): ReadonlyMap<string, Term>[] {
  return open.reduce<ReadonlyMap<string, Term>[]>(
    (ways, name) => ways.flatMap((way) => atoms.map((atom) => new Map([...way, [name, atom]]))),
    [values],
  );
}
