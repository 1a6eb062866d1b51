/** Instructions of IFBench on sentences and paragraphs. */
import type { Instruction } from "./arguments.ts";
import { bareWords, escaped, sentences } from "./text-units.ts";

const EMOJI = String.raw`\p{Extended_Pictographic}[\uFE0F\u200D\p{Emoji_Modifier}\p{Extended_Pictographic}]*`;

export const SENTENCE_INSTRUCTIONS: Readonly<Record<string, Instruction>> = {
  "ratio:sentence_type": (text) => {
    const [statements, questions] = endings(text);
    return questions > 0 && statements === 2 * questions;
  },
  "ratio:sentence_balance": (text) => {
    const [statements, questions, exclamations] = endings(text);
    return statements > 0 && statements === questions && questions === exclamations;
  },
  "ratio:sentence_words": (text) => {
    const all = sentences(text);
    const used = bareWords(text);
    return all.length === 3 && new Set(all.map(length)).size === 1 && new Set(used).size === used.length;
  },
  "sentence:alliteration_increment": (text) => rises(sentences(text).map(alliteration), (a, b) => b > a),
  "sentence:keyword": (text, args) => {
    const sentence = sentences(text)[args.number("N") - 1] ?? "";
    return new RegExp(`(?<![\\p{L}\\p{N}_])${escaped(args.text("word"))}(?![\\p{L}\\p{N}_])`, "iu").test(sentence);
  },
  "sentence:increment": (text, args) => {
    const more = args.number("small_n");
    return rises(
      sentences(text).map((sentence) => bareWords(sentence).length),
      (a, b) => b === a + more,
    );
  },
  "words:last_first": (text) => {
    const all = sentences(text).map(bareWords);
    return all.every((own, index) => index === 0 || all[index - 1]?.at(-1) === own[0]);
  },
  "words:paragraph_last_first": (text) =>
    text
      .split("\n")
      .map(bareWords)
      .filter((own) => own.length > 0)
      .every((own) => own[0] === own.at(-1)),
  "format:emoji": (text) => {
    // A sentence ends with its marks, or at a line's end; the emoji stands before or behind them.
    const pieces = text.split(/(?<=[.!?]+)(?![.!?])|\n/u);
    const before = new RegExp(`${EMOJI}\\s*[.!?]*\\s*$`, "u");
    const behind = new RegExp(`^\\s*${EMOJI}`, "u");
    return pieces.every(
      (piece, index) => !/[\p{L}\p{N}]/u.test(piece) || before.test(piece) || behind.test(pieces[index + 1] ?? ""),
    );
  },
  "custom:sentence_alphabet": (text) => {
    const initials = sentences(text).map((sentence) => bareWords(sentence)[0]?.[0]);
    return initials.join("") === "abcdefghijklmnopqrstuvwxyz";
  },
};

/** How many sentences end with a full stop, a question mark, an exclamation mark. */
function endings(text: string): [number, number, number] {
  const ends = sentences(text).map((sentence) => /([.?!])["'”’)\]]*$/u.exec(sentence)?.[1]);
  const count = (mark: string): number => ends.filter((end) => end === mark).length;
  return [count("."), count("?"), count("!")];
}

/** Words in runs of at least two that begin with the same letter. */
function alliteration(sentence: string): number {
  const letters = bareWords(sentence).map((word) => word[0]);
  return letters.filter((letter, index) => letter === letters[index - 1] || letter === letters[index + 1]).length;
}

function rises(values: readonly number[], holds: (before: number, value: number) => boolean): boolean {
  return values.every((value, index) => index === 0 || holds(values[index - 1] ?? 0, value));
}

function length(text: string): number {
  return Array.from(text).length;
}
