/** ambiguous-string: a string for which a small grammar has two parse trees or more. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { witnessRow } from "../witness-row.ts";

/** Capital letters are nonterminals; S is the start. */
export interface GrammarProblem {
  rules: { head: string; bodies: string[] }[];
  most: number;
}

/** By level: nonterminals, bodies of each, least length of the shortest ambiguous string. */
const SIZES = [
  [1, 3, 2],
  [2, 2, 3],
  [2, 3, 4],
  [3, 3, 5],
  [4, 3, 6],
] as const;
const LONGEST = 9;
/** Strings of a length that are looked at. */
const MOST_STRINGS = 400;

export const ambiguousString = witnessRow<GrammarProblem>({
  id: "ambiguous-string",
  asks: "a short string with two parse trees of an ambiguous grammar",
  form: "list",
  tries: 200,
  make,
  isRight: ({ rules, most }, items) => {
    const [word = "", ...more] = items;
    return more.length === 0 && word.length <= most && /^[a-c]+$/u.test(word) && treesOf(rules, word) > 1;
  },
  prompts: [
    (one) =>
      `${text(one)}\n\nThe start symbol is S. Find a string of at most ${one.most} letters with at least two different parse trees. Write the string alone.`,
    (one) =>
      `Show that this grammar (start S, terminals in lower case) is ambiguous:\n\n${text(one)}\n\nGive a terminal string of length ${one.most} or less that has two leftmost derivations, without spaces.`,
    (one) =>
      `A parser generator reports a conflict for\n\n${text(one)}\n\nWhich input, at most ${one.most} letters long, can be parsed from S in more than one way? Answer with the input.`,
    (one) =>
      `Ambiguity witness wanted: a word w over the small letters, |w| <= ${one.most}, with two parse trees rooted in S.\n\n${text(one)}\n\nState w only.`,
  ],
});

function text({ rules }: GrammarProblem): string {
  return rules
    .map(({ head, bodies }) => `${head} -> ${bodies.map((body) => body.split("").join(" ")).join(" | ")}`)
    .join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, size, least] = at(SIZES, level - 1);
  const heads = "SABC".slice(0, count).split("");
  const letters = level < 3 ? "ab" : "abc";
  const body = (): string => {
    const length = rng.pick([2, 2, 3, 3]);
    const word = range(length)
      .map(() => (rng.integer(2) === 0 ? rng.pick(heads) : rng.pick(letters)))
      .join("");
    return /^[A-Z]+$/u.test(word) && rng.integer(3) > 0 ? `${rng.pick(letters)}${word.slice(1)}` : word;
  };
  const rules = heads.map((head) => ({
    head,
    bodies: [...new Set([rng.pick(letters), ...range(size - 1).map(body)])],
  }));
  if (
    rules.some(({ bodies }) => bodies.length < 2) ||
    heads
      .slice(1)
      .some((head) => !rules.some((rule) => rule.head !== head && rule.bodies.some((one) => one.includes(head))))
  )
    return null;
  const strings = stringsOf(rules);
  if (strings === null) return null;
  let tried = 0;
  const found = strings.find((one) => {
    tried += 1;
    return treesOf(rules, one) > 1;
  });
  if (found === undefined || found.length < least) return null;
  const problem = { rules, most: found.length + (level > 3 ? 1 : 0) };
  const others = strings
    .filter((one) => one !== found)
    .slice(0, tried)
    .slice(-4);
  return {
    problem,
    witness: [found],
    misses: [...others.map((one) => [one]), [`${found}a`], [found.split("").toReversed().join("")]],
    effort: tried + found.length * rules.length * 3,
  };
}

/** Strings of S by length; null where there are too many of one length. */
function stringsOf(rules: GrammarProblem["rules"]): string[] | null {
  const byHead = new Map(rules.map(({ head }) => [head, new Map<number, Set<string>>()]));
  const ofLength = (symbol: string, length: number): readonly string[] => {
    if (symbol === symbol.toLowerCase()) return length === 1 ? [symbol] : [];
    return [...(byHead.get(symbol)?.get(length) ?? [])];
  };
  const bodies = (body: string, length: number): string[] => {
    const [first, rest] = [body.charAt(0), body.slice(1)];
    if (rest === "") return [...ofLength(first, length)];
    return range(length - rest.length).flatMap((index) => {
      const fronts = ofLength(first, index + 1);
      return fronts.length === 0
        ? []
        : fronts.flatMap((front) => bodies(rest, length - index - 1).map((back) => `${front}${back}`));
    });
  };
  for (const length of range(LONGEST).map((index) => index + 1))
    for (const { head, bodies: all } of rules) {
      // Bodies with one symbol are terminals, so longer strings only need shorter ones.
      const strings = new Set(all.flatMap((body) => bodies(body, length)));
      if (strings.size > MOST_STRINGS) return length > 4 ? sorted(byHead, rules) : null;
      byHead.get(head)?.set(length, strings);
    }
  return sorted(byHead, rules);
}

function sorted(
  byHead: ReadonlyMap<string, ReadonlyMap<number, ReadonlySet<string>>>,
  rules: GrammarProblem["rules"],
): string[] {
  return [...(byHead.get(at(rules, 0).head)?.values() ?? [])].flatMap((strings) => [...strings].toSorted());
}

/** The number of parse trees of a text from S, counted up to 2 for each part. */
function treesOf(rules: GrammarProblem["rules"], whole: string): number {
  const known = new Map<string, number>();
  const count = (body: string, from: number, to: number): number => {
    if (body === "") return Number(from === to);
    if (to - from < body.length) return 0;
    const key = `${body} ${from} ${to}`;
    const stored = known.get(key);
    if (stored !== undefined) return stored;
    const first = body.charAt(0);
    let trees = 0;
    if (body.length === 1 && first !== first.toLowerCase())
      for (const one of rules.find(({ head }) => head === first)?.bodies ?? []) trees += count(one, from, to);
    else if (first === first.toLowerCase()) trees = whole[from] === first ? count(body.slice(1), from + 1, to) : 0;
    else
      for (let cut = from + 1; cut <= to - body.length + 1; cut++)
        trees += Math.min(2, count(first, from, cut)) * count(body.slice(1), cut, to);
    trees = Math.min(2, trees);
    known.set(key, trees);
    return trees;
  };
  return count("S", 0, whole.length);
}
