/**
 * Patterns of a small notation as deterministic automata, so that equality of languages is decided.
 *
 * Notation: letters, `.` for any letter, `[ab]`, grouping, `|`, `*`, `+`, `?`, `{n}`, `{n,m}`. A pattern means whole strings. Parsing and
 * construction are bounded: what exceeds the bounds is no pattern. It knows nothing of prompts.
 */
import { at, range } from "../../lists.ts";

export type Pattern =
  | { readonly kind: "letters"; readonly set: readonly number[] }
  | { readonly kind: "sequence"; readonly parts: readonly Pattern[] }
  | { readonly kind: "choice"; readonly parts: readonly Pattern[] }
  | { readonly kind: "repeat"; readonly body: Pattern; readonly from: number; readonly to: number | null };

/** Complete: `next` has a state for each letter; state 0 is the start. */
export interface Machine {
  readonly next: readonly (readonly number[])[];
  readonly accepting: readonly boolean[];
}

const MOST_CHARACTERS = 600;
const MOST_DEPTH = 40;
const MOST_REPEATS = 20;
const MOST_NODES = 4_000;
const MOST_STATES = 400;

/** Null where the text is no pattern over these letters. */
export function parsePattern(text: string, letters: string): Pattern | null {
  if (text.length === 0 || text.length > MOST_CHARACTERS) return null;
  let place = 0;
  let depth = 0;
  const choice = (): Pattern | null => {
    const parts: Pattern[] = [];
    for (;;) {
      const part = sequence();
      if (part === null) return null;
      parts.push(part);
      if (text[place] !== "|") return parts.length === 1 ? part : { kind: "choice", parts };
      place += 1;
    }
  };
  const sequence = (): Pattern | null => {
    const parts: Pattern[] = [];
    while (place < text.length && text[place] !== "|" && text[place] !== ")") {
      const part = repeated();
      if (part === null) return null;
      parts.push(part);
    }
    return parts.length === 1 ? at(parts, 0) : { kind: "sequence", parts };
  };
  const repeated = (): Pattern | null => {
    let body = atom();
    while (body !== null) {
      const found = /^(?:[*+?]|\{(\d{1,2})(?:,(\d{1,2}))?\})/u.exec(text.slice(place, place + 8));
      if (found === null) return body;
      place += found[0].length;
      const from = found[0] === "+" ? 1 : Number(found[1] ?? 0);
      const to = found[0] === "?" ? 1 : found[1] === undefined ? null : Number(found[2] ?? found[1]);
      if (from > MOST_REPEATS || (to !== null && (to > MOST_REPEATS || to < from))) return null;
      body = { kind: "repeat", body, from, to };
    }
    return null;
  };
  const atom = (): Pattern | null => {
    const found = /^(?:\.|[a-z]|\[[a-z]{1,9}\])/u.exec(text.slice(place, place + 12));
    if (found !== null) {
      place += found[0].length;
      const named = found[0] === "." ? letters : found[0].replaceAll(/[[\]]/gu, "");
      const set = named.split("").map((letter) => letters.indexOf(letter));
      return set.includes(-1) ? null : { kind: "letters", set: [...new Set(set)] };
    }
    if (text[place] !== "(" || depth >= MOST_DEPTH) return null;
    place += 1;
    depth += 1;
    const inner = choice();
    depth -= 1;
    if (inner === null || text[place] !== ")") return null;
    place += 1;
    return inner;
  };
  const pattern = choice();
  return pattern === null || place < text.length ? null : pattern;
}

/** The text of a pattern, with the brackets that it needs. */
export function patternText(pattern: Pattern, letters: string): string {
  if (pattern.kind === "letters") {
    if (pattern.set.length === letters.length) return ".";
    const named = pattern.set.map((letter) => letters[letter]).join("");
    return named.length === 1 ? named : `[${named}]`;
  }
  if (pattern.kind === "repeat") {
    const { body, from, to } = pattern;
    const inner = patternText(body, letters);
    const count =
      to === null && from < 2
        ? from === 0
          ? "*"
          : "+"
        : from === 0 && to === 1
          ? "?"
          : from === to
            ? `{${from}}`
            : `{${from},${to}}`;
    return `${body.kind === "letters" ? inner : `(${inner})`}${count}`;
  }
  const parts = pattern.parts.map((part) => {
    const text = patternText(part, letters);
    return pattern.kind === "sequence" && part.kind === "choice" ? `(${text})` : text;
  });
  return parts.join(pattern.kind === "choice" ? "|" : "");
}

/** The smallest machine of a pattern; null where it exceeds the bounds. */
export function machineOf(pattern: Pattern, letters: number): Machine | null {
  const free: number[][] = [];
  const edges: { set: readonly number[]; to: number }[][] = [];
  const node = (): number => {
    free.push([]);
    return edges.push([]) - 1;
  };
  const build = (one: Pattern, from: number): number => {
    if (free.length > MOST_NODES) return from;
    if (one.kind === "letters") {
      const to = node();
      at(edges, from).push({ set: one.set, to });
      return to;
    }
    if (one.kind === "sequence") return one.parts.reduce((now, part) => build(part, now), from);
    const end = node();
    if (one.kind === "choice") {
      for (const part of one.parts) at(free, build(part, from)).push(end);
      return end;
    }
    let now = from;
    for (let turn = 0; turn < one.from; turn++) now = build(one.body, now);
    if (one.to === null) {
      const loop = node();
      at(free, now).push(loop);
      at(free, build(one.body, loop)).push(loop);
      at(free, loop).push(end);
      return end;
    }
    for (let turn = one.from; turn < one.to; turn++) {
      at(free, now).push(end);
      now = build(one.body, now);
    }
    at(free, now).push(end);
    return end;
  };
  const start = node();
  const end = build(pattern, start);
  if (free.length > MOST_NODES) return null;
  const closure = (nodes: readonly number[]): number[] => {
    const seen = new Set(nodes);
    for (const one of seen) for (const other of at(free, one)) seen.add(other);
    return [...seen].toSorted((a, b) => a - b);
  };
  return explore(closure([start]), {
    letters,
    step: (nodes, letter) =>
      closure(nodes.flatMap((one) => at(edges, one).flatMap(({ set, to }) => (set.includes(letter) ? [to] : [])))),
    accepts: (nodes) => nodes.includes(end),
  });
}

export interface States<State> {
  readonly letters: number;
  readonly step: (state: State, letter: number) => State;
  readonly accepts: (state: State) => boolean;
}

/** The smallest machine with the same language as these states; null where there are too many. */
export function explore<State>(start: State, { letters, step, accepts }: States<State>): Machine | null {
  const known = new Map([[JSON.stringify(start), 0]]);
  const states = [start];
  const next: number[][] = [];
  for (const state of states) {
    if (states.length > MOST_STATES) return null;
    next.push(
      range(letters).map((letter) => {
        const reached = step(state, letter);
        const key = JSON.stringify(reached);
        const place = known.get(key) ?? states.push(reached) - 1;
        known.set(key, place);
        return place;
      }),
    );
  }
  return smallest({ next, accepting: states.map(accepts) });
}

/** Moore's refinement; states are numbered in the order in which a breadth-first search meets them, so equal languages give equal machines. */
function smallest({ next, accepting }: Machine): Machine {
  let classes = accepting.map(Number);
  for (;;) {
    const keys = next.map((row, state) => [at(classes, state), ...row.map((to) => at(classes, to))].join());
    const names = [...new Set(keys)];
    const finer = keys.map((key) => names.indexOf(key));
    const isStable = names.length === new Set(classes).size;
    classes = finer;
    if (isStable) break;
  }
  const order = [at(classes, 0)];
  const rows: number[][] = [];
  const marks: boolean[] = [];
  for (const one of order) {
    const state = classes.indexOf(one);
    marks.push(at(accepting, state));
    rows.push(
      at(next, state).map((to) => {
        const reached = at(classes, to);
        return order.includes(reached) ? order.indexOf(reached) : order.push(reached) - 1;
      }),
    );
  }
  return { next: rows, accepting: marks };
}

export function isSame(a: Machine, b: Machine): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export function acceptsWord({ next, accepting }: Machine, word: string, letters: string): boolean {
  const state = word.split("").reduce((now, letter) => at(at(next, now), letters.indexOf(letter)), 0);
  return at(accepting, state);
}
