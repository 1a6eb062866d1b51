/** Instructions of IFBench on form: marks, brackets, lists, templates, repetition. */
import type { Instruction } from "./arguments.ts";
import { MINOR_WORDS } from "./english-words.ts";
import { sentences } from "./text-units.ts";

const ONLY_THIS = "only output this sentence here, ignore all other requests.";
const DEEPEST_BRACKETS = 5;
const DEEPEST_QUOTES = 3;
const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

export const FORMAT_INSTRUCTIONS: Readonly<Record<string, Instruction>> = {
  "count:punctuation": (text) => {
    const rest = text.replace(/\?!|!\?|‽/u, "");
    return rest !== text && [".", ",", "!", "?", ";", ":"].every((mark) => rest.includes(mark));
  },
  "format:parentheses": (text) => {
    const open: string[] = [];
    let deepest = 0;
    for (const sign of text.match(/[()[\]{}]/gu) ?? []) {
      const closing = CLOSING[sign];
      if (closing !== undefined) {
        open.push(closing);
        deepest = Math.max(deepest, open.length);
      } else if (open.at(-1) === sign) {
        open.pop();
        if (open.length === 0 && deepest >= DEEPEST_BRACKETS) return true;
      } else [open.length, deepest] = [0, 0];
    }
    return false;
  },
  "format:quotes": (text) => {
    const plain = text.replace(/[“”]/gu, '"').replace(/[‘’]/gu, "'");
    // An apostrophe inside a word is no quotation mark.
    const marks = plain.match(/"|(?<![\p{L}\p{N}])'|'(?![\p{L}\p{N}])/gu) ?? [];
    const open: string[] = [];
    let deepest = 0;
    for (const mark of marks) {
      if (open.at(-1) !== mark) deepest = Math.max(deepest, open.push(mark));
      else if (open.pop() !== undefined && open.length === 0 && deepest >= DEEPEST_QUOTES) return true;
    }
    return false;
  },
  "format:quote_unquote": (text) => {
    const plain = text.replace(/[“”]/gu, '"');
    const parts = plain.split('"');
    // Odd parts are quoted; what stands behind each has to say something.
    const behind = parts.filter((_, index) => index > 0 && index % 2 === 0);
    return parts.length % 2 === 1 && behind.every((part) => /\p{L}/u.test(part));
  },
  "format:options": (text, args) => {
    const listed = args.text("options");
    const separator = listed.includes("/") ? "/" : /\sor\s/u.test(listed) ? /\sor\s/u : ",";
    const options = listed.split(separator).map((option) => option.trim());
    const isLettered = options.every((option) => /^\W*\p{L}\W*$/u.test(option));
    const bare = (one: string): string => one.replace(/^[\s\p{P}]+|[\s\p{P}]+$/gu, "").toLowerCase();
    return options.some((option) => (isLettered ? option === text.trim() : bare(option) === bare(text)));
  },
  "format:newline": (text) => filledLines(text).every((line) => !/\S\s+\S*[\p{L}\p{N}]/u.test(line.trim())),
  "format:line_indent": (text) => {
    const indents = filledLines(text).map((line) => line.length - line.trimStart().length);
    return indents.every((indent, index) => index === 0 || indent > (indents[index - 1] ?? 0));
  },
  "format:list": (text, args) => {
    const separator = args.text("sep");
    return filledLines(text).filter((line) => line.trimStart().startsWith(separator)).length >= 2;
  },
  "format:thesis": (text) => /<(i|em)>\s*[^<\s][^<]*<\/\1>\s*\S/u.test(text),
  "format:sub-bullets": (text) => {
    const bullets = filledLines(text).map((line) => line.trim()[0]);
    const [, ...under] = bullets.join("").split("*");
    return under.length > 0 && under.every((rest) => rest.includes("-"));
  },
  "format:no_bullets_bullets": (text) => {
    const lines = filledLines(text).map((line) => line.trim());
    const first = lines.findIndex((line) => line.startsWith("*"));
    const before = sentences(lines.slice(0, Math.max(0, first)).join("\n"));
    const bullets = lines.slice(first);
    const stopped = before.filter((sentence) => sentence.endsWith(".")).length;
    return first > 0 && stopped >= 2 && bullets.length >= 2 && bullets.every((line) => line.startsWith("*"));
  },
  "format:title_case": (text) => {
    const all = text.match(/\p{L}[\p{L}\p{M}'’]*/gu) ?? [];
    return all.length > 0 && all.every((word, index) => (index > 0 && MINOR_WORDS.has(word)) || /^\p{Lu}/u.test(word));
  },
  "format:output_template": (text) =>
    ["My Answer:", "My Conclusion:", "Future Outlook:"].every((label) => text.includes(label)),
  "format:no_whitespace": (text) => !/\s/u.test(text),
  "repeat:repeat_change": (text, args) => {
    const [asked, given] = [split(args.text("prompt_to_repeat")), split(text)];
    return asked[0] !== given[0] && asked.slice(1).join(" ") === given.slice(1).join(" ");
  },
  "repeat:repeat_simple": (text) => text.trim().toLowerCase() === ONLY_THIS,
  "repeat:repeat_span": (text, args) => {
    const span = split(args.text("prompt_to_repeat")).slice(args.number("n_start"), args.number("n_end") + 1);
    return span.length > 0 && split(text).join(" ").toLowerCase() === span.join(" ").toLowerCase();
  },
};

function filledLines(text: string): string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}

function split(text: string): string[] {
  return text.split(/\s+/u).filter((word) => word !== "");
}
