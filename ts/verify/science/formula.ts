/**
 * Chemical formulas: "Ca(OH)2", "[Fe(CN)6]4-", "CuSO4·5H2O", "SO₄²⁻", `\ce{NH4+}`, "e-".
 *
 * A formula is what it is made of: how many atoms of each element, and a charge. Structure is not looked at, so C2H6O is ethanol as well as
 * dimethyl ether.
 */
import { ELEMENTS } from "./elements.ts";
import { plainNotation } from "./notation.ts";

export interface Formula {
  /** Atoms by symbol, in the order of first mention. Empty for an electron. */
  readonly atoms: ReadonlyMap<string, number>;
  readonly charge: number;
  /** "s", "l", "g" or "aq", when it is written behind. */
  readonly state: string | null;
}

const MAX_LENGTH = 200;
const MAX_DEPTH = 20;
const MAX_COUNT = 1_000_000;
const STATE = /\s*\((s|l|g|aq|solid|liquid|gas|aqueous)\)\s*$/u;
const STATES: Readonly<Record<string, string>> = { solid: "s", liquid: "l", gas: "g", aqueous: "aq" };

/** Null for what is none. */
export function parseFormula(text: string): Formula | null {
  if (text.length > MAX_LENGTH) return null;
  let rest = plainNotation(text).replace(/[{}_]/gu, "");
  const stated = STATE.exec(rest)?.[1] ?? null;
  if (stated !== null) rest = rest.replace(STATE, "");
  const state = stated === null ? null : (STATES[stated] ?? stated);
  if (/^e\^?-$/u.test(rest)) return { atoms: new Map(), charge: -1, state };
  const { body, charge } = takeCharge(rest.replace(/[↑↓]$/u, "").trim());
  if (!Number.isFinite(charge)) return null;
  const atoms = new Map<string, number>();
  for (const part of body.split(/\s*[·•*.⋅×]\s*/u)) {
    const [, times = "", group = ""] = /^(\d*)(.+)$/su.exec(part) ?? [];
    const found = readGroup(group);
    if (found === null || !addAtoms(atoms, found, times === "" ? 1 : Number(times))) return null;
  }
  return atoms.size === 0 ? null : { atoms, charge, state };
}

/** Whether two formulas have the same atoms and charge; `unparsable` when one is none. */
export function verifyFormula(
  gold: string,
  answer: string,
): { correct: boolean; verdict: "equal" | "different_atoms" | "different_charge" | "unparsable" } {
  const [a, b] = [parseFormula(gold), parseFormula(answer)];
  if (a === null || b === null) return { correct: false, verdict: "unparsable" };
  if (!sameAtoms(a, b)) return { correct: false, verdict: "different_atoms" };
  const correct = a.charge === b.charge;
  return { correct, verdict: correct ? "equal" : "different_charge" };
}

export function sameAtoms(a: Formula, b: Formula): boolean {
  return a.atoms.size === b.atoms.size && [...a.atoms].every(([symbol, count]) => b.atoms.get(symbol) === count);
}

/** NaN for signs that contradict each other. "^2-", "^-2", "2-" behind a bracket, "+", "--". A digit before a bare sign belongs to the atoms: NH4+, SO4-2 by its sign in front. */
function takeCharge(text: string): { body: string; charge: number } {
  const patterns = [/\^\(?(\d*)([+-])\)?$/u, /(?<=[\])])(\d+)([+-])$/u, /\^?([+-])(\d+)$/u, /\^?([+-]+)$/u];
  for (const [index, pattern] of patterns.entries()) {
    const found = pattern.exec(text);
    if (found === null) continue;
    const body = text.slice(0, found.index);
    const [, first = "", second = ""] = found;
    const sign = (index < 2 ? second : first).startsWith("-") ? -1 : 1;
    if (index === 3) return { body, charge: /^(?:\++|-+)$/u.test(first) ? sign * first.length : Number.NaN };
    const size = index < 2 ? first : second;
    return { body, charge: sign * (size === "" ? 1 : Number(size)) };
  }
  return { body: text, charge: 0 };
}

/** Atoms of a group with brackets inside. Null when brackets, symbols or counts are wrong. */
function readGroup(text: string): Map<string, number> | null {
  const stack: { atoms: Map<string, number>; close: string }[] = [{ atoms: new Map(), close: "" }];
  const pattern = /([A-Z][a-z]?)(\d*)|([([])|([)\]])(\d*)/uy;
  let at = 0;
  while (at < text.length) {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    const top = stack.at(-1);
    if (found === null || top === undefined) return null;
    const [whole, symbol, count = "", open, close, times = ""] = found;
    at += whole.length;
    if (open !== undefined) {
      if (stack.length > MAX_DEPTH) return null;
      stack.push({ atoms: new Map(), close: open === "(" ? ")" : "]" });
    } else if (close !== undefined) {
      stack.pop();
      const outer = stack.at(-1);
      if (outer === undefined || top.close !== close || top.atoms.size === 0) return null;
      if (!addAtoms(outer.atoms, top.atoms, times === "" ? 1 : Number(times))) return null;
    } else {
      if (symbol === undefined || !ELEMENTS.has(symbol)) return null;
      if (!addAtoms(top.atoms, new Map([[symbol, 1]]), count === "" ? 1 : Number(count))) return null;
    }
  }
  const [bottom] = stack;
  return stack.length === 1 && bottom !== undefined && bottom.atoms.size > 0 ? bottom.atoms : null;
}

/** False when a count is 0 or beyond all sense. */
function addAtoms(into: Map<string, number>, atoms: ReadonlyMap<string, number>, times: number): boolean {
  for (const [symbol, count] of atoms) {
    const total = (into.get(symbol) ?? 0) + count * times;
    if (!(times >= 1 && total <= MAX_COUNT)) return false;
    into.set(symbol, total);
  }
  return true;
}
