/** word-completion: a store of words with counts that completes beginnings under described orders and rules. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const wordCompletion = variantRow({
  id: "word-completion",
  asks: "the completions that a store of counted words offers, with wildcards, forgetting and ties",
  name: "complete",
  parameters: ["operations"],
  extras: ["wildcard", "touch", "shorter", "least", "fade", "whole", "fold"],
  constants: (rng) => ({
    most: between(rng, 2, 4),
    need: between(rng, 2, 3),
    bonus: between(rng, 2, 9),
    cost: between(rng, 1, 6),
  }),
  stories: [
    "A search box offers words that begin with what was typed.",
    "A keyboard learns the words of its user and completes them.",
    "The command line of a tool suggests the commands that are used most.",
    "A form remembers entries and offers them again.",
  ],
  rules: `
["add", word] gives the word one point more; an unknown word becomes known, with 1 point.
["like", word] gives a known word {{bonus}} points more; it ignores an unknown one. ["dislike", word] takes {{cost}} points from a known word.
A word that has no points or fewer is forgotten at once.
Upper and lower case are different in words and beginnings. #!fold
All words and beginnings are first made lower case. #?fold
["type", beginning] adds the list of the words that begin with it to the result, {{most}} words at most: those with most points first, and of equal ones the alphabetically first. #!shorter
["type", beginning] adds the list of the words that begin with it to the result, {{most}} words at most: those with most points first, of equal ones the shorter, and of equally short ones the alphabetically first. #?shorter
A word that is equal to the beginning is offered like others. #!whole
A word that is equal to the beginning is never offered. #?whole
Only words with at least {{need}} points are offered. #?least
A dot in the beginning stands for any one letter. #?wildcard
The first word of an offer gets one point more, after the offer. #?touch
["night"] halves the points of all words, rounded down. #?fade
`,
  types: `
The argument is the list of operations; words have the letters a to c. #!fold
The argument is the list of operations; words have the letters a to c in both cases. #?fold
Alphabetical order is that of the code points. The result is the list of the offers.
`,
  calls(_, rng, on) {
    const letters = on("fold") ? "abcABC" : "abc";
    const word = (least: number): string =>
      range(between(rng, least, 4))
        .map(() => rng.pick(letters))
        .join("");
    const start = (): string =>
      range(between(rng, 0, 2))
        .map(() => (on("wildcard") && rng.integer(3) === 0 ? "." : rng.pick(letters)))
        .join("");
    const kinds = [..."add add add add add like dislike type type type".split(" "), ...(on("fade") ? ["night"] : [])];
    const one = (): Json => {
      const kind = rng.pick(kinds);
      return kind === "night" ? [kind] : [kind, kind === "type" ? start() : word(1)];
    };
    const some = (length: number): Json[][] => range(6).map(() => [[...range(length).map(one), ["type", ""]]]);
    return { short: some(14), medium: some(25), long: some(40), longest: some(60) };
  },
  solve([operations]: readonly [readonly (readonly string[])[]], { most, need, bonus, cost }, on) {
    const points = new Map<string, number>();
    const out: Json[] = [];
    const give = (word: string, by: number): void => {
      const next = (points.get(word) ?? 0) + by;
      if (next > 0) points.set(word, next);
      else points.delete(word);
    };
    for (const [kind = "", raw = ""] of operations) {
      const text = on("fold") ? raw.toLowerCase() : raw;
      if (kind === "add" || points.has(text)) {
        if (kind === "add") give(text, 1);
        if (kind === "like") give(text, bonus);
        if (kind === "dislike") give(text, -cost);
      }
      if (kind === "night") for (const [word, now] of points) give(word, Math.floor(now / 2) - now);
      if (kind !== "type") continue;
      const begins = (word: string): boolean =>
        word.length >= text.length &&
        range(text.length).every((index) => word[index] === text[index] || (on("wildcard") && text[index] === "."));
      const offer = [...points]
        .filter(([word, now]) => begins(word) && !(on("least") && now < need) && !(on("whole") && word === text))
        .toSorted(
          ([a, x], [b, y]) => y - x || (on("shorter") ? a.length - b.length : 0) || (a < b ? -1 : a > b ? 1 : 0),
        )
        .slice(0, most)
        .map(([word]) => word);
      out.push(offer);
      if (on("touch") && offer[0] !== undefined) give(offer[0], 1);
    }
    return out;
  },
  python: `
import re #?wildcard

def complete(operations):
    points, out = {}, []

    def give(word, by):
        points[word] = points.get(word, 0) + by
        if points[word] <= 0:
            del points[word]

    for kind, *rest in operations:
        text = rest[0] if rest else ""
        text = text.lower() #?fold
        if kind == "add":
            give(text, 1)
        elif kind == "like" and text in points:
            give(text, {{bonus}})
        elif kind == "dislike" and text in points:
            give(text, -{{cost}})
        elif kind == "night": #?fade
            points = {word: now // 2 for word, now in points.items() if now > 1} #?fade
        elif kind == "type":
            offer = [word for word in points if word.startswith(text)] #!wildcard
            offer = [word for word in points if re.match(text, word)] #?wildcard
            offer = [word for word in offer if word != text] #?whole
            offer = [word for word in offer if points[word] >= {{need}}] #?least
            offer.sort()
            offer.sort(key=len) #?shorter
            offer.sort(key=points.get, reverse=True)
            out.append(offer[:{{most}}])
            for word in offer[:1]: #?touch
                give(word, 1) #?touch
    return out
`,
});
