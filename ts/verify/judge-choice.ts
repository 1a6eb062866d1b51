/** The verdict of a judge model among given choices. */
import { closedBoxes } from "./math/answer-text/boxes.ts";

const MARKER =
  /^[ \t>*_#-]*(?:final\s+(?:judg(?:e)?ment|answer|verdict)|judg(?:e)?ment|verdict|answer)\b[\s*_]*(?:is)?\s*[:=-]?/gimu;

/**
 * The choice that a reply settles on, in its own spelling; null when there is none. Thinking is skipped; a reply that still thinks has no
 * verdict. A box decides; else the first choice behind the last line that begins with a marker (FINAL VERDICT, JUDGMENT, ANSWER, ...); else
 * the last choice anywhere. Choices are whole words, whatever their case; of several at one place the longest counts.
 */
export function judgeChoice(text: string, choices: readonly string[]): string | null {
  if (text.lastIndexOf("<think>") > text.lastIndexOf("</think>")) return null;
  const close = text.lastIndexOf("</think>");
  const reply = close >= 0 ? text.slice(close + "</think>".length) : text;
  const box = closedBoxes(reply).at(-1)?.content;
  if (box !== undefined) return places(box, choices).at(-1)?.choice ?? null;
  const marker = [...reply.matchAll(MARKER)].at(-1);
  if (marker !== undefined) {
    const behind = places(reply.slice(marker.index + marker[0].length), choices)[0];
    if (behind !== undefined) return behind.choice;
  }
  return places(reply, choices).at(-1)?.choice ?? null;
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
