/** regex-from-examples: a short pattern that matches some strings and none of their neighbours. Any such pattern is right. */
import { sample, shuffled } from "../../../../random/draws.ts";
import type { Rng } from "../../../../random/rng.ts";
import { at, range } from "../../lists.ts";
import { defineRow, type Level } from "../../row.ts";
import { changedPattern, drawPattern } from "./random-pattern.ts";
import { acceptsWord, type Machine, machineOf, parsePattern, patternText } from "./regular.ts";

interface Problem {
  matched: string[];
  refused: string[];
  most: number;
  gold: string;
  misses: string[];
  states: number;
}

/** By level: operators, strings of each kind, characters beyond those of the known pattern, least and most states. */
const SIZES = [
  [3, 7, 3, 3, 3],
  [4, 8, 2, 4, 4],
  [5, 9, 2, 5, 5],
  [7, 11, 1, 6, 7],
  [9, 13, 1, 8, 12],
] as const;
const LETTERS = "abc";
const LONGEST = 9;
/** Most draws are degenerate. */
const TRIES = 10;
const NOTATION =
  "Allowed are the letters a, b, c, . for any of them, classes such as [ab], brackets, |, *, +, ?, {n} and {n,m}. A pattern has to match the whole string.";

export const regexFromExamples = defineRow<Problem>({
  id: "regex-from-examples",
  asks: "a regular expression of few characters that matches given strings and refuses others",
  place: "answer",
  make: (rng, level) => {
    for (let turn = 0; turn < TRIES; turn++) {
      const made = draw(rng, level);
      if (made !== null) return made;
    }
    return null;
  },
  effort: ({ states, matched, gold }) => states * matched.length + gold.length,
  canonical: ({ matched, refused, most }) => ({ matched: matched.toSorted(), refused: refused.toSorted(), most }),
  prompts: [
    (one) =>
      `Find a regular expression of at most ${one.most} characters that matches all of\n\n${one.matched.join("\n")}\n\nand none of\n\n${one.refused.join("\n")}\n\n${NOTATION}`,
    (one) =>
      `${NOTATION}\n\nRefuse: ${one.refused.join(" ")}\n\nMatch: ${one.matched.join(" ")}\n\nWrite one pattern that does both; it may have ${one.most} characters, not more.`,
    (one) =>
      `Regex golf. These must match:\n${one.matched.join(", ")}\n\nThese must not:\n${one.refused.join(", ")}\n\nYour pattern has a budget of ${one.most} characters (all signs count). ${NOTATION}`,
    (one) =>
      `Somebody kept the good codes (${one.matched.join(", ")}) apart from the bad ones (${one.refused.join(", ")}) with one pattern of no more than ${one.most} characters. Give such a pattern. ${NOTATION}`,
  ],
  gold: ({ gold }) => gold,
  nearMisses: ({ misses, matched }) => [...misses, matched.join("|"), ".*", at(matched, 0)],
  score: (one, answer) => Number(answer.length <= one.most && separates(machineFor(answer), one)),
});

function machineFor(text: string): Machine | null {
  const pattern = parsePattern(text, LETTERS);
  return pattern === null ? null : machineOf(pattern, LETTERS.length);
}

function separates(machine: Machine | null, { matched, refused }: Pick<Problem, "matched" | "refused">): boolean {
  if (machine === null) return false;
  return (
    matched.every((word) => acceptsWord(machine, word, LETTERS)) &&
    refused.every((word) => !acceptsWord(machine, word, LETTERS))
  );
}

/** A word of the language by a random walk; null where the walk is long. */
function walk({ next, accepting }: Machine, rng: Rng): string | null {
  let [state, word] = [0, ""];
  for (;;) {
    if (accepting[state] === true && (word.length > 0 || rng.integer(2) === 0) && rng.integer(3) === 0) return word;
    if (word.length > LONGEST) return null;
    const letter = rng.integer(LETTERS.length);
    state = at(at(next, state), letter);
    word += at(LETTERS.split(""), letter);
  }
}

/** Words with one letter changed, left out, doubled or exchanged. */
function neighbour(word: string, rng: Rng): string {
  const place = rng.integer(word.length);
  const [before, after] = [word.slice(0, place), word.slice(place + 1)];
  return (
    before +
    rng.pick([rng.pick(LETTERS), "", at(word.split(""), place).repeat(2), `${rng.pick(LETTERS)}${word[place]}`]) +
    after
  );
}

function draw(rng: Rng, level: Level): Problem | null {
  const [size, count, slack, least, most] = at(SIZES, level - 1);
  const pattern = drawPattern(size, LETTERS.length, rng);
  const gold = patternText(pattern, LETTERS);
  const machine = machineOf(pattern, LETTERS.length);
  if (machine === null || gold.includes("()") || machine.next.length < least || machine.next.length > most) return null;
  const words = range(200).flatMap(() => walk(machine, rng) ?? []);
  const matched = sample(
    [...new Set(words)].filter((word) => word !== ""),
    count,
    rng,
  );
  if (matched.length < count) return null;
  const close = range(30 * count).map(() => neighbour(rng.pick(matched), rng));
  const wrong = [...new Set(close)].filter((word) => word !== "" && !acceptsWord(machine, word, LETTERS));
  // Neighbours that a slightly different pattern accepts teach most.
  const others = range(12).map(() => changedPattern(pattern, LETTERS.length, rng));
  const machines = others.map((other) => machineOf(other, LETTERS.length));
  const separating = wrong.filter((word) =>
    machines.some((other) => other !== null && acceptsWord(other, word, LETTERS)),
  );
  const refused = shuffled(
    [...new Set([...separating.slice(0, count - 2), ...sample(wrong, count, rng)])].slice(0, count),
    rng,
  );
  const problem = { matched, refused, most: gold.length + slack, gold, states: machine.next.length };
  const misses = others
    .map((other) => patternText(other, LETTERS))
    .filter((text) => !separates(machineFor(text), problem));
  const simple = ["a+", "[ab]*", "[bc]+", "a.*", ".*a", "b.*", ".*b", "c.*", ".*c", ".*a.*", ".*b.*", ".*c.*"];
  if (refused.length < count || simple.some((text) => separates(machineFor(text), problem))) return null;
  return matched.join("|").length <= problem.most ? null : { ...problem, misses: [...new Set(misses)].slice(0, 6) };
}
