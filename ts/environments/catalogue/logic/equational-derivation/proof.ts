/**
 * Reads and checks derivations. A line names an equation and gives the whole term after one use of it. Lemmas may be proved on the way: their
 * variables stand for any terms as soon as they are proved, and not before.
 */
import { linesOf } from "../../lists.ts";
import { areEqual, type Equation, isStep, parsed, type Term } from "./terms.ts";

export interface Problem {
  /** Names of equations: `A1`, `A2`, ... */
  readonly equations: ReadonlyMap<string, Equation>;
  /** Numbers of arguments of operations and atoms. */
  readonly arities: ReadonlyMap<string, number>;
  readonly from: Term;
  readonly to: Term;
}

interface Lemma {
  readonly name: string;
  readonly equation: Equation;
}

interface Chain {
  term: Term;
  readonly goal: Term;
  /** The lemma that it proves; null of the goal itself. */
  readonly lemma: Lemma | null;
}

const NUMBERING = /^\d{1,3}[.)]\s+/u;
const LEMMA = /^lemma\s+(L\d{1,2})\s*:([^=]+)=([^=]+)$/iu;
const STEP = /^([AL]\d{1,2})\s*:(.+)$/iu;

/** Steps of a derivation, those of its lemmas included; null where it is none. */
export function stepsIn(answer: string, problem: Problem): number | null {
  const { arities, from, to } = problem;
  const equations = new Map(problem.equations);
  const main: Chain = { term: from, goal: to, lemma: null };
  let [chain, steps]: [Chain, number] = [main, 0];
  for (const numbered of linesOf(answer)) {
    if (isDone(main)) return null;
    const line = numbered.replace(NUMBERING, "");
    if (line.toLowerCase() === "qed") {
      if (chain.lemma === null || !isDone(chain)) return null;
      equations.set(chain.lemma.name, chain.lemma.equation);
      chain = main;
    } else if (/^lemma\b/iu.test(line)) {
      const opened = chain.lemma === null ? lemmaOf(line, arities) : null;
      if (opened === null || equations.has(opened.lemma.name)) return null;
      chain = opened;
    } else {
      const [, name = "", text = ""] = STEP.exec(line) ?? [];
      const [equation, term] = [equations.get(name.toUpperCase()), parsed(text, arities)];
      if (equation === undefined || term === null || !isStep(equation, chain.term, term)) return null;
      chain.term = term;
      steps += 1;
    }
  }
  return isDone(main) ? steps : null;
}

function lemmaOf(line: string, arities: ReadonlyMap<string, number>): (Chain & { readonly lemma: Lemma }) | null {
  const [, name = "", before = "", after = ""] = LEMMA.exec(line) ?? [];
  const [left, right] = [parsed(before, arities), parsed(after, arities)];
  if (left === null || right === null) return null;
  return { term: left, goal: right, lemma: { name: name.toUpperCase(), equation: { left, right } } };
}

function isDone({ term, goal }: Chain): boolean {
  return areEqual(term, goal);
}
