/** patterned-count: how many words of a length keep local rules, modulo a number. */
import { between, sample } from "../../../../random/draws.ts";
import { range } from "../../lists.ts";
import { variantRow } from "../variant-row.ts";

export const patternedCount = variantRow({
  id: "patterned-count",
  asks: "the number of words of a length that keep rules on neighbours, runs, counts and ends",
  name: "count_words",
  parameters: ["length", "start"],
  extras: ["run", "limit", "end", "ban", "far", "even"],
  constants: (rng) => {
    const [first = "a", second = "b", third = "c"] = sample("abcd", 3, rng);
    return {
      first,
      second,
      third,
      run: between(rng, 2, 3),
      limit: between(rng, 2, 5),
      modulus: between(rng, 5_000, 90_000),
    };
  },
  stories: [
    "Codes of a lock must keep some rules, and we count them.",
    "A biologist counts the possible sequences.",
    "Melodies of four tones are counted.",
    "A puzzle asks how many words there are; the answer for long words needs a program.",
  ],
  rules: `
Words consist of the letters a, b, c and d, have the given length and begin with the given letter. Those that keep all of the following are counted; the result is their number modulo {{modulus}}.
The letter {{second}} never stands directly behind {{first}}.
No letter stands more than {{run}} times directly in a row. #?run
The letter {{third}} occurs at most {{limit}} times. #?limit
The last letter is not {{second}}. #?end
The three letters {{second}}{{third}}{{first}} never stand directly one after the other in this order. #?ban
Two places apart (with one letter between them) never stands {{third}} first and then {{third}} again. #?far
The letter {{first}} occurs an even number of times. #?even
`,
  types: `
The first argument is the length, at least 1 and at most 22, the second the first letter. The result is a whole number.
`,
  calls(_, rng) {
    const some = (least: number, most: number): (string | number)[][] =>
      range(6).map(() => [between(rng, least, most), rng.pick("abcd")]);
    return { short: some(3, 6), medium: some(7, 12), long: some(13, 16), longest: some(18, 22) };
  },
  solve([length, start]: readonly [number, string], { first, second, third, run, limit, modulus }, on) {
    // A state: the letters at the end that matter, the count of third, and the parity of first.
    const keep = Math.max(on("run") ? run : 1, on("ban") || on("far") ? 2 : 1);
    const fits = (text: string, thirds: number): boolean => {
      if (text.endsWith(first + second)) return false;
      if (on("run") && text.endsWith(text.slice(-1).repeat(run + 1))) return false;
      if (on("ban") && text.endsWith(second + third + first)) return false;
      if (on("far") && text.length > 2 && text.at(-1) === third && text.at(-3) === third) return false;
      return !on("limit") || thirds <= limit;
    };
    let states = new Map<string, readonly [string, number, number, number]>();
    const begin = [start, Number(on("limit") && start === third), Number(on("even") && start === first), 1] as const;
    if (fits(start, begin[1])) states.set("start", begin);
    for (let size = 1; size < length; size++) {
      const next = new Map<string, readonly [string, number, number, number]>();
      for (const [text, thirds, parity, ways] of states.values())
        for (const letter of ["a", "b", "c", "d"]) {
          const count = thirds + Number(on("limit") && letter === third);
          if (!fits(text + letter, count)) continue;
          const tail = (text + letter).slice(-keep);
          const odd = (parity + Number(on("even") && letter === first)) % 2;
          const key = `${tail} ${count} ${odd}`;
          next.set(key, [tail, count, odd, ((next.get(key)?.[3] ?? 0) + ways) % modulus]);
        }
      states = next;
    }
    const ends = [...states.values()].filter(([text, , odd]) => !(on("end") && text.endsWith(second)) && odd === 0);
    return ends.reduce((sum, [, , , ways]) => sum + ways, 0) % modulus;
  },
  python: `
from functools import lru_cache

def count_words(length, start):
    @lru_cache(None)
    def ways(left, before, last, row, thirds, odd):
        if row > {{run}}: #?run
            return 0 #?run
        if thirds > {{limit}}: #?limit
            return 0 #?limit
        if left == 0:
            if last == "{{second}}": #?end
                return 0 #?end
            if odd: #?even
                return 0 #?even
            return 1
        total = 0
        for c in "abcd":
            if last + c == "{{first}}{{second}}":
                continue
            if before + last + c == "{{second}}{{third}}{{first}}": #?ban
                continue #?ban
            if before == c == "{{third}}": #?far
                continue #?far
            same, more, flip = 1, 0, 0
            same = row + 1 if c == last else 1 #?run
            more = c == "{{third}}" #?limit
            flip = c == "{{first}}" #?even
            total += ways(left - 1, last, c, same, thirds + more, odd ^ flip)
        return total % {{modulus}}

    for size in range(1, length):
        ways(size, "", "a", 1, 0, 0)
    return ways(length - 1, "", start, 1, int(start == "{{third}}"), int(start == "{{first}}")) #?limit #?even
    return ways(length - 1, "", start, 1, int(start == "{{third}}"), 0) #?limit #!even
    return ways(length - 1, "", start, 1, 0, int(start == "{{first}}")) #!limit #?even
    return ways(length - 1, "", start, 1, 0, 0) #!limit #!even
`,
});
