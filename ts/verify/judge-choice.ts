/** The verdict of a judge model among given choices. */
import { closedBoxes } from "./math/answer-text/boxes.ts";

/**
 * The beginning of a line with a verdict, and of one with an answer, which may be that of the judged text; or such a key of JSON. A quoted line (`>`), or a
 * key with escaped quotation marks, is never the judge's own.
 */
const VERDICT = marker("final\\s+(?:judg(?:e)?ment|verdict)|judg(?:e)?ment|verdict");
const ANSWER = marker("final\\s+answer|answer");
/** The characters around a choice that is the whole line, and around one at the end of a line: there quotation marks hold the judged text. */
const WHOLE = /^[\s*_`'"“”(){}[\].:!$-]*$/u;
const ENDING = /^[\s*_`(){}[\].:!$-]*$/u;
const WORD = /[\p{L}\p{N}]/u;

function marker(words: string): RegExp {
  const names = `(?:${words})`;
  return new RegExp(
    `(?<!\\\\)"${names}"[ \\t]*:|^[ \\t]*(?:[*_#-][ \\t*_#-]*)?${names}\\b[\\s*_]*(?:is)?\\s*[:=-]?`,
    "gimu",
  );
}

/**
 * The choice that a reply settles on, in its own spelling; null when there is none. Thinking is skipped; a reply that still thinks has no
 * verdict. The first choice in the last line that begins with a verdict (FINAL VERDICT, JUDGMENT, ..., or behind such a key of JSON) decides, where nothing
 * else is on that line the next one; else a last line that is nothing but a choice; else the last box with a choice. Where no line begins with a verdict, the
 * last line that begins with an answer (FINAL ANSWER, ANSWER) decides in the same way; else the choice with which the reply ends, if its last line has
 * no other one.
 *
 * Choices elsewhere do not count: a judge that comes to no verdict may have quoted the judged text. Choices are whole words, whatever their case; of
 * several at one place the longest counts.
 */
export function judgeChoice(text: string, choices: readonly string[]): string | null {
  if (text.lastIndexOf("<think>") > text.lastIndexOf("</think>")) return null;
  const close = text.lastIndexOf("</think>");
  const reply = close >= 0 ? text.slice(close + "</think>".length) : text;
  const last = reply.split("\n").findLast((line) => WORD.test(line)) ?? "";
  const named = places(last, choices);
  const [only] = new Set(named.map(({ choice }) => choice)).size === 1 ? named.slice(-1) : [];
  const ends = only !== undefined && ENDING.test(last.slice(only.end));
  const isWhole = only !== undefined && WHOLE.test(last.slice(0, only.at)) && WHOLE.test(last.slice(only.end));
  const verdict = behindLast(VERDICT, reply, choices);
  const stated =
    verdict ??
    (isWhole ? only.choice : undefined) ??
    closedBoxes(reply)
      .flatMap(({ content }) => places(content, choices).at(-1) ?? [])
      .at(-1)?.choice;
  if (stated !== undefined || verdict === null) return stated ?? null;
  return behindLast(ANSWER, reply, choices) ?? (ends ? only.choice : null);
}

/** The first choice in the rest of the last such line, or in the next line with a word where it has none; null without a choice, undefined without such a line. */
function behindLast(line: RegExp, reply: string, choices: readonly string[]): string | null | undefined {
  const last = [...reply.matchAll(line)].at(-1);
  if (last === undefined) return undefined;
  const rest = reply.slice(last.index + last[0].length).split("\n");
  return places(rest.find((one) => WORD.test(one)) ?? "", choices)[0]?.choice ?? null;
}

/** Choices in the order of their places, without those inside longer ones. */
function places(text: string, choices: readonly string[]): { choice: string; at: number; end: number }[] {
  const found = choices
    .filter((choice) => choice.trim() !== "")
    .flatMap((choice) => {
      const escaped = choice.trim().replace(/[.*+?^${}()|[\]\\]/gu, "\\$&");
      const pattern = new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, "giu");
      return Array.from(text.matchAll(pattern), (match) => ({
        choice,
        at: match.index,
        end: match.index + match[0].length,
      }));
    });
  return found
    .filter(
      (one) =>
        !found.some(
          (other) =>
            other !== one && other.at <= one.at && other.end >= one.end && other.end - other.at > one.end - one.at,
        ),
    )
    .sort((a, b) => a.at - b.at);
}
