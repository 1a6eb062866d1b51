/** regex-separating-string: the shortest string that only one of two patterns matches. */
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import type { Level } from "../../row.ts";
import { itemRow } from "../item-row.ts";
import { changedPattern, drawPattern } from "./random-pattern.ts";
import { isSame, type Machine, machineOf, patternText } from "./regular.ts";

export interface PairProblem {
  pairs: [string, string][];
}

/** By level: pairs, operators of a pattern, least and most letters of an answer. */
const SIZES = [
  [3, 2, 1, 2],
  [4, 3, 1, 4],
  [5, 5, 2, 5],
  [6, 7, 2, 6],
  [7, 9, 3, 8],
] as const;
const LETTERS = "ab";
const SAME = "same";
const MOST_CHARACTERS = 40;

export const regexSeparatingString = itemRow<PairProblem>({
  id: "regex-separating-string",
  asks: "the shortest strings that exactly one of two regular expressions matches",
  form: "list",
  tries: 5,
  make,
  prompts: [
    (one) =>
      `Each line has two regular expressions, which match whole strings over a and b.\n\n${list(one)}\n\nFor each pair find the shortest string that exactly one of them matches; of several, the first in alphabetical order. Write ${SAME} for a pair that matches the same strings. List the answers in order with commas.`,
    (one) =>
      `Compare the languages of these pairs of patterns over the letters a and b (whole strings, no anchors needed):\n\n${list(one)}\n\nAnswer per pair: the word ${SAME} if no string tells them apart, else the shortest string that one matches and the other does not, the alphabetically first if there are several. Comma-separated, ${one.pairs.length} answers.`,
    (one) =>
      `Somebody rewrote some patterns:\n\n${list(one)}\n\nFind for each rewrite the smallest counterexample: the shortest string of a's and b's (first in alphabetical order among those of its length) that is matched entirely by one side only, or ${SAME} if the two are equivalent. Give the ${one.pairs.length} results separated by commas.`,
    (one) =>
      `Which shortest string separates the two patterns of a line? Strings consist of a and b, and a pattern has to match all of the string. Ties go to the string that comes first in the alphabet. If there is none, the result is ${SAME}.\n\n${list(one)}\n\nResults in order, with commas between them.`,
  ],
});

function list({ pairs }: PairProblem): string {
  return pairs.map(([a, b], index) => `${index + 1}. ${a}   and   ${b}`).join("\n");
}

function make(rng: Rng, level: Level) {
  const [count, size, least, most] = at(SIZES, level - 1);
  const pairs: [string, string][] = [];
  const items: string[] = [];
  const slips: string[] = [];
  let effort = 0;
  for (let draw = 0; draw < 60 * count && pairs.length < count; draw++) {
    const first = drawPattern(size, LETTERS.length, rng);
    const second = range(1 + rng.integer(2)).reduce((now) => changedPattern(now, LETTERS.length, rng), first);
    const machines = [first, second].map((pattern) => machineOf(pattern, LETTERS.length));
    const texts = [first, second].map((pattern) => patternText(pattern, LETTERS));
    const [a, b] = machines;
    if (a === null || b === null || a === undefined || b === undefined) continue;
    if (texts[0] === texts[1] || texts.some((text) => text.length > MOST_CHARACTERS || text.includes("()"))) continue;
    const found = separating(a, b);
    const isWanted = found === null ? items.filter((item) => item === SAME).length < 1 && level > 1 : true;
    if (!isWanted || (found !== null && (found.word.length < least || found.word.length > most))) continue;
    if (items.includes(found?.word ?? SAME)) continue;
    pairs.push([at(texts, 0), at(texts, 1)]);
    items.push(found?.word ?? SAME);
    slips.push(found === null ? "a" : (found.word + "a").replace(/^b/u, "a"));
    effort += (found?.pairs ?? a.next.length) * level;
  }
  if (pairs.length < count) return null;
  const misses = [slips, items.map((item) => (item === SAME ? "a" : item)), items.map(() => SAME)];
  return { problem: { pairs }, items, misses, effort };
}

/** By breadth-first search of pairs of states, letters in order. */
function separating(a: Machine, b: Machine): { word: string; pairs: number } | null {
  if (isSame(a, b)) return null;
  const seen = new Set(["0,0"]);
  const queue: [number, number, string][] = [[0, 0, ""]];
  for (const [p, q, word] of queue) {
    if (a.accepting[p] !== b.accepting[q]) return { word, pairs: seen.size };
    for (const letter of range(LETTERS.length)) {
      const pair = [at(at(a.next, p), letter), at(at(b.next, q), letter)] as const;
      if (seen.has(pair.join())) continue;
      seen.add(pair.join());
      queue.push([...pair, word + at(LETTERS.split(""), letter)]);
    }
  }
  return null;
}
