/** Machines, grammars and terms against enumeration with code that shares nothing with the rows. */
import { expect, test } from "vitest";

import { drawInstance } from "../../../../../ts/environments/catalogue/drawn.ts";
import { formalLanguages } from "../../../../../ts/environments/catalogue/logic/formal-languages/index.ts";
import type { Level, Row } from "../../../../../ts/environments/catalogue/row.ts";
import { createRng } from "../../../../../ts/random/rng.ts";
import { IS_LONG } from "../../../../support/form.ts";

const INSTANCES = IS_LONG ? 200 : 12;

interface Machine {
  readonly next: [number, number][];
  readonly accepting: boolean[];
}

function rowOf(id: string): Row {
  const row = formalLanguages.rows.find((one) => one.id === id);
  if (row === undefined) throw new Error(`no row ${id}`);
  return row;
}

function* instancesOf<Instance>(id: string, levels: readonly Level[]): Generator<Instance> {
  const rng = createRng(35);
  for (const level of levels)
    for (let count = 0; count < INSTANCES; count++) yield drawInstance(rowOf(id), level, rng).instance as Instance;
}

function wordsUpTo(length: number): string[] {
  const words = [""];
  for (const word of words) if (word.length < length) words.push(`${word}a`, `${word}b`);
  return words;
}

function endOf(next: Machine["next"], word: string, start = 0): number {
  let state = start;
  for (const letter of word) state = next[state]?.[letter === "a" ? 0 : 1] ?? -1;
  return state;
}

test("small-automaton-design: the automaton accepts the words that the conditions describe, and no smaller one does", () => {
  interface Design {
    readonly conditions: { kind: string; letter: string; m: number; r: number; pattern: string; not: boolean }[];
    readonly all: boolean;
    readonly automaton: Machine;
  }
  for (const { conditions, all, automaton } of instancesOf<Design>("small-automaton-design", [1, 2, 3, 4])) {
    const belongs = (word: string): boolean => {
      const holds = conditions.map(({ kind, letter, m, r, pattern, not }) => {
        if (kind === "count") return (word.split(letter).length - 1) % m === r;
        return (kind === "contains" ? word.includes(pattern) : word.endsWith(pattern)) !== not;
      });
      return all ? holds.every(Boolean) : holds.some(Boolean);
    };
    const words = wordsUpTo(9);
    for (const word of words) expect(automaton.accepting[endOf(automaton.next, word)]).toBe(belongs(word));
    // Myhill and Nerode: words with different futures need different states.
    const futures = wordsUpTo(5);
    const classes = new Set(futures.map((word) => futures.map((rest) => Number(belongs(word + rest))).join("")));
    expect(classes.size).toBeLessThanOrEqual(automaton.next.length);
    if (automaton.next.length <= 5) expect(classes.size).toBe(automaton.next.length);
  }
});

test("distinguishing-word: no shorter word tells the automata apart", () => {
  for (const one of instancesOf<{ machines: [Machine, Machine]; word: string }>("distinguishing-word", [1, 2, 3])) {
    const differ = (word: string): boolean => {
      const [a, b] = one.machines.map(({ next, accepting }) => accepting[endOf(next, word)]);
      return a !== b;
    };
    const found = wordsUpTo(one.word.length).filter(differ);
    expect(Math.min(...found.map((word) => word.length))).toBe(one.word.length);
    expect(found).toContain(one.word);
  }
});

test("reset-word: no shorter word merges all states", () => {
  for (const { next, word } of instancesOf<{ next: Machine["next"]; word: string }>("reset-word", [1, 2, 3])) {
    const merges = (one: string): boolean => new Set(next.map((_, state) => endOf(next, one, state))).size === 1;
    expect(merges(word)).toBe(true);
    expect(wordsUpTo(word.length - 1).some(merges)).toBe(false);
  }
});

test("grammar-derivation: the rules give the word, also when a parser splits it", () => {
  interface Grammar {
    readonly rules: [string, string][];
    readonly word: string;
    readonly derivation: number[];
  }
  for (const { rules, word, derivation } of instancesOf<Grammar>("grammar-derivation", [1, 2, 3])) {
    const known = new Map<string, boolean>();
    // Rules never shorten a form, so a part of length n comes from fewer than n symbols.
    const gives = (form: string, text: string, depth: number): boolean => {
      const key = `${form}/${text}/${depth}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      const value = tryForm(form, text, depth);
      known.set(key, value);
      return value;
    };
    const tryForm = (form: string, text: string, depth: number): boolean => {
      if (form === "" || form.length > text.length || depth < 0) return form === text;
      const [symbol = "", rest] = [form[0], form.slice(1)];
      if (!/[A-Z]/u.test(symbol)) return text.startsWith(symbol) && gives(rest, text.slice(1), depth);
      return Array.from(text, (_, index) => index + 1).some(
        (length) =>
          gives(rest, text.slice(length), depth) &&
          rules.some(([left, right]) => left === symbol && gives(right, text.slice(0, length), depth - 1)),
      );
    };
    expect(gives("S", word, derivation.length)).toBe(true);
    expect(rowOf("grammar-derivation").score({ rules, word }, derivation.map((rule) => rule + 1).join(" "))).toBe(1);
  }
});

test("lambda-normal-form: reduction with numbered variables gives the same normal forms", () => {
  // De Bruijn terms: numbers are bound variables, texts are free ones.
  type Term = number | string | { body: Term } | { left: Term; right: Term };
  const parse = (text: string): Term => {
    let rest = text.replaceAll(" ", "");
    const atom = (bound: string[]): Term => {
      const first = rest[0] ?? "";
      rest = rest.slice(1);
      if (first === "(") {
        const inner = many(bound);
        rest = rest.slice(1);
        return inner;
      }
      if (first === "\\") {
        const name = rest[0] ?? "";
        rest = rest.slice(2);
        return { body: many([name, ...bound]) };
      }
      return bound.includes(first) ? bound.indexOf(first) : first;
    };
    const many = (bound: string[]): Term => {
      let left = atom(bound);
      for (;;) {
        if (rest === "" || rest.startsWith(")")) return left;
        left = { left, right: atom(bound) };
      }
    };
    return many([]);
  };
  const lifted = (term: Term, by: number, from = 0): Term => {
    if (typeof term === "number") return term >= from ? term + by : term;
    if (typeof term === "string") return term;
    if ("body" in term) return { body: lifted(term.body, by, from + 1) };
    return { left: lifted(term.left, by, from), right: lifted(term.right, by, from) };
  };
  const put = (term: Term, value: Term, at = 0): Term => {
    if (typeof term === "number") return term === at ? lifted(value, at) : term > at ? term - 1 : term;
    if (typeof term === "string") return term;
    if ("body" in term) return { body: put(term.body, value, at + 1) };
    return { left: put(term.left, value, at), right: put(term.right, value, at) };
  };
  const normal = (term: Term): Term => {
    if (typeof term !== "object") return term;
    if ("body" in term) return { body: normal(term.body) };
    const left = head(term.left);
    if (typeof left === "object" && "body" in left) return normal(put(left.body, term.right));
    return { left: normal(left), right: normal(term.right) };
  };
  const head = (term: Term): Term => {
    if (typeof term !== "object" || "body" in term) return term;
    const left = head(term.left);
    return typeof left === "object" && "body" in left ? head(put(left.body, term.right)) : { left, right: term.right };
  };
  for (const one of instancesOf<{ term: string; normal: string }>("lambda-normal-form", [1, 2, 3, 4, 5]))
    expect(normal(parse(one.term))).toEqual(parse(one.normal));
});
