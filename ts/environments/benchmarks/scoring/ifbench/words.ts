/** IFBench's checks of words, by the rules of its grader. */
import type { Instruction } from "../../../../verify/internal.ts";
import { frontTrimmed, pieces, runs, trimmed, treebankTokens, gradedSentences, unmarked } from "./text.ts";
import { beginsWithVerb, isOdd } from "./language.ts";
import { PRONOUNS, STOP_WORDS } from "./word-lists.ts";

const COORDINATORS: ReadonlySet<string> = new Set(["and", "but", "for", "nor", "or", "so", "yet"]);
const CONSONANTS = /[bcdfghjklmnpqrstvwxyz]{2}/u;
const LONGEST_PRIME = 97;
const OVERLAP_SLACK = 2;

export const WORD_CHECKS: Readonly<Record<string, Instruction>> = {
  "count:word_count_range": (text, args) => {
    const count = runs(text).length;
    return count >= args.number("min_words") && count <= args.number("max_words");
  },
  "count:unique_word_count": (text, args) => new Set(pieces(text.toLowerCase()).map(trimmed)).size >= args.number("N"),
  "ratio:stop_words": (text, args) => {
    const all = runs(text);
    const stop = all.filter((word) => STOP_WORDS.has(word.toLowerCase())).length;
    return all.length > 0 && (stop / all.length) * 100 <= args.number("percentage");
  },
  // The same word in other letters, or with a mark, counts again.
  "count:conjunctions": (text, args) =>
    new Set(pieces(text).filter((word) => COORDINATORS.has(trimmed(word).toLowerCase()))).size >=
    args.number("small_n"),
  "count:person_names": (text, args) =>
    args.listedNames().filter((name) => text.includes(name)).length >= args.number("N"),
  // Three characters, not three words.
  "ratio:overlap": (text, args) => {
    const [own, reference] = [trigrams(text), trigrams(args.text("reference_text"))];
    const shared = [...own].filter((gram) => reference.has(gram)).length;
    const wanted = args.number("percentage");
    const overlap = (shared / own.size) * 100;
    return overlap >= wanted - OVERLAP_SLACK && overlap <= wanted + OVERLAP_SLACK;
  },
  "count:numbers": (text, args) => (unmarked(text).match(/\p{Nd}+/gu) ?? []).length === args.number("N"),
  "words:alphabet": (text) => {
    const [first = "", ...others] = pieces(unmarked(text));
    const start = (first[0] ?? "").toLowerCase().charCodeAt(0) - 97;
    if (!(start >= 0 && start < 26)) return false;
    return others.every((word, index) => word.toLowerCase().charCodeAt(0) === 97 + ((start + 1 + index) % 26));
  },
  "words:vowel": (text) => {
    const paragraph = text.trim();
    return !paragraph.includes("\n") && new Set(paragraph.toLowerCase().match(/[aeiou]/gu)).size <= 3;
  },
  "words:consonants": (text) => pieces(text.toLowerCase()).every((word) => CONSONANTS.test(word)),
  "words:palindrome": (text) => {
    const words = pieces(unmarked(text).toLowerCase()).map((word) => Array.from(word));
    return words.filter((word) => word.length >= 5 && word.join("") === word.toReversed().join("")).length >= 10;
  },
  "words:prime_lengths": (text) => pieces(unmarked(text)).every((word) => isPrime(Array.from(word).length)),
  "words:repeats": (text, args) => {
    const counts = new Map<string, number>();
    for (const word of pieces(unmarked(text.toLowerCase()))) counts.set(word, (counts.get(word) ?? 0) + 1);
    return Math.max(0, ...counts.values()) <= args.number("small_n");
  },
  "words:no_consecutive": (text) => {
    const words = pieces(unmarked(text.toLowerCase()));
    return words.every((word, index) => index === 0 || word[0] !== words[index - 1]?.[0]);
  },
  "count:words_japanese": (text, args) => {
    const every = args.number("N");
    return pieces(text).every((piece, index) => {
      const word = trimmed(piece);
      if (every === 0 || (index + 1) % every !== 0 || word === "" || /^\p{Nd}+$/u.test(word)) return true;
      return /[\u3040-\u30ff\u4e00-\u9fff]/u.test(word);
    });
  },
  "count:pronouns": (text, args) =>
    pieces(unmarked(text.replaceAll("/", " ").toLowerCase())).filter((word) => PRONOUNS.has(word)).length >=
    args.number("N"),
  // Also inside of longer words.
  "count:keywords_multiple": (text, args) =>
    [1, 2, 3, 5, 7].every((times, index) => {
      const keyword = args.text(`keyword${index + 1}`).toLowerCase();
      return text.toLowerCase().split(keyword).length - 1 === times;
    }),
  "words:keywords_specific_position": (text, args) => {
    const sentence = gradedSentences(text)[args.number("n") - 1] ?? "";
    return treebankTokens(sentence)[args.number("m") - 1] === args.text("keyword");
  },
  "words:words_position": (text, args) => {
    const tokens = treebankTokens(text);
    return tokens[1] === args.text("keyword") && tokens.at(-2) === args.text("keyword");
  },
  "words:start_verb": (text) => beginsWithVerb(treebankTokens(text)[0] ?? ""),
  "words:odd_even_syllables": (text) => {
    const odd = pieces(unmarked(text).toLowerCase()).map(isOdd);
    return odd.every((one, index) => index === 0 || one !== odd[index - 1]);
  },
  "words:last_first": (text) => {
    const sentences = gradedSentences(text);
    return sentences.slice(1).every((sentence, index) => {
      const last = pieces(trimmed(sentences[index] ?? "")).at(-1);
      const first = pieces(frontTrimmed(sentence))[0];
      return last !== undefined && last.toLowerCase() === first?.toLowerCase();
    });
  },
  "words:paragraph_last_first": (text) =>
    text
      .split("\n")
      .filter((paragraph) => paragraph.trim() !== "")
      .map((paragraph) => pieces(trimmed(paragraph.trim().toLowerCase())))
      .every((words) => words.length > 0 && words[0] === words.at(-1)),
};

function trigrams(text: string): Set<string> {
  const signs = Array.from(text);
  return new Set(signs.slice(2).map((sign, index) => `${signs[index]}${signs[index + 1]}${sign}`));
}

function isPrime(length: number): boolean {
  for (let divisor = 2; divisor * divisor <= length; divisor++) if (length % divisor === 0) return false;
  return length > 1 && length <= LONGEST_PRIME;
}
