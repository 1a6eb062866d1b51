/** first-follow-sets: the FIRST and FOLLOW sets of a grammar, and the nonterminals whose rules are not LL(1). */
import { between } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";

export interface GrammarProblem {
  /** Alternatives of each nonterminal, upper-case letters for nonterminals. */
  rules: Record<string, string[]>;
}

/** By level: nonterminals, most symbols of an alternative, least and most rounds of the two fixpoints. */
const SIZES = [
  [2, 2, 4, 5],
  [3, 3, 5, 6],
  [4, 3, 6, 7],
  [5, 3, 7, 8],
  [7, 4, 8, 14],
] as const;
const NAMES = "SABCDEF";
const END = "$";
const FORM = `Write three kinds of lines: "FIRST(X) = ..." for each nonterminal in the order of the grammar, then "FOLLOW(X) = ..." for each, then "conflict = ..." with the nonterminals that have two alternatives which one token of lookahead cannot tell apart. Members of a set stand in alphabetical order without anything between them; in FIRST a trailing ~ says that the nonterminal derives the empty string, in FOLLOW a leading ${END} is the end of the input; a set without members is -.`;

export const firstFollowSets = itemRow<GrammarProblem>({
  id: "first-follow-sets",
  asks: "FIRST and FOLLOW of the nonterminals of a grammar, and which of them are not LL(1)",
  form: "lines",
  tries: 40,
  make,
  prompts: [
    (one) =>
      `Grammar (start symbol S; lower-case letters are tokens; an alternative written as ~ is empty):\n\n${text(one)}\n\nCompute FIRST and FOLLOW. ${FORM}`,
    (one) =>
      `${FORM}\n\nThe grammar, which begins with S, has capital letters as nonterminals, and ~ for the empty string:\n\n${text(one)}`,
    (one) =>
      `Somebody wants to write a predictive parser for\n\n${text(one)}\n\n(S is the start, ~ is empty, small letters are tokens). Prepare its table. ${FORM}`,
    (one) =>
      `Is this grammar LL(1), and with which sets?\n\n${text(one)}\n\nStart: S. Tokens: small letters. Empty alternative: ~. ${FORM}`,
  ],
});

function text({ rules }: GrammarProblem): string {
  return Object.entries(rules)
    .map(([name, all]) => `${name} -> ${all.map((one) => (one === "" ? "~" : one)).join(" | ")}`)
    .join("\n");
}

type Sets = Map<string, Set<string>>;

/** FIRST of a string of symbols, with the empty text for "derives nothing". */
function firstOf(symbols: string, first: Sets): Set<string> {
  const found = new Set<string>();
  for (const symbol of symbols) {
    const of = first.get(symbol) ?? new Set([symbol]);
    for (const token of of) if (token !== "") found.add(token);
    if (!of.has("")) return found;
  }
  return found.add("");
}

/** Rounds until nothing is added. */
function grow(sets: Sets, addAll: () => void): number {
  for (let rounds = 1; ; rounds++) {
    const before = [...sets.values()].reduce((sum, set) => sum + set.size, 0);
    addAll();
    if ([...sets.values()].reduce((sum, set) => sum + set.size, 0) === before) return rounds;
  }
}

function solve(rules: GrammarProblem["rules"], knowsEmpty = true): { first: Sets; follow: Sets; rounds: number } {
  const entries = Object.entries(rules);
  const first: Sets = new Map(entries.map(([name]) => [name, new Set<string>()]));
  const follow: Sets = new Map(entries.map(([name], index) => [name, new Set(index === 0 ? [END] : [])]));
  const firsts = grow(first, () => {
    for (const [name, all] of entries)
      for (const one of all) for (const token of firstOf(one, first)) first.get(name)?.add(token);
  });
  const follows = grow(follow, () => {
    for (const [name, all] of entries)
      for (const one of all)
        for (const [place, symbol] of one.split("").entries()) {
          const rest = firstOf(one.slice(place + 1), first);
          for (const token of rest) if (token !== "") follow.get(symbol)?.add(token);
          if (rest.has("") && (knowsEmpty || place === one.length - 1))
            for (const token of follow.get(name) ?? []) follow.get(symbol)?.add(token);
        }
  });
  return { first, follow, rounds: firsts + follows };
}

function linesOf(rules: GrammarProblem["rules"], { first, follow }: { first: Sets; follow: Sets }): string[] {
  const shown = (set: ReadonlySet<string>): string => {
    const tokens = [...set].filter((token) => token !== "").toSorted();
    return tokens.join("") + (set.has("") ? "~" : "") || "-";
  };
  const names = Object.keys(rules);
  const conflicts = names.filter((name) => {
    const seen = new Set<string>();
    return at([rules[name] ?? []], 0).some((one) => {
      const starts = firstOf(one, first);
      const tokens = [...starts, ...(starts.has("") ? (follow.get(name) ?? []) : [])].filter((token) => token !== "");
      const isTwice = tokens.some((token) => seen.has(token));
      for (const token of tokens) seen.add(token);
      return isTwice;
    });
  });
  return [
    ...names.map((name) => `FIRST(${name}) = ${shown(first.get(name) ?? new Set())}`),
    ...names.map((name) => `FOLLOW(${name}) = ${shown(follow.get(name) ?? new Set())}`),
    `conflict = ${conflicts.join("") || "-"}`,
  ];
}

/** Whether every nonterminal derives a string of tokens and is met from S. */
function isUseful(rules: GrammarProblem["rules"]): boolean {
  const made = new Set<string>();
  const isMade = (one: string): boolean => one.split("").every((symbol) => !(symbol in rules) || made.has(symbol));
  for (const _ of Object.keys(rules))
    for (const [name, all] of Object.entries(rules)) if (all.some(isMade)) made.add(name);
  const met = new Set(["S"]);
  for (const name of met) for (const symbol of (rules[name] ?? []).join("")) if (symbol in rules) met.add(symbol);
  const count = Object.keys(rules).length;
  return made.size === count && met.size === count;
}

function make(rng: Rng, level: Level) {
  const [count, longest, least, most] = at(SIZES, level - 1);
  const names = NAMES.slice(0, count).split("");
  const tokens = "abcdxyz".slice(0, count + 2);
  const rules = Object.fromEntries(
    names.map((name) => {
      const all = range(between(rng, 1, 3)).map(() =>
        range(between(rng, 1, longest))
          .map(() => (rng.integer(2) === 0 ? rng.pick(names) : rng.pick(tokens)))
          .join(""),
      );
      return [name, [...new Set(rng.integer(3) === 0 ? [...all, ""] : all)].filter((one) => one !== name)];
    }),
  );
  if (Object.values(rules).some((all) => all.length === 0) || !isUseful(rules)) return null;
  const solved = solve(rules);
  if (solved.rounds < least || solved.rounds > most) return null;
  const items = linesOf(rules, solved);
  const hasEmpty = names.some((name) => solved.first.get(name)?.has("") === true);
  if (level >= 2 && !hasEmpty) return null;
  const plain = linesOf(rules, solve(rules, false));
  const unended = items.map((item) => item.replace(END, ""));
  const swapped = [...items.slice(count, 2 * count), ...items.slice(0, count), at(items, 2 * count)];
  return { problem: { rules }, items, misses: [plain, unended, swapped], effort: solved.rounds * count };
}
