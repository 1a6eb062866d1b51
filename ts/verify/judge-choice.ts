/** The verdict of a judge model among given choices. */
import { closedBoxes } from "./math/answer-text/boxes.ts";

/** A line that begins with a verdict, and one that begins with an answer, which may be that of the judged text. */
const VERDICT = marker("final\\s+(?:judg(?:e)?ment|verdict)|judg(?:e)?ment|verdict");
const ANSWER = marker("final\\s+answer|answer");

function marker(words: string): RegExp {
  return new RegExp(`^[ \\t>*_#-]*(?:${words})\\b[\\s*_]*(?:is)?\\s*[:=-]?`, "gimu");
}

/**
 * The choice that a reply settles on, in its own spelling; null when there is none. Thinking is skipped; a reply that still thinks has no
 * verdict. The first choice behind the last line that begins with a verdict (FINAL VERDICT, JUDGMENT, ...) decides; else the last box with a
 * choice; else the first choice behind the last line that begins with an answer (FINAL ANSWER, ANSWER); else the last choice anywhere. A box that a judge
 * quotes from the judged text so never stands against its verdict. Choices are whole words, whatever their case; of several at one place
 * the longest counts.
 */
export function judgeChoice(text: string, choices: readonly string[]): string | null {
  if (text.lastIndexOf("<think>") > text.lastIndexOf("</think>")) return null;
  const close = text.lastIndexOf("</think>");
  const reply = close >= 0 ? text.slice(close + "</think>".length) : text;
  return (
    behindLast(VERDICT, reply, choices) ??
    closedBoxes(reply)
      .flatMap(({ content }) => places(content, choices).at(-1) ?? [])
      .at(-1)?.choice ??
    behindLast(ANSWER, reply, choices) ??
    places(reply, choices).at(-1)?.choice ??
    null
  );
}

function behindLast(line: RegExp, reply: string, choices: readonly string[]): string | undefined {
  const last = [...reply.matchAll(line)].at(-1);
  return last === undefined ? undefined : places(reply.slice(last.index + last[0].length), choices)[0]?.choice;
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
