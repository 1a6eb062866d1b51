/** word-puzzle-marks: the marks that guesses of a word game get under described rules. */
import { between } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import type { Json } from "../json.ts";
import { variantRow } from "../variant-row.ts";

export const wordPuzzleMarks = variantRow({
  id: "word-puzzle-marks",
  asks: "the marks and points of guesses in a word game with repeated letters, hints and neighbours",
  name: "marks",
  parameters: ["word", "guesses"],
  extras: ["near", "strict", "shift", "points", "known", "right-first"],
  constants: (rng) => ({
    hit: rng.pick("#@*"),
    near: rng.pick("+~o"),
    miss: rng.pick(".-_"),
    wide: between(rng, 1, 3),
    full: between(rng, 4, 13),
    part: between(rng, 2, 5),
  }),
  stories: [
    "A word game shows how good each guess was.",
    "A lock opens to a word, and gives hints.",
    "Two players guess each other's words by a set of rules.",
    "A programme for language learners marks the letters of an answer.",
  ],
  rules: `
Each letter of a guess gets a mark. A letter that is equal to the letter of the word at the same place gets {{hit}}.
The other letters are then looked at from the left to the right: a letter that occurs in the word at a place that has not been used gets {{near}}, and uses the first such place; places with {{hit}} are used from the beginning. #!strict #!right-first
The other letters are then looked at from the right to the left: a letter that occurs in the word at a place that has not been used gets {{near}}, and uses the first such place; places with {{hit}} are used from the beginning. #!strict #?right-first
Each other letter that occurs anywhere in the word gets {{near}}, however often it occurs. #?strict
But a letter gets {{near}} only if such a place is at most {{wide}} places away from its place; other places do not count for it. #?near
All other letters get {{miss}}.
Letters that follow on one another in the alphabet (a and b, b and c, ...) at the same place get ^ where they would get {{miss}}. #?shift
After the marks of a guess come a blank and its points: {{full}} for each {{hit}} and {{part}} for each {{near}}. #?points
If a guess has a letter at a place where an earlier guess had the same letter with {{miss}}, its marks are "again" only, and it is not looked at further. #?known
`,
  types: `
The arguments are the word and the list of the guesses, all with the same number of letters from a to e. The result is the list of the texts of marks, one for each guess.
`,
  calls(_, rng) {
    const word = (length: number): string =>
      range(length)
        .map(() => rng.pick("abcde"))
        .join("");
    const some = (length: number, count: number): Json[][] =>
      range(7).map(() => [word(length), range(count).map(() => word(length))]);
    return { four: some(4, 3), five: some(5, 4), seven: some(7, 4), long: some(11, 3) };
  },
  solve([word, guesses]: readonly [string, readonly string[]], { hit, near, miss, wide, full, part }, on) {
    const wrong = new Set<string>();
    return guesses.map((guess) => {
      const letters = Array.from(guess);
      if (on("known") && letters.some((letter, place) => wrong.has(`${place}${letter}`))) return "again";
      const out = letters.map((letter, place) => (word.charAt(place) === letter ? hit : ""));
      const used = out.map((mark) => mark === hit);
      const order = range(letters.length);
      for (const place of on("right-first") ? order.toReversed() : order) {
        if (out[place] === hit) continue;
        const found = order.find(
          (other) =>
            word.charAt(other) === letters[place] &&
            (on("strict") || !(used[other] ?? true)) &&
            (!on("near") || Math.abs(other - place) <= wide),
        );
        const isNext = Math.abs(word.charCodeAt(place) - guess.charCodeAt(place)) === 1;
        out[place] = found !== undefined ? near : on("shift") && isNext ? "^" : miss;
        if (found !== undefined) used[found] = true;
        if (out[place] === miss) wrong.add(`${place}${letters[place] ?? ""}`);
      }
      const count = (mark: string): number => out.filter((one) => one === mark).length;
      return out.join("") + (on("points") ? ` ${full * count(hit) + part * count(near)}` : "");
    });
  },
  python: `
def marks(word, guesses):
    out, wrong = [], set()
    for guess in guesses:
        if any(pair in wrong for pair in enumerate(guess)): #?known
            out.append("again") #?known
            continue #?known
        free = [i for i, (a, b) in enumerate(zip(word, guess)) if a != b]
        row = ["{{hit}}"] * len(guess)
        for i in free[:]: #!right-first
        for i in free[::-1]: #?right-first
            places = [j for j in free if word[j] == guess[i]] #!strict
            places = [j for j in range(len(word)) if word[j] == guess[i]] #?strict
            places = [j for j in places if abs(i - j) <= {{wide}}] #?near
            if places:
                row[i] = "{{near}}"
                free.remove(places[0]) #!strict
            elif abs(ord(word[i]) - ord(guess[i])) == 1: #?shift
                row[i] = "^" #?shift
            else:
                row[i] = "{{miss}}"
                wrong.add((i, guess[i]))
        text = "".join(row)
        text += f" {row.count('{{hit}}') * {{full}} + row.count('{{near}}') * {{part}}}" #?points
        out.append(text)
    return out
`,
});
