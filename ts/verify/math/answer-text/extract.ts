/**
 * Where in a text the final answer stands. One order, from the surest sign to the weakest:
 *
 * 1. "final answer is X. I hope" (the phrase of few-shot prompts);
 * 2. the last closed box (several joined by "and", "or" or commas are one list), `<answer>` tag or "final answer is X", whichever comes later;
 * 3. the last "answer: X" or "answer is X";
 * 4. the whole text, when it is an answer and nothing else;
 * 5. the last formula, or the last number of a sentence. Of an expression that cannot be read no part is taken for the whole.
 *
 * A text with thinking that is not closed has no answer yet. Candidates come in that order; the first that parses counts.
 */
import { joinedBoxes, type Place } from "./boxes.ts";
import { FUNCTIONS, isSeparatorWord } from "./vocabulary.ts";

export interface ExtractOptions {
  /** Kinds of places that are looked at. Default all. */
  targets: readonly ("boxed" | "phrase" | "latex" | "number" | "whole")[];
  /** Before everything ("first"), as in the order above ("normal"), or not at all ("never"). */
  boxedPriority: "first" | "normal" | "never";
}

/** Longer texts are searched only in their last part. */
const MAX_TEXT = 200_000;
/** A whole text that is longer is prose. */
const MAX_WHOLE = 50_000;

export function candidates(text: string, options: ExtractOptions): string[] {
  const answer = afterThinking(text.slice(-MAX_TEXT));
  if (answer === null) return [];
  const found: string[] = [];
  const wants = (target: ExtractOptions["targets"][number]): boolean => options.targets.includes(target);
  const boxes = options.boxedPriority === "never" || !wants("boxed") ? [] : joinedBoxes(answer);
  if (options.boxedPriority === "first") found.push(...boxes.slice(-1).map(({ content }) => content));
  if (wants("phrase")) {
    const hope = /final answer is:?\s*(.+?)\.?\s*I hope/isu.exec(answer)?.[1];
    if (hope !== undefined) found.push(undelimited(hope));
  }
  const finals = wants("phrase") ? phrases(answer, /final answer\s*(?:is)?\s*[:=]?\s*/giu) : [];
  const tags = wants("phrase") ? answerTags(answer) : [];
  const anchors = [...boxes, ...finals, ...tags].sort((a, b) => b.at - a.at);
  found.push(...anchors.map(({ content }) => content));
  if (wants("phrase")) {
    const loose = phrases(answer, /\banswer\s*(?:is\s*:?|[:=]|to\s[^.:]{0,60}?\bis)\s*/giu);
    found.push(...loose.reverse().map(({ content }) => content));
  }
  const whole = answer.trim();
  const isSentence = isProse(whole);
  if (wants("whole") && whole.length <= MAX_WHOLE && !isSentence) found.push(undelimited(unnamed(whole)));
  if (wants("latex") || wants("number")) {
    const hasNumbers = wants("number") && (isSentence || !wants("whole") || isPhrase(whole));
    const places = [...(wants("latex") ? formulas(answer) : []), ...(hasNumbers ? numbers(answer) : [])];
    places.sort((a, b) => b.end - a.end || a.at - b.at);
    found.push(...places.slice(0, 8).map(({ content }) => content));
  }
  return found.filter((candidate) => candidate.trim() !== "");
}

/** The text behind closed thinking; null while it is still thinking. */
export function afterThinking(text: string): string | null {
  const open = text.lastIndexOf("<think>");
  const close = text.lastIndexOf("</think>");
  if (open > close) return null;
  return close >= 0 ? text.slice(close + "</think>".length) : text;
}

/** Returns the text behind a phrase, to the end of its formula or sentence. */
function phrases(text: string, phrase: RegExp): Place[] {
  return Array.from(text.matchAll(phrase), (match) => {
    const start = match.index + match[0].length;
    const rest = text.slice(start, start + 2000);
    const [line = ""] = rest.split(/\n(?!\s*\\)/u);
    const delimited = /^[\s*]*(?:\$\$(.+?)\$\$|\$(.+?)\$|\\\((.+?)\\\)|\\\[(.+?)\\\])/su.exec(rest);
    const content =
      delimited?.slice(1).find((part) => part !== undefined) ??
      line
        .replace(/\.\s+[A-Z].*$/su, "")
        .replace(/^[\s*]+|[.\s*]+$/gu, "")
        // A remark: 13 (thirteen).
        .replace(/(?<=[\d}])\s+\([^()\\]*\p{L}{3}[^()\\]*\)$/u, "");
    return { at: match.index, end: start + content.length, content: undelimited(content) };
  });
}

/** `<answer>...</answer>` with text inside that has no tags. */
function answerTags(text: string): Place[] {
  return Array.from(text.matchAll(/<answer>([^<>]*)<\/answer>/giu), (match) => ({
    at: match.index,
    end: match.index + match[0].length,
    content: undelimited(match[1] ?? ""),
  })).filter(({ content }) => content !== "");
}

/** "Total = 366": what is equal to words. */
function unnamed(text: string): string {
  return /^\p{L}{3,}(?:\s+\p{L}+){0,4}\s*=\s*([^=]+)$/u.exec(text)?.[1] ?? text;
}

function formulas(text: string): Place[] {
  const pattern = /\$\$(.+?)\$\$|\\\[(.+?)\\\]|\$((?:\\\$|[^$\n])+?)\$|\\\((.+?)\\\)/gsu;
  return Array.from(text.matchAll(pattern), (match) => ({
    at: match.index,
    end: match.index + match[0].length,
    content: match.slice(1).find((part) => part !== undefined) ?? "",
  }));
}

/** Numbers and digit expressions that stand by themselves, and that no word before them denies. */
function numbers(text: string): Place[] {
  const pattern =
    /(?<=^|\s|(?<![=!<>])=|(?<!\w)\(|[*:$€£])[-−]?(?:\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?:\s*[-−+*/^×÷]\s*[-−]?\d+(?:\.\d+)?)*\s*(?:%|percent\b|(?:thousand|million|billion|trillion)\b)?(?![\p{L}\d"'[{(_])/gu;
  const last = [...text.matchAll(pattern)].at(-1);
  if (last !== undefined && isChoice(text, last)) return [];
  const stated = [...text.matchAll(pattern)].filter(
    ({ index }) => !DENIAL.test(text.slice(Math.max(0, index - 30), index)),
  );
  return Array.from(stated, (match) => ({
    at: match.index,
    end: match.index + match[0].trimEnd().length,
    content: match[0].trim(),
  }));
}

function isChoice(text: string, { 0: found, index }: RegExpExecArray): boolean {
  return CHOICE.test(text.slice(index + found.length)) || CHOSEN.test(text.slice(Math.max(0, index - 8), index));
}

/** "not 5", "isn't equal to 5", "at least 5". */
const DENIAL =
  /\b(?:not|never|cannot|\w+n['’]t|at\s+(?:least|most)|(?:more|less|fewer|greater|larger|smaller)\s+than)\s+(?:\p{L}+\s+){0,2}\$?$/iu;
/** "5 or 6", "5 or more": no answer yet. */
const CHOICE = /^[\s$]*(?:\\text\s*\{\s*)?or\b/iu;
const CHOSEN = /\bor\s+\$?$/iu;

/** Without math delimiters around the whole. */
function undelimited(text: string): string {
  return text
    .trim()
    .replace(/^\$\$(.*)\$\$\.?$/su, "$1")
    .replace(/^\$([^$]*)\$\.?$/su, "$1")
    .replace(/^\\\((.*)\\\)\.?$/su, "$1")
    .replace(/^\\\[(.*)\\\]\.?$/su, "$1")
    .replace(/^\*\*(.*)\*\*$/su, "$1")
    .trim();
}

/** Words of sentences that no answer with numbers has. */
const SENTENCE_WORDS =
  /(?<![\p{L}\\])(?:is|are|was|were|the|this|that|it|its|so|thus|hence|therefore|then|we|you|i'm|get|gets|got|have|has|gives?|given|equals?|because|since|result|answer|there|which|must|should)(?!\p{L})/iu;

/** Sentences rather than an answer: words of sentences, or several words in a row, next to something else. */
function isProse(text: string): boolean {
  if (/\\boxed/u.test(text)) return true;
  const plain = text.replace(/\\text\w*\s*\{[^{}]*\}/gu, " ").replace(/\\[a-zA-Z]+/gu, " ");
  const words = wordsOf(plain);
  if (!/\d|[=+]|\n/u.test(plain)) return false;
  return words.length > 3 || SENTENCE_WORDS.test(plain);
}

/** A few words with a number among them, and no code. */
function isPhrase(text: string): boolean {
  return wordsOf(text.replace(/\\[a-zA-Z]+/gu, " ")).length > 0 && !/[_"'`;]|==|\w\(/u.test(text);
}

function wordsOf(text: string): string[] {
  const runs = text.match(/\p{L}{3,}/gu) ?? [];
  return runs.filter((word) => !Object.hasOwn(FUNCTIONS, word.toLowerCase()) && !isSeparatorWord(word));
}
