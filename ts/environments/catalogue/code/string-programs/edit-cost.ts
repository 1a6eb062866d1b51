/** edit-cost: the least cost of changing one text into another with described operations. */
import { between } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { variantRow } from "../variant-row.ts";

export const editCost = variantRow({
  id: "edit-cost",
  asks: "the least cost of turning one text into another with described operations and prices",
  name: "cost",
  parameters: ["source", "target"],
  extras: ["swap", "double", "vowels", "case", "head", "run"],
  constants: (rng) => ({
    insert: between(rng, 2, 7),
    remove: between(rng, 2, 7),
    change: between(rng, 3, 11),
    small: between(rng, 1, 2),
    head: between(rng, 2, 6),
  }),
  stories: [
    "A spelling checker ranks its proposals by cost.",
    "Two versions of a gene are compared.",
    "Names on forms are matched although they have typing errors.",
    "A game scores how far a guess is from the word.",
  ],
  rules: `
Source is turned into target by steps that work from the left to the right; each character of source and each of target belongs to exactly one step. The result is the least sum of the costs of the steps.
Keeping a character costs nothing. Inserting one costs {{insert}}, removing one {{remove}}, changing one into another {{change}}.
Changing an upper case letter into the same letter in lower case, or the other way, costs {{small}} only. #?case
Changing a vowel (a, e, i, o, u) into another vowel of the same case costs {{small}} + 1. #?vowels
Two characters that stand next to each other in source may change places for {{small}}, if they then are the two characters of target; nothing else happens to them. #?swap
Removing two equal characters next to each other in one step costs {{remove}}, as one character. #?double
Each step that inserts or removes before the first character of target is complete (that is, while no character of target belongs to a step before it) costs {{head}} more. #?head
Removing costs 1 less if the character is equal to the one before it in source. #?run
`,
  types: `
Both arguments are texts of letters, which may be empty. The result is a whole number.
`,
  calls(_, rng) {
    const word = (length: number): string =>
      range(length)
        .map(() => rng.pick("aabeiotTBAE"))
        .join("");
    const near = (length: number): string[] => {
      const text = word(length);
      const place = rng.integer(length);
      return [text, text.slice(0, place) + word(rng.integer(3)) + text.slice(place + rng.integer(3))];
    };
    return {
      short: range(7).map(() => [word(between(rng, 1, 4)), word(between(rng, 1, 4))]),
      near: range(7).map(() => near(8)),
      far: range(7).map(() => [word(8), word(9)]),
      long: range(5).map(() => near(18)),
    };
  },
  solve([source, target]: readonly [string, string], { insert, remove, change, small, head }, on) {
    const price = (a: string, b: string): number => {
      if (a === b) return 0;
      if (on("case") && a.toLowerCase() === b.toLowerCase()) return small;
      const isVowel = ["aeiou", "AEIOU"].some((vowels) => vowels.includes(a) && vowels.includes(b));
      return on("vowels") && isVowel ? small + 1 : change;
    };
    const table = range(source.length + 1).map(() => range(target.length + 1).map(() => Infinity));
    const cell = (i: number, j: number): number => (i < 0 || j < 0 ? Infinity : at(at(table, i), j));
    for (const i of range(source.length + 1))
      for (const j of range(target.length + 1)) {
        const [a, b] = [source.charAt(i - 1), target.charAt(j - 1)];
        const isSame = i > 1 && a === source.charAt(i - 2);
        const extra = (before: number): number => (on("head") && before === 0 ? head : 0);
        let best = i === 0 && j === 0 ? 0 : Infinity;
        best = Math.min(best, cell(i - 1, j) + remove - (on("run") && isSame ? 1 : 0) + extra(j));
        best = Math.min(best, cell(i, j - 1) + insert + extra(j - 1));
        if (i > 0 && j > 0) best = Math.min(best, cell(i - 1, j - 1) + price(a, b));
        if (on("double") && isSame) best = Math.min(best, cell(i - 2, j) + remove + extra(j));
        if (on("swap") && i > 1 && j > 1 && a === target.charAt(j - 2) && b === source.charAt(i - 2))
          best = Math.min(best, cell(i - 2, j - 2) + small);
        const row = at(table, i);
        row[j] = best;
      }
    return cell(source.length, target.length);
  },
  python: `
from functools import cache

def cost(source, target):
    def change(a, b):
        if a == b:
            return 0
        if a.lower() == b.lower(): #?case
            return {{small}} #?case
        if any(a in v and b in v for v in ("aeiou", "AEIOU")): #?vowels
            return {{small}} + 1 #?vowels
        return {{change}}

    @cache
    def least(i, j):  # from here to the ends
        if i == len(source) and j == len(target):
            return 0
        extra = 0
        extra = {{head}} if j == 0 else 0 #?head
        ways = []
        if i < len(source):
            price = {{remove}} + extra
            price -= i > 0 and source[i] == source[i - 1] #?run
            ways.append(price + least(i + 1, j))
        if source[i:i + 2] == source[i:i + 1] * 2 and i < len(source): #?double
            ways.append({{remove}} + extra + least(i + 2, j)) #?double
        if j < len(target):
            ways.append({{insert}} + extra + least(i, j + 1))
        if i < len(source) and j < len(target):
            ways.append(change(source[i], target[j]) + least(i + 1, j + 1))
            if len(target) - j > 1 and source[i:i + 2] == target[j:j + 2][::-1]: #?swap
                ways.append({{small}} + least(i + 2, j + 2)) #?swap
        return min(ways)

    return least(0, 0)
`,
});
