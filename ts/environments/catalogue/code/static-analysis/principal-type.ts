/** principal-type: the most general type of a small functional expression, by unification (Damas and Milner's algorithm W). */
import { firstDrawn } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";
import { normalised, type Term, typeOf, typeText } from "./inference.ts";

interface Instance {
  term: Term;
  type: string;
  effort: number;
}

/** By level: parameters, operations, least and most equations between types, and whether there is a let. */
const SIZES = [
  [2, 2, 1, 2, false],
  [3, 3, 3, 4, false],
  [3, 5, 5, 6, false],
  [3, 6, 7, 9, true],
  [4, 8, 10, 20, true],
] as const;
const NAMES = "fgxyzhk";
const LONGEST = 70;
const TRIES = 200;

export const principalType = defineRow<Instance>({
  id: "principal-type",
  asks: "the most general type of a small functional expression with let-polymorphism",
  place: "answer",
  make: (rng, level) => firstDrawn(TRIES, () => draw(rng, level)),
  effort: ({ effort }) => effort,
  canonical: ({ term }) => term,
  prompts: [
    ({ term }) =>
      `What is the most general type of\n\n${termText(term)}\n\nin an ML-like language (fun x -> e is a function, let is polymorphic, fst and snd take pairs, + adds numbers of type int)? ${NOTATION}`,
    ({ term }) =>
      `Infer the principal type by Hindley and Milner's rules:\n\n${termText(term)}\n\nThere is the base type int, with + on it; (e, e') is a pair, fst and snd are its projections. ${NOTATION}`,
    ({ term }) =>
      `${NOTATION} Application binds tighter than +, and a let-bound name is generalised. Which type does type inference give to this expression?\n\n${termText(term)}`,
    ({ term }) =>
      `A compiler for a functional language prints the type of each definition. Which type does it print for the following, as general as possible?\n\n${termText(term)}\n\n(Numbers are int, + takes two of them, fst and snd select from a pair.) ${NOTATION}`,
  ],
  gold: ({ type }) => type,
  nearMisses: ({ type }) => {
    const variables = [...new Set(type.match(/\b[a-j]\b/gu))];
    const [first = "a", second = "int"] = variables;
    return [
      type.replace(new RegExp(`\\b${first}\\b`, "u"), "int"),
      type.replaceAll(new RegExp(`\\b${first}\\b`, "gu"), second),
      `${type} -> int`,
      type.replace(/ -> [^>]*$/u, ""),
      `int -> ${type}`,
    ].filter((other) => normalised(other) !== normalised(type));
  },
  variants: ({ type }) => [
    `(${type})`,
    type.replaceAll(/\b([a-j])\b/gu, (letter) => String.fromCharCode(letter.charCodeAt(0) + 12)),
  ],
  score: ({ type }, answer) => (normalised(answer) === type ? 1 : 0),
});

const NOTATION =
  "Write function types with -> (it groups to the right), pairs as a * b in brackets where needed (* binds tighter than -> and does not group), type variables as single letters; their names do not matter.";

function draw(rng: Rng, level: Level): Instance | null {
  const [parameters, operations, least, most, hasLet] = at(SIZES, level - 1);
  const term = drawTerm(rng, NAMES.slice(0, parameters).split(""), operations, hasLet);
  if (term === null || termText(term).length > 200) return null;
  const found = typeOf(term);
  if (found === null || found.unifications < least || found.unifications > most) return null;
  const type = normalised(typeText(found.type));
  if (type === null || type.length > LONGEST || type.length < 8 + level || !/\b[a-j]\b/u.test(type)) return null;
  return { term, type, effort: found.unifications };
}

/** A function of the names whose body is put together from typable parts. */
function drawTerm(rng: Rng, names: readonly string[], operations: number, hasLet: boolean): Term | null {
  const enclosed = (body: Term): Term =>
    names.reduceRight<Term>((inner, name) => ({ is: "fun", name, body: inner }), body);
  const variables = names.map((name): Term => ({ is: "name", name }));
  if (!hasLet) {
    const body = grown(rng, variables, operations, enclosed);
    return body === null ? null : enclosed(body);
  }
  const [argument, called] = [NAMES.charAt(names.length), NAMES.charAt(names.length + 1)];
  const half = Math.ceil(operations / 3);
  const value = grown(rng, [...variables, { is: "name", name: argument }], half, (body) =>
    enclosed({ is: "fun", name: argument, body }),
  );
  if (value === null) return null;
  const bound = (body: Term): Term =>
    enclosed({ is: "let", name: called, value: { is: "fun", name: argument, body: value }, body });
  const body = grown(rng, [...variables, { is: "name", name: called }], operations - half, bound);
  // A let whose name is used once, or never, is a function in disguise.
  return body === null || termText(body).split(called).length < 3 ? null : bound(body);
}

/** Combines parts, each of which has a type in its place; the last one, null where too few were found. */
function grown(rng: Rng, start: readonly Term[], operations: number, enclosed: (body: Term) => Term): Term | null {
  const parts = [...start];
  for (let turn = 0; turn < 6 * operations && parts.length < start.length + operations; turn++) {
    // Later parts are larger; most of them are used again.
    const recent = (): Term => at(parts, Math.max(0, parts.length - 1 - rng.integer(start.length)));
    const part = combined(rng, recent, () => rng.pick(parts));
    if (typeOf(enclosed(part)) !== null) parts.push(part);
  }
  return parts.length < start.length + operations ? null : (parts.at(-1) ?? null);
}

function combined(rng: Rng, recent: () => Term, any: () => Term): Term {
  const [left, right] = rng.integer(2) === 0 ? [recent(), any()] : [any(), recent()];
  const kind = rng.integer(10);
  if (kind === 0) return { is: "pair", left, right };
  if (kind === 1) return { is: rng.pick(["first", "second"] as const), of: recent() };
  if (kind === 2)
    return { is: "sum", left, right: rng.integer(3) === 0 ? { is: "number", value: rng.integer(10) } : right };
  return { is: "call", of: left, on: right };
}

export function termText(term: Term, isInner = false): string {
  const bracketed = (text: string): string => (isInner ? `(${text})` : text);
  switch (term.is) {
    case "name":
      return term.name;
    case "number":
      return String(term.value);
    case "fun":
      return bracketed(`fun ${term.name} -> ${termText(term.body)}`);
    case "call":
      return bracketed(`${termText(term.of, term.of.is !== "call")} ${termText(term.on, true)}`);
    case "let":
      return bracketed(`let ${term.name} = ${termText(term.value)} in ${termText(term.body)}`);
    case "pair":
      return `(${termText(term.left)}, ${termText(term.right)})`;
    case "first":
    case "second":
      return bracketed(`${term.is === "first" ? "fst" : "snd"} ${termText(term.of, true)}`);
    case "sum":
      return bracketed(`${termText(term.left, true)} + ${termText(term.right, true)}`);
  }
}
