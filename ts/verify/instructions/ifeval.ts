/**
 * The 25 verifiable instructions of IFEval (Zhou et al. 2023), by their ids there. Where IFEval draws a missing argument at random,
 * this file requires it. `prl-lm/environments/verify` documents how the detection of sentences and languages differs.
 */
import type { Instruction } from "./arguments.ts";
import { possibleLanguages } from "./language.ts";
import { occurrences, satisfies, sentences, words } from "./text-units.ts";

const CONSTRAINED = ["My answer is yes.", "My answer is no.", "My answer is maybe."];

export const IFEVAL: Readonly<Record<string, Instruction>> = {
  "keywords:existence": (text, args) => args.texts("keywords").every((word) => occurrences(text, word) > 0),
  "keywords:frequency": (text, args) =>
    satisfies(occurrences(text, args.text("keyword")), args.relation("relation"), args.number("frequency")),
  "keywords:forbidden_words": (text, args) =>
    args.texts("forbidden_words").every((word) => occurrences(text, word, true) === 0),
  "keywords:letter_frequency": (text, args) => {
    const letter = args.text("letter").toLowerCase();
    const count = Array.from(text.toLowerCase()).filter((sign) => sign === letter).length;
    return satisfies(count, args.relation("let_relation"), args.number("let_frequency"));
  },
  "language:response_language": (text, args) => {
    const possible = possibleLanguages(text);
    return possible.length === 0 || possible.includes(args.text("language").toLowerCase());
  },
  "length_constraints:number_sentences": (text, args) =>
    satisfies(sentences(text).length, args.relation("relation"), args.number("num_sentences")),
  "length_constraints:number_paragraphs": (text, args) => {
    const pieces = text.split(/\s?\*\*\*\s?/u);
    const inner = pieces.slice(1, -1);
    if (inner.some((piece) => piece.trim() === "")) return false;
    return pieces.filter((piece) => piece.trim() !== "").length === args.number("num_paragraphs");
  },
  "length_constraints:number_words": (text, args) =>
    satisfies(words(text).length, args.relation("relation"), args.number("num_words")),
  "length_constraints:nth_paragraph_first_word": (text, args) => {
    const pieces = text.split("\n\n");
    const paragraph = pieces[args.number("nth_paragraph") - 1]?.trim() ?? "";
    const first = (paragraph.split(/\s+/u)[0] ?? "").replace(/^["']+/u, "").replace(/[.,?!'"].*$/su, "");
    const filled = pieces.filter((piece) => piece.trim() !== "").length;
    return (
      filled === args.number("num_paragraphs") &&
      first !== "" &&
      first.toLowerCase() === args.text("first_word").toLowerCase()
    );
  },
  "detectable_content:number_placeholders": (text, args) =>
    (text.match(/\[.*?\]/gu) ?? []).length >= args.number("num_placeholders"),
  "detectable_content:postscript": (text, args) => {
    const marker = args.text("postscript_marker").toLowerCase();
    const pattern = marker === "p.p.s" ? /p\.\s?p\.\s?s/u : marker === "p.s." ? /p\.\s?s\./u : null;
    return pattern === null ? text.toLowerCase().includes(marker) : pattern.test(text.toLowerCase());
  },
  "detectable_format:number_bullet_lists": (text, args) => {
    const stars = text.match(/^\s*\*[^*].*$/gmu) ?? [];
    const dashes = text.match(/^\s*-.*$/gmu) ?? [];
    return stars.length + dashes.length === args.number("num_bullets");
  },
  "detectable_format:constrained_response": (text) => CONSTRAINED.some((option) => text.trim().includes(option)),
  "detectable_format:number_highlighted_sections": (text, args) => {
    const double = (text.match(/\*\*[^\n*]*\*\*/gu) ?? []).filter((part) => part.replaceAll("*", "").trim() !== "");
    const single = (text.replace(/\*\*[^\n*]*\*\*/gu, " ").match(/\*[^\n*]*\*/gu) ?? []).filter(
      (part) => part.replaceAll("*", "").trim() !== "",
    );
    return double.length + single.length >= args.number("num_highlights");
  },
  "detectable_format:multiple_sections": (text, args) => {
    const name = args.text("section_spliter").replace(/[.*+?^${}()|[\]\\]/gu, "\\$&");
    return text.split(new RegExp(`\\s?${name}\\s?\\d+\\s?`, "u")).length - 1 >= args.number("num_sections");
  },
  "detectable_format:json_format": (text) => {
    const bare = text
      .trim()
      .replace(/^```(?:json)?/iu, "")
      .replace(/```$/u, "")
      .trim();
    try {
      JSON.parse(bare);
      return true;
    } catch {
      return false;
    }
  },
  "detectable_format:title": (text) =>
    [...text.matchAll(/<<([^\n]+)>>/gu)].some(([, title = ""]) => title.replace(/[<>]/gu, "").trim() !== ""),
  "combination:two_responses": (text) => {
    const pieces = text.split("******");
    const filled = pieces.map((piece) => piece.trim()).filter((piece) => piece !== "");
    const inner = pieces.slice(1, -1).some((piece) => piece.trim() === "");
    return !inner && filled.length === 2 && filled[0] !== filled[1];
  },
  "combination:repeat_prompt": (text, args) =>
    text.trim().toLowerCase().startsWith(args.text("prompt_to_repeat").trim().toLowerCase()),
  "startend:end_checker": (text, args) =>
    text
      .trim()
      .replace(/^"+|"+$/gu, "")
      .toLowerCase()
      .endsWith(args.text("end_phrase").trim().toLowerCase()),
  "startend:quotation": (text) => /^".*"$/su.test(text.trim()) && text.trim().length > 1,
  "change_case:capital_word_frequency": (text, args) => {
    const capital = (text.match(/[\p{L}\p{N}_]+(?:['-][\p{L}\p{N}_]+)*/gu) ?? []).filter((word) => isUpper(word));
    return satisfies(capital.length, args.relation("capital_relation"), args.number("capital_frequency"));
  },
  "change_case:english_capital": (text) => isUpper(text) && isEnglish(text),
  "change_case:english_lowercase": (text) => text === text.toLowerCase() && /\p{Ll}/u.test(text) && isEnglish(text),
  "punctuation:no_comma": (text) => !text.includes(","),
};

function isUpper(text: string): boolean {
  return text === text.toUpperCase() && /\p{Lu}/u.test(text);
}

function isEnglish(text: string): boolean {
  const possible = possibleLanguages(text);
  return possible.length === 0 || possible.includes("en");
}
