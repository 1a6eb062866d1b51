/** recent-first-ranks: ranks of letters in a list that changes with use, and the way back. */
import { between, shuffled } from "../../../../random/draws.ts";
import { at, range } from "../../lists.ts";
import { variantRow } from "../variant-row.ts";

export const recentFirstRanks = variantRow({
  id: "recent-first-ranks",
  asks: "the text behind ranks in a list of letters that reorders itself under described rules",
  name: "text_of",
  parameters: ["ranks"],
  extras: ["half", "cycle", "repeat", "freeze", "swap", "reset", "negative"],
  constants: (rng) => ({
    letters: shuffled("abcdefghijklmnop", rng).slice(0, 10).join(""),
    period: between(rng, 4, 9),
    frozen: between(rng, 1, 3),
    add: between(rng, 1, 6),
  }),
  stories: [
    "A compressor replaces letters by their ranks in a list; the decoder is lost.",
    "A wheel with letters turns after each letter that it prints.",
    "Old messages are lists of numbers, made with a list of letters that was changed all the time.",
    "The printer of a toy has a drum whose letters move.",
  ],
  rules: `
The list of letters is at first {{letters}}; ranks count from 0.
Each rank r stands for the letter at rank r of the list. #!cycle
Each rank r stands for the letter at the rank that is the remainder of r + {{add}} * i divided by 10, where i is the number of ranks before it. #?cycle
A rank below 0 counts from the end: -1 is the last letter. #?negative
After each letter, the letter moves to rank 0, and those before it move up by one. #!half #!swap
After each letter, the letter moves to half of its rank (rounded down), and those that it passes move up by one. #?half #!swap
After each letter, the letter changes places with the letter at rank 0. #!half #?swap
After each letter, the letter changes places with the letter at half of its rank, rounded down. #?half #?swap
A letter at one of the ranks below {{frozen}} does not move. #?freeze
A letter that is equal to the one printed before it is printed in upper case. #?repeat
After every {{period}} letters the list is reversed. #?reset
`,
  types: `
The argument is a list of whole numbers from 0 to 9. The result is the text of the letters. #!negative
The argument is a list of whole numbers from -10 to 9. The result is the text of the letters. #?negative
`,
  calls(_, rng, on) {
    const rank = (size: number): number =>
      on("negative") && rng.integer(3) === 0 ? -1 - rng.integer(size) : rng.integer(size);
    const some = (least: number, most: number, size: number): number[][][] =>
      range(6).map(() => [range(between(rng, least, most)).map(() => rank(size))]);
    return { short: some(3, 7, 10), low: some(8, 14, 3), long: some(15, 25, 10), longest: some(40, 60, 6) };
  },
  solve([ranks]: readonly [readonly number[]], { letters, period, frozen, add }, on) {
    let list = Array.from(letters);
    let [out, last] = ["", ""];
    for (const [index, given] of ranks.entries()) {
      const counted = given < 0 ? given + 10 : given;
      const rank = on("cycle") ? (counted + add * index) % 10 : counted;
      const letter = at(list, rank);
      out += on("repeat") && letter === last ? letter.toUpperCase() : letter;
      last = letter;
      const target = on("half") ? Math.floor(rank / 2) : 0;
      if (!(on("freeze") && rank < frozen)) {
        if (on("swap")) [list[rank], list[target]] = [at(list, target), letter];
        else {
          list.splice(rank, 1);
          list.splice(target, 0, letter);
        }
      }
      if (on("reset") && (index + 1) % period === 0) list = list.toReversed();
    }
    return out;
  },
  python: `
def text_of(ranks):
    letters, out, last = list("{{letters}}"), [], None
    for i, r in enumerate(ranks):
        r %= 10 #?negative
        r = (r + {{add}} * i) % 10 #?cycle
        c = letters[r]
        out.append(c.upper() if c == last else c) #?repeat
        out.append(c) #!repeat
        last = c
        target = r // 2 #?half
        target = 0 #!half
        if r >= {{frozen}}: #?freeze
        if True: #!freeze
            letters[r], letters[target] = letters[target], letters[r] #?swap
            letters.insert(target, letters.pop(r)) #!swap
        if (i + 1) % {{period}} == 0: #?reset
            letters.reverse() #?reset
    return "".join(out)
`,
});
