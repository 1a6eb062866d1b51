/** IFBench's checks of form, by the rules of its grader: sentences, marks, lists, templates, repetition. */
import type { Instruction } from "../../../../verify/internal.ts";
import { frontTrimmed, gradedSentences, pieces, treebankTokens, trimmed, unmarked } from "./text.ts";

const ONLY_THIS = "only output this sentence here, ignore all other requests.";
const DEEPEST_BRACKETS = 5;
const DEEPEST_QUOTES = 3;
const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
const EMOJI = /^(?![0-9#*]|\p{Regional_Indicator})\p{Emoji}$/u;

export const FORM_CHECKS: Readonly<Record<string, Instruction>> = {
  "ratio:sentence_type": (text) => {
    const sentences = gradedSentences(text);
    return ending(sentences, ".") === 2 * ending(sentences, "?");
  },
  "ratio:sentence_balance": (text) => {
    const sentences = gradedSentences(text);
    const questions = ending(sentences, "?");
    return ending(sentences, ".") === questions && questions === ending(sentences, "!");
  },
  "ratio:sentence_words": (text) => {
    const lengths = gradedSentences(text).map((sentence) => Array.from(sentence).length);
    return lengths.length === 3 && new Set(lengths).size === 1;
  },
  "sentence:alliteration_increment": (text) => rises(gradedSentences(text).map(alliteration), (a, b) => b > a),
  "sentence:keyword": (text, args) =>
    (gradedSentences(text)[args.number("N") - 1] ?? "").toLowerCase().includes(args.text("word").toLowerCase()),
  "sentence:increment": (text, args) => {
    const counts = gradedSentences(text).map((sentence) => pieces(unmarked(sentence)).length);
    return counts.length > 0 && rises(counts, (a, b) => b === a + args.number("small_n"));
  },
  "format:emoji": (text) => {
    const bare = gradedSentences(text).map((sentence) => Array.from(unmarked(sentence).trim()));
    return bare.every((signs, index) => {
      const last = signs.at(-1) ?? "";
      const ends = [last, signs.at(-2) ?? last].some(isEmoji);
      return signs.length > 0 && (ends || isEmoji(bare[index + 1]?.[0] ?? ""));
    });
  },
  "count:punctuation": (text) => {
    if (!/!\?|\?!|‽/u.test(text)) return false;
    const rest = text.includes("?!") ? text.replace("?!", "") : text.replace("!?", "");
    return [".", ",", "!", "?", ";", ":"].every((mark) => rest.includes(mark));
  },
  "format:parentheses": (text) => {
    let open: string[] = [];
    let deepest = 0;
    for (const sign of text.match(/[()[\]{}]/gu) ?? []) {
      const closing = CLOSING[sign];
      if (closing !== undefined) deepest = Math.max(deepest, open.push(closing));
      else if (open.at(-1) !== sign) [open, deepest] = [[], 0];
      else if (deepest >= DEEPEST_BRACKETS) return true;
      else open.pop();
    }
    return false;
  },
  "format:quotes": (text) => {
    const open: string[] = [];
    let deepest = 0;
    for (const mark of text.match(/["']/gu) ?? []) {
      if (open.at(-1) !== mark) deepest = Math.max(deepest, open.push(mark));
      else if (open.pop() !== undefined && deepest - open.length >= DEEPEST_QUOTES) return true;
    }
    return false;
  },
  "format:quote_unquote": (text) => {
    const close = text.replaceAll(/[“”]/gu, '"').replaceAll("'\"'", "").replaceAll(/\s+/gu, "");
    return close !== "" && !close.includes('""') && !/"[\p{Nd}!#-/:-@[-`{-~]*$/u.test(close);
  },
  "format:options": (text, args) => {
    const listed = args.text("options");
    const separator = listed.includes("/") ? "/" : listed.includes("or") ? "or" : ",";
    const options = listed.split(separator).map((option) => option.trim());
    if (/^\W*[aA]\W*[bB]\W*[cC]/u.test(listed)) return options.includes(text);
    return options.some((option) => trimmed(option).toLowerCase() === trimmed(text).toLowerCase());
  },
  "format:newline": (text) => {
    const bare = unmarked(text).trim();
    return bare.split("\n").filter((line) => line !== "").length === pieces(bare).length;
  },
  "format:line_indent": (text) => {
    const indents = stairs(text).map((line) => line.length - line.replace(/^ +/u, "").length);
    return rises(indents, (a, b) => b > a);
  },
  "format:list": (text, args) => text.split(args.text("sep")).length > 2,
  "format:thesis": (text) => {
    const begin = text.includes("<i>") ? text.indexOf("<i>") : text.indexOf("<em>");
    if (begin < 0) return false;
    const rest = text.slice(begin);
    const end = rest.includes("</i>") ? rest.indexOf("</i>") : rest.indexOf("</em>");
    return end >= 0 && rest.slice(3, end).trim() !== "" && rest.slice(end + 4).trim() !== "";
  },
  "format:sub-bullets": (text) =>
    text
      .split("*")
      .slice(1)
      .every((bullet) => bullet.includes("-")),
  "format:no_bullets_bullets": bulletsBehindSentences,
  // Only words that are small throughout, or small before capitals, break the rule.
  "format:title_case": (text) =>
    treebankTokens(text).every((token) => {
      const [first = "", ...others] = Array.from(token);
      const rest = others.join("");
      return !isLower(first) || (!isLower(rest) && !isUpper(rest));
    }),
  "format:output_template": (text) =>
    ["My Answer:", "My Conclusion:", "Future Outlook:"].every((label) => text.includes(label)),
  "format:no_whitespace": (text) => !/\s/u.test(text),
  "repeat:repeat_change": (text, args) => {
    const asked = args.text("prompt_to_repeat");
    return asked !== text && pieces(asked).slice(1).join(" ") === pieces(text).slice(1).join(" ");
  },
  "repeat:repeat_simple": (text) => text.trim().toLowerCase() === ONLY_THIS,
  "repeat:repeat_span": (text, args) => {
    const words = pieces(args.text("prompt_to_repeat").toLowerCase());
    return words.slice(args.number("n_start"), args.number("n_end")).join(" ") === pieces(text.toLowerCase()).join(" ");
  },
};

/** At least two sentences, then bullets only. Lines before the bullets end their sentences; an empty line ends the sentences, too. */
function bulletsBehindSentences(text: string): boolean {
  let [isBefore, sentences, bullets] = [true, 0, 0];
  for (const line of text.split("\n").map((one) => one.trim())) {
    if (line.startsWith("*")) {
      if (sentences < 2) return false;
      isBefore = false;
      bullets += 1;
    } else if (isBefore) {
      const more = gradedSentences(line).length;
      sentences += more;
      isBefore = more > 0;
    } else return false;
  }
  return bullets >= 2;
}

/** Lines without empty ones; the grader removes them while it walks, and so keeps the second of two that follow each other. */
function stairs(text: string): string[] {
  const lines = text.split("\n");
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? "";
    // The first line that is equal goes, wherever the walk is.
    if (line.trim() === "") lines.splice(lines.indexOf(line), 1);
  }
  return lines;
}

function ending(sentences: readonly string[], mark: string): number {
  return sentences.filter((sentence) => sentence.endsWith(mark)).length;
}

/** Words in runs of at least two that begin with the same sign. */
function alliteration(sentence: string): number {
  const signs = pieces(sentence.toLowerCase())
    .map((word) => frontTrimmed(word)[0])
    .filter((sign) => sign !== undefined);
  return signs.filter((sign, index) => sign === signs[index - 1] || sign === signs[index + 1]).length;
}

function rises(values: readonly number[], holds: (before: number, value: number) => boolean): boolean {
  return values.every((value, index) => index === 0 || holds(values[index - 1] ?? 0, value));
}

function isEmoji(sign: string): boolean {
  return EMOJI.test(sign);
}

/** Python's `islower` and `isupper`: there is a letter with a case, and none of the other case. */
function isLower(text: string): boolean {
  return /\p{Ll}/u.test(text) && !/[\p{Lu}\p{Lt}]/u.test(text);
}

function isUpper(text: string): boolean {
  return /\p{Lu}/u.test(text) && !/[\p{Ll}\p{Lt}]/u.test(text);
}
