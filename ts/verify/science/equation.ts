/**
 * Chemical equations: "2 H2 + O2 -> 2 H2O", with charges, states, electrons, conditions over the arrow left out.
 *
 * An equation is balanced when atoms and charge are the same on both sides. Coefficients are exact: whole numbers or fractions in, the smallest
 * whole numbers out.
 */
import { z } from "zod";

import { checkOptions, only } from "../../options.ts";
import { type Formula, parseFormula, sameAtoms } from "./formula.ts";
import { plainNotation } from "./notation.ts";
import { integerNullspace, reduced } from "./nullspace.ts";

export interface Term {
  readonly formula: Formula;
  /** As written, without coefficient and state. */
  readonly text: string;
  /** As written: numerator and denominator. */
  readonly coefficient: readonly [bigint, bigint];
}

export interface Equation {
  readonly left: readonly Term[];
  readonly right: readonly Term[];
}

const ARROW = /\s*(?:<?[=-]+>|⇌|⇋|↔|→|⟶|⟷|⇄|=)\s*/u;
const MAX_TERMS = 30;
const MAX_LENGTH = 2000;

/** Null for what is none. */
export function parseEquation(text: string): Equation | null {
  if (text.length > MAX_LENGTH) return null;
  const plain = plainNotation(text)
    .replace(/(→|⟶|->|=>)\s*\[[^\]]*\]/gu, "$1")
    .replace(/[.;]$/u, "");
  const sides = plain.split(ARROW);
  if (sides.length !== 2) return null;
  const [left, right] = sides.map(readSide);
  return left === undefined || right === undefined || left === null || right === null ? null : { left, right };
}

const balanceSchema = only<{ smallest?: boolean }>({ smallest: z.boolean().optional() });
const equationSchema = only<{ smallest?: boolean; states?: boolean }>({
  smallest: z.boolean().optional(),
  states: z.boolean().optional(),
});

export type BalanceVerdict = "balanced" | "atoms" | "charge" | "not_smallest" | "unparsable";

/** Whether an equation is balanced as it is written, and by the smallest whole numbers when that is asked for. */
export function checkBalance(text: string, options: { smallest?: boolean } = {}): BalanceVerdict {
  checkOptions("PRL_VERIFY_OPTIONS", "checkBalance", balanceSchema, options);
  const { smallest = false } = options;
  const equation = parseEquation(text);
  return equation === null ? "unparsable" : balanceOf(equation, smallest);
}

export interface BalancedEquation {
  /** The smallest whole numbers of the terms, from left to right. */
  readonly coefficients: readonly number[];
  readonly text: string;
}

/**
 * Coefficients for an equation, whatever it has. `impossible`: no positive ones balance it; `ambiguous`: there are several ways that are no
 * multiples of each other, as where two reactions are written as one; `unparsable`.
 */
export function balanceEquation(text: string): BalancedEquation | "impossible" | "ambiguous" | "unparsable" {
  const equation = parseEquation(text);
  if (equation === null) return "unparsable";
  const terms = [...equation.left, ...equation.right];
  const rows = [...symbolsOf(terms), null].map((symbol) =>
    terms.map((term, index) => BigInt(index < equation.left.length ? 1 : -1) * amount(term.formula, symbol)),
  );
  const basis = integerNullspace(rows, terms.length);
  if (basis.length > 1) return "ambiguous";
  const [vector] = basis;
  if (vector === undefined) return "impossible";
  const signed = vector.some((value) => value < 0n) ? vector.map((value) => -value) : vector;
  if (signed.some((value) => value <= 0n)) return "impossible";
  const coefficients = signed.map(Number);
  const written = terms.map(({ text: own }, index) =>
    coefficients[index] === 1 ? own : `${coefficients[index]} ${own}`,
  );
  const [left, right] = [written.slice(0, equation.left.length), written.slice(equation.left.length)];
  return { coefficients, text: `${left.join(" + ")} -> ${right.join(" + ")}` };
}

export type EquationVerdict = "equal" | "different_species" | "not_balanced" | "different_ratio" | "unparsable";

/**
 * Whether an answer is the gold reaction: the same species on each side in any order, balanced, in the gold equation's ratio. Multiples of it
 * are equal unless `smallest` asks for the smallest whole numbers; states count when `states` says so.
 */
export function verifyEquation(
  gold: string,
  answer: string,
  options: { smallest?: boolean; states?: boolean } = {},
): { correct: boolean; verdict: EquationVerdict } {
  checkOptions("PRL_VERIFY_OPTIONS", "verifyEquation", equationSchema, options);
  const { smallest = false, states = false } = options;
  const verdict = compare(parseEquation(gold), parseEquation(answer), smallest, states);
  return { correct: verdict === "equal", verdict };
}

function compare(gold: Equation | null, answer: Equation | null, smallest: boolean, states: boolean): EquationVerdict {
  if (gold === null || answer === null) return "unparsable";
  const left = matchSides(gold.left, answer.left, states);
  const right = matchSides(gold.right, answer.right, states);
  if (left === null || right === null) return "different_species";
  const balance = balanceOf(answer, smallest);
  if (balance !== "balanced") return balance === "not_smallest" ? "different_ratio" : "not_balanced";
  // coefficient of the answer : coefficient of the gold equation is the same everywhere.
  const ratios = [...left, ...right].map(([a, b]) => [a[0] * b[1], a[1] * b[0]] as const);
  const [first] = ratios;
  const isSame = first !== undefined && ratios.every(([n, d]) => n * first[1] === d * first[0]);
  return isSame ? "equal" : "different_ratio";
}

type Coefficient = Term["coefficient"];

/** The coefficients of answer and gold, term by term; null when the species differ. */
function matchSides(
  gold: readonly Term[],
  answer: readonly Term[],
  states: boolean,
): (readonly [Coefficient, Coefficient])[] | null {
  if (gold.length !== answer.length) return null;
  const left = [...answer];
  const pairs: (readonly [Coefficient, Coefficient])[] = [];
  for (const term of gold) {
    const found = left.findIndex(
      ({ formula }) =>
        sameAtoms(formula, term.formula) &&
        formula.charge === term.formula.charge &&
        (!states || formula.state === term.formula.state),
    );
    const [match] = found < 0 ? [] : left.splice(found, 1);
    if (match === undefined) return null;
    pairs.push([match.coefficient, term.coefficient]);
  }
  return pairs;
}

function balanceOf({ left, right }: Equation, smallest: boolean): Exclude<BalanceVerdict, "unparsable"> {
  const terms = [...left, ...right];
  const common = terms.reduce((product, { coefficient: [, denominator] }) => product * denominator, 1n);
  const whole = terms.map(({ coefficient: [numerator, denominator] }) => (numerator * common) / denominator);
  const total = (symbol: string | null): bigint =>
    terms.reduce((sum, { formula }, index) => {
      const side = index < left.length ? 1n : -1n;
      return sum + side * (whole[index] ?? 0n) * amount(formula, symbol);
    }, 0n);
  if ([...symbolsOf(terms)].some((symbol) => total(symbol) !== 0n)) return "atoms";
  if (total(null) !== 0n) return "charge";
  const isSmallest = common === 1n && reduced(whole).every((value, index) => value === whole[index]);
  return smallest && !isSmallest ? "not_smallest" : "balanced";
}

function symbolsOf(terms: readonly Term[]): Set<string> {
  return new Set(terms.flatMap(({ formula }) => [...formula.atoms.keys()]));
}

/** Atoms of an element, or the charge for null. */
function amount({ atoms, charge }: Formula, symbol: string | null): bigint {
  return BigInt(symbol === null ? charge : (atoms.get(symbol) ?? 0));
}

/** Terms between plus signs that stand apart: the plus of a charge has no space before it. */
function readSide(side: string): Term[] | null {
  const texts = side.split(/\s+\+\s*|(?<=[A-Za-z0-9)\]])\+(?=\d*[A-Z([])/u);
  if (texts.length > MAX_TERMS) return null;
  const terms = texts.map(readTerm);
  return terms.every((term) => term !== null) ? terms : null;
}

function readTerm(text: string): Term | null {
  const [, whole = "", denominator = "", decimals = "", rest = ""] =
    /^\s*\(?(\d{0,9})(?:\/(\d{1,9})|\.(\d{1,6}))?\)?\s*\*?\s*(.*?)\s*$/su.exec(unbracketed(text)) ?? [];
  const formula = parseFormula(rest);
  if (formula === null) return null;
  const coefficient: Coefficient =
    whole === ""
      ? [1n, 1n]
      : decimals === ""
        ? [BigInt(whole), BigInt(denominator === "" ? 1 : denominator)]
        : [BigInt(whole + decimals), 10n ** BigInt(decimals.length)];
  if (coefficient[0] === 0n || coefficient[1] === 0n) return null;
  return { formula, coefficient, text: rest.replace(/\s*\((?:s|l|g|aq)\)$/u, "") };
}

/** "(1/2) O2" without its brackets; brackets of formulas stay. */
function unbracketed(text: string): string {
  return text.trim().replace(/^\((\d+(?:\/\d+|\.\d+)?)\)\s*/u, "$1 ");
}
