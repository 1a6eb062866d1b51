/** Draws a theory, a term, and another one at a known distance from it; at higher levels often several instances of such a pair in one term. */
import { between, firstDrawn, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import type { Problem } from "./proof.ts";
import { type Line, Search } from "./search.ts";
import { areEqual, atomsOf, type Equation, printed, sizeOf, substituted, type Term, VARIABLES } from "./terms.ts";
import { drawTheory, type Theory, type TheorySize } from "./theory.ts";

export interface Instance {
  readonly theory: Theory;
  readonly from: Term;
  readonly to: Term;
  /** A derivation, line by line. */
  readonly proof: readonly string[];
  /** Its steps: no known one has fewer. */
  readonly steps: number;
  /** Terms that a breadth-first search saw before the goal, or before the goal of the lemma for each of its uses. */
  readonly seen: number;
}

interface Size {
  readonly theory: TheorySize;
  readonly steps: readonly [least: number, most: number];
  /** Of a lemma that is used several times, its steps and uses; null at levels without. */
  readonly lemma: { readonly steps: readonly [least: number, most: number]; readonly uses: number } | null;
  readonly seen: readonly [least: number, most: number];
  /** Different equations of a derivation, at least. */
  readonly kinds: number;
  readonly start: readonly [least: number, most: number];
}

const SIZES: readonly Size[] = [
  {
    theory: { binary: 1, unary: 1, constants: 0, laws: 1, drawn: 1 },
    steps: [2, 2],
    lemma: null,
    seen: [3, 14],
    kinds: 1,
    start: [4, 6],
  },
  {
    theory: { binary: 1, unary: 1, constants: 1, laws: 2, drawn: 1 },
    steps: [3, 3],
    lemma: null,
    seen: [15, 60],
    kinds: 2,
    start: [4, 7],
  },
  {
    theory: { binary: 2, unary: 1, constants: 0, laws: 2, drawn: 1 },
    steps: [4, 5],
    lemma: { steps: [3, 3], uses: 2 },
    seen: [61, 240],
    kinds: 2,
    start: [5, 8],
  },
  {
    theory: { binary: 2, unary: 1, constants: 1, laws: 3, drawn: 1 },
    steps: [5, 7],
    lemma: { steps: [3, 4], uses: 3 },
    seen: [241, 900],
    kinds: 3,
    start: [5, 9],
  },
  {
    theory: { binary: 2, unary: 2, constants: 1, laws: 3, drawn: 2 },
    steps: [6, 10],
    lemma: { steps: [4, 6], uses: 3 },
    seen: [901, 3_000],
    kinds: 3,
    start: [6, 10],
  },
];
const LETTERS = ["a", "b", "c", "d"] as const;
/** How much a term may grow on the way. */
const GROWTH = 4;
/** Starts that are tried in one theory. */
const STARTS = 6;
/** How much larger the goal may be. */
const LONGER = 1;
/** Goals that are tried from one start. */
const GOALS = 8;

export function drawInstance(rng: Rng, level: Level): Instance | null {
  const size = at(SIZES, level - 1);
  const theory = drawTheory(rng, size.theory);
  if (theory === null) return null;
  const { lemma } = size;
  const isPlain = lemma === null || rng.integer(2) === 0;
  return firstDrawn(STARTS, () => (isPlain ? drawPlain(rng, size, theory) : drawReuse(rng, lemma, size, theory)));
}

export function problemOf({ theory, from, to }: Pick<Instance, "theory" | "from" | "to">): Problem {
  const { binary, unary, constants, equations } = theory;
  const arities = new Map<string, number>([
    ...binary.map((name) => [name, 2] as const),
    ...unary.map((name) => [name, 1] as const),
    ...[...constants, ...LETTERS, ...VARIABLES].map((name) => [name, 0] as const),
  ]);
  const named = equations.map((one, index): [string, Equation] => [`A${index + 1}`, one]);
  return { equations: new Map(named), arities, from, to };
}

function drawPlain(rng: Rng, size: Size, theory: Theory): Instance | null {
  const found = drawPair(rng, size, theory, { atoms: LETTERS.slice(0, 3), steps: size.steps, seen: size.seen });
  if (found === null) return null;
  const { from, to, lines, seen } = found;
  return { theory, from, to, proof: lines.map(written), steps: lines.length, seen };
}

/** Several instances of one pair, under an operation: it pays to prove the pair once. */
function drawReuse(rng: Rng, { steps, uses }: NonNullable<Size["lemma"]>, size: Size, theory: Theory): Instance | null {
  const [least, most] = size.seen;
  const seen = [Math.ceil(least / uses), Math.floor(most / uses)] as const;
  const pair = drawPair(rng, size, theory, { atoms: VARIABLES.slice(0, 3), steps, seen });
  if (pair === null) return null;
  const variables = new Set(
    [...atomsOf(pair.from), ...atomsOf(pair.to)].filter((atom) => !theory.constants.includes(atom)),
  );
  const instances = range(uses).map(() => {
    const values = new Map([...variables].map((name): [string, Term] => [name, drawValue(rng, theory)]));
    return { from: substituted(pair.from, values), to: substituted(pair.to, values) };
  });
  if (new Set(instances.map(({ from }) => printed(from))).size < uses) return null;
  const operations = range(uses - 1).map(() => rng.pick(theory.binary));
  const joined = (parts: readonly Term[]): Term =>
    parts
      .slice(1)
      .reduce((whole, part, index): Term => ({ operation: at(operations, index), args: [whole, part] }), at(parts, 0));
  const whole = range(uses + 1).map((done) =>
    joined(instances.map(({ from, to }, index) => (index < done ? to : from))),
  );
  const proof = [
    `lemma L1: ${printed(pair.from)} = ${printed(pair.to)}`,
    ...pair.lines.map(written),
    "qed",
    ...whole.slice(1).map((term) => `L1: ${printed(term)}`),
  ];
  const total = pair.lines.length + uses;
  return { theory, from: at(whole, 0), to: at(whole, uses), proof, steps: total, seen: uses * pair.seen };
}

interface Pair {
  readonly from: Term;
  readonly to: Term;
  readonly lines: readonly Line[];
  readonly seen: number;
}

interface Wanted {
  readonly atoms: readonly string[];
  readonly steps: readonly [least: number, most: number];
  readonly seen: readonly [least: number, most: number];
}

/** Two terms with a shortest derivation of a wanted length, found after a wanted number of terms. */
function drawPair(rng: Rng, size: Size, theory: Theory, { atoms, steps, seen }: Wanted): Pair | null {
  const from = drawTerm(rng, theory, atoms, between(rng, ...size.start));
  const present = [...new Set(atomsOf(from))].filter((atom) => atoms.includes(atom));
  if (present.length < 2) return null;
  const bounds = { size: sizeOf(from) + GROWTH, terms: seen[1], atoms: present };
  const { nodes } = new Search(from, theory.equations, bounds);
  const [[fewest], [least, most]] = [seen, steps];
  const largest = sizeOf(from) + LONGER;
  const goals = [...nodes.entries()].filter(
    ([index, { depth, term }]) => index >= fewest && depth >= least && depth <= most && sizeOf(term) <= largest,
  );
  for (const [index, node] of sample(goals, GOALS, rng)) {
    const lines = Search.path(node);
    const kinds = new Set(lines.map(({ equation }) => equation)).size;
    if (kinds >= size.kinds && !areEqual(from, node.term)) return { from, to: node.term, lines, seen: index };
  }
  return null;
}

/** A term of about this size over all operations. */
function drawTerm(rng: Rng, theory: Theory, atoms: readonly string[], size: number): Term {
  const { binary, unary, constants } = theory;
  if (size <= 1) return constants.length > 0 && rng.integer(6) === 0 ? rng.pick(constants) : rng.pick(atoms);
  if (size === 2 || rng.integer(4) === 0) {
    return { operation: rng.pick(unary), args: [drawTerm(rng, theory, atoms, size - 1)] };
  }
  const left = between(rng, 1, size - 2);
  const args = [left, size - 1 - left].map((part) => drawTerm(rng, theory, atoms, part));
  return { operation: rng.pick(binary), args };
}

/** What a lemma's variable becomes. */
function drawValue(rng: Rng, { unary }: Theory): Term {
  const letter = rng.pick(LETTERS);
  return rng.integer(3) === 0 ? { operation: rng.pick(unary), args: [letter] } : letter;
}

function written({ equation, term }: Line): string {
  return `A${equation + 1}: ${printed(term)}`;
}
