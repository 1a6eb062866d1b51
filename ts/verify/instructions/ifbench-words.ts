/** Instructions of IFBench (Pyatkin et al. 2025) on words: which, how many, how long, where. */
import type { Instruction } from "./arguments.ts";
import { COORDINATORS, PRONOUN_WORDS, STOP_WORDS } from "./english-words.ts";
import { bareWords, escaped, sentences, tokens, words } from "./text-units.ts";

export const WORD_INSTRUCTIONS: Readonly<Record<string, Instruction>> = {
  "count:word_count_range": (text, args) => {
    const written = words(text).length;
    return written >= args.number("min_words") && written <= args.number("max_words");
  },
  "count:unique_word_count": (text, args) => new Set(bareWords(text)).size >= args.number("N"),
  "ratio:stop_words": (text, args) => {
    const all = words(text.toLowerCase());
    const stop = all.filter((word) => STOP_WORDS.has(word)).length;
    return all.length > 0 && (100 * stop) / all.length <= args.number("percentage");
  },
  "count:conjunctions": (text, args) => {
    const used = new Set(bareWords(text).filter((word) => COORDINATORS.includes(word)));
    return used.size >= args.number("small_n");
  },
  "count:person_names": (text, args) =>
    args.listedNames().filter((name) => count(text, name, "u") > 0).length >= args.number("N"),
  "ratio:overlap": (text, args) => {
    const [own, reference] = [trigrams(text), trigrams(args.text("reference_text"))];
    const shared = [...own].filter((gram) => reference.has(gram)).length;
    return own.size > 0 && Math.abs((100 * shared) / own.size - args.number("percentage")) <= 2;
  },
  "count:numbers": (text, args) => (text.match(/\d+(?:[.,]\d+)*/gu) ?? []).length === args.number("N"),
  "words:alphabet": (text) => {
    const letters = bareWords(text).map((word) => word.codePointAt(0) ?? 0);
    const [first = 0] = letters;
    const isLetter = first >= 97 && first <= 122;
    return isLetter && letters.every((letter, index) => letter === 97 + ((first - 97 + index) % 26));
  },
  "words:vowel": (text) => {
    const used = new Set(text.toLowerCase().match(/[aeiou]/gu));
    return !text.trim().includes("\n") && used.size <= 3;
  },
  "words:consonants": (text) => bareWords(text).every((word) => /[bcdfghjklmnpqrstvwxyz]{2}/u.test(word)),
  "words:palindrome": (text) => {
    const palindromes = bareWords(text).filter(
      (word) => word.length >= 5 && word === Array.from(word).reverse().join(""),
    );
    return palindromes.length >= 10;
  },
  "words:prime_lengths": (text) => bareWords(text).every((word) => isPrime(Array.from(word).length)),
  "words:repeats": (text, args) => {
    const counts = new Map<string, number>();
    for (const word of bareWords(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
    return Math.max(0, ...counts.values()) <= args.number("small_n");
  },
  "words:no_consecutive": (text) =>
    bareWords(text).every((word, index, all) => index === 0 || word[0] !== all[index - 1]?.[0]),
  "count:words_japanese": (text, args) => {
    const every = args.number("N");
    return text
      .split(/\s+/u)
      .filter((word) => word !== "")
      .filter((_, index) => every > 0 && (index + 1) % every === 0)
      .every((word) => /[\u3040-\u30ff\u4e00-\u9fff]/u.test(word) || /^\P{L}*$/u.test(word));
  },
  "count:pronouns": (text, args) =>
    words(text.toLowerCase()).filter((word) => PRONOUN_WORDS.has(word)).length >= args.number("N"),
  "count:keywords_multiple": (text, args) =>
    [1, 2, 3, 5, 7].every((times, index) => count(text, args.text(`keyword${index + 1}`).trim(), "iu") === times),
  "words:keywords_specific_position": (text, args) => {
    const sentence = sentences(text)[args.number("n") - 1] ?? "";
    return spoken(sentence)[args.number("m") - 1] === args.text("keyword").trim().toLowerCase();
  },
  "words:words_position": (text, args) => {
    const all = spoken(text);
    const keyword = args.text("keyword").trim().toLowerCase();
    return all[1] === keyword && all.at(-2) === keyword;
  },
};

/** Whole words. */
function count(text: string, word: string, flags: string): number {
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}_])${escaped(word)}(?![\\p{L}\\p{N}_])`, `g${flags}`);
  return text.match(pattern)?.length ?? 0;
}

/** Tokens that are said: no punctuation, in lower case. */
function spoken(text: string): string[] {
  return tokens(text.toLowerCase()).filter((token) => /[\p{L}\p{N}]/u.test(token));
}

function trigrams(text: string): Set<string> {
  const all = tokens(text);
  return new Set(all.slice(2).map((token, index) => [all[index], all[index + 1], token].join("\u0000")));
}

function isPrime(value: number): boolean {
  for (let divisor = 2; divisor * divisor <= value; divisor++) if (value % divisor === 0) return false;
  return value > 1;
}
