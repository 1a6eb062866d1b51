/** regex-from-prose: a pattern for the strings that satisfy several rules at once. Equality of the languages decides. */
import { between, sample } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";
import { explore, isSame, type Machine, machineOf, parsePattern } from "./regular.ts";

type Kind = "count" | "least" | "most" | "starts" | "ends" | "contains" | "avoids" | "length" | "run";
export interface Rule {
  kind: Kind;
  letter: string;
  word: string;
  by: number;
  rest: number;
}
export interface LanguageProblem {
  letters: string;
  rules: Rule[];
  gold: string;
  /** The smallest one of the language. */
  machine: Machine;
}

/** By level: rules, least and most states of the smallest machine. */
const SIZES = [
  [1, 3, 4],
  [2, 4, 5],
  [2, 6, 7],
  [3, 8, 9],
  [3, 10, 13],
] as const;
const KINDS: readonly Kind[] = ["count", "least", "most", "starts", "ends", "contains", "avoids", "length", "run"];
const LONGEST = 300;
const NOTATION =
  "A pattern may use letters, . (any letter of the alphabet), classes such as [ab], brackets, |, *, +, ?, {n} and {n,m}. It must match whole strings, so there are no anchors, and it has no spaces and at most 600 characters.";

export const regexFromProse = defineRow<LanguageProblem>({
  id: "regex-from-prose",
  asks: "a regular expression for exactly the strings that satisfy several rules",
  place: "answer",
  make,
  effort: ({ machine }) => machine.next.length,
  canonical: ({ letters, rules }) => ({ letters, rules: rules.map(ruleText).toSorted() }),
  prompts: [
    (one) =>
      `Write a regular expression over ${alphabet(one)} that matches exactly the strings with ${one.rules.length === 1 ? "this property" : "all of these properties"}:\n\n${list(one)}\n\n${NOTATION} The language must be equal, to the last string.`,
    (one) =>
      `${NOTATION}\n\nAlphabet: ${alphabet(one)}. Wanted is a pattern for the set of strings such that\n\n${list(one)}\n\nIt must match every such string and no other.`,
    (one) =>
      `A form takes only codes made of ${alphabet(one)}. A code is valid if\n\n${list(one)}\n\nGive one regular expression that accepts the valid codes and refuses the rest. ${NOTATION}`,
    (one) =>
      `Rules for strings over ${alphabet(one)}:\n\n${list(one)}\n\nExpress them in a single pattern. ${NOTATION} It is compared with the rules on all strings of any length, the empty one included.`,
  ],
  gold: ({ gold }) => gold,
  nearMisses: (one) => {
    const others = one.rules.flatMap((rule, index) =>
      slips(rule).map((slip) => one.rules.map((other, place) => (place === index ? slip : other))),
    );
    const slipped = [...others, ...one.rules.map((rule) => [rule])].flatMap((rules) => {
      const machine = machineOfRules(rules, one.letters);
      return (machine === null ? null : textOf(machine, one.letters)) ?? [];
    });
    const repeated = [`(${one.gold})?`, `(${one.gold})*`, `(${one.gold}){2}`, ".*", `.(${one.gold})`];
    return [...slipped, ...repeated].filter((text) => {
      const pattern = parsePattern(text, one.letters);
      const machine = pattern === null ? null : machineOf(pattern, one.letters.length);
      return machine !== null && !isSame(machine, one.machine);
    });
  },
  variants: ({ gold }) => [`(${gold})`, `(${gold}){1}`],
  score: ({ letters, machine: right }, answer) => {
    const pattern = parsePattern(answer, letters);
    const machine = pattern === null ? null : machineOf(pattern, letters.length);
    return machine !== null && isSame(machine, right) ? 1 : 0;
  },
});

function alphabet({ letters }: LanguageProblem): string {
  return `the letters ${letters.split("").join(", ")}`;
}

function list({ rules }: LanguageProblem): string {
  return rules.map((rule) => `- ${ruleText(rule)}`).join("\n");
}

function ruleText({ kind, letter, word, by, rest }: Rule): string {
  return {
    count: `the number of ${letter}'s leaves the remainder ${rest} when it is divided by ${by}`,
    least: `there are at least ${by} ${letter}'s`,
    most: `there are at most ${by} ${letter}'s`,
    starts: `the string begins with ${word}`,
    ends: `the string ends with ${word}`,
    contains: `${word} occurs in the string, as neighbouring letters`,
    avoids: `${word} does not occur in the string as neighbouring letters`,
    length: `the length leaves the remainder ${rest} when it is divided by ${by}`,
    run: `nowhere do more than ${by} equal letters stand side by side`,
  }[kind];
}

function drawRule(letters: string, rng: Rng): Rule {
  const kind = rng.pick(KINDS);
  const by = kind === "count" || kind === "length" ? between(rng, 2, 3) : between(rng, 1, 3);
  const word = range(between(rng, 2, 3))
    .map(() => rng.pick(letters))
    .join("");
  return { kind, letter: rng.pick(letters), word, by, rest: rng.integer(by) };
}

/** What a careless reader understands. */
function slips(rule: Rule): Rule[] {
  const { kind, word, by, rest } = rule;
  if (kind === "count" || kind === "length")
    return [
      { ...rule, rest: (rest + 1) % by },
      { ...rule, by: by + 1 },
    ];
  if (kind === "least" || kind === "most" || kind === "run")
    return [
      { ...rule, by: by + 1 },
      { ...rule, by: Math.max(1, by - 1) },
    ];
  const turned = word.split("").reverse().join("");
  return [
    { ...rule, word: turned },
    { ...rule, kind: kind === "starts" ? "ends" : kind === "ends" ? "contains" : "starts" },
  ];
}

/** Whether a rule holds depends on a small state of what was read. */
function machineOfRules(rules: readonly Rule[], letters: string): Machine | null {
  return explore(
    rules.map((rule) => (rule.kind === "run" ? [0, -1] : [0, 0])),
    {
      letters: letters.length,
      step: (states, letter) =>
        states.map((state, index) => stepOf(at(rules, index), state, at(letters.split(""), letter), letter)),
      accepts: (states) => states.every(([first = 0], index) => holds(at(rules, index), first)),
    },
  );
}

function stepOf(
  { kind, letter, word, by }: Rule,
  [first = 0, second = 0]: readonly number[],
  read: string,
  code: number,
): number[] {
  const hit = Number(read === letter);
  if (kind === "count") return [(first + hit) % by, 0];
  if (kind === "length") return [(first + 1) % by, 0];
  if (kind === "least" || kind === "most") return [Math.min(by + 1, first + hit), 0];
  if (kind === "run")
    return first > by ? [first, 0] : [second === code ? first + 1 : 1, second === code && first === by ? 0 : code];
  if (kind === "starts") {
    if (first < 0 || first === word.length) return [first, 0];
    return [word[first] === read ? first + 1 : -1, 0];
  }
  if (kind !== "ends" && first === word.length) return [first, 0];
  const text = word.slice(0, first) + read;
  for (let size = Math.min(word.length, text.length); size > 0; size--)
    if (text.endsWith(word.slice(0, size))) return [size, 0];
  return [0, 0];
}

function holds({ kind, word, by, rest }: Rule, first: number): boolean {
  if (kind === "count" || kind === "length") return first === rest;
  if (kind === "least") return first >= by;
  if (kind === "most" || kind === "run") return first <= by;
  return kind === "avoids" ? first !== word.length : first === word.length;
}

function make(rng: Rng, level: Level): LanguageProblem | null {
  const [count, least, most] = at(SIZES, level - 1);
  const letters = level < 4 ? "ab" : rng.pick(["ab", "abc"]);
  const rules = range(count).map(() => drawRule(letters, rng));
  const machine = machineOfRules(rules, letters);
  if (machine === null || machine.next.length < least || machine.next.length > most) return null;
  // Each rule matters, and it is not the only one that does.
  const without = rules.map((_, index) =>
    machineOfRules(
      rules.filter((__, place) => place !== index),
      letters,
    ),
  );
  if (without.some((other) => other === null || isSame(other, machine))) return null;
  const gold = textOf(machine, letters);
  return gold === null ? null : { letters, rules: sample(rules, count, rng), gold, machine };
}

/** A pattern of a machine by elimination of states, those with the shortest detours first; null where it is long or the language empty. */
function textOf({ next, accepting }: Machine, letters: string): string | null {
  const [start, end] = [next.length, next.length + 1];
  const edges = new Map<string, string>();
  const key = (from: number, to: number): string => `${from},${to}`;
  const join = (from: number, to: number, text: string): void => {
    const known = edges.get(key(from, to));
    edges.set(key(from, to), known === undefined ? text : `${known}|${text}`);
  };
  for (const [state, row] of next.entries())
    for (const [letter, to] of row.entries()) join(state, to, letters[letter] ?? "");
  edges.set(key(start, 0), "");
  for (const [state, isEnd] of accepting.entries()) if (isEnd) edges.set(key(state, end), "");
  const left = new Set(range(next.length));
  const group = (text: string): string => (/[|]/u.test(text) || text === "" ? `(${text})` : text);
  while (left.size > 0) {
    const ways = (state: number): { from: number; to: number; text: string }[] => {
      const others = [...left, start, end].filter((other) => other !== state);
      const loop = edges.get(key(state, state));
      const middle = loop === undefined ? "" : loop.length === 1 ? `${loop}*` : `(${loop})*`;
      return others.flatMap((from) =>
        others.flatMap((to) => {
          const [into, out] = [edges.get(key(from, state)), edges.get(key(state, to))];
          if (into === undefined || out === undefined) return [];
          const [a, b] = [into === "" ? "" : group(into), out === "" ? "" : group(out)];
          return [{ from, to, text: a + middle + b }];
        }),
      );
    };
    const [first] = [...left]
      .map((state) => ({ state, all: ways(state) }))
      .toSorted((a, b) => weight(a.all) - weight(b.all));
    if (first === undefined) return null;
    left.delete(first.state);
    for (const { from, to, text } of first.all) join(from, to, text);
    for (const one of edges.keys()) if (one.split(",").includes(String(first.state))) edges.delete(one);
    if ([...edges.values()].some((text) => text.length > LONGEST)) return null;
  }
  return edges.get(key(start, end)) ?? null;
}

function weight(ways: readonly { readonly text: string }[]): number {
  return ways.reduce((sum, { text }) => sum + text.length, 0);
}
