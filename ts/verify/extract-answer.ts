/** The part of a reply that states its answer, by one named rule. */
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { checkOptions, only } from "../options.ts";
import { balancedEnd } from "./balanced.ts";
import { closedBoxes, joinedBoxes } from "./math/answer-text/boxes.ts";
import { stripThinking } from "./strip-thinking.ts";

export interface ExtractAnswerOptions {
  /** `boxed`: the last closed \boxed{...}, boxes joined by "and", "or" or commas as one list; `hash`: after the last "####"; `last_number`; `the_answer_is`. Default boxed. */
  from?: "boxed" | "hash" | "last_number" | "the_answer_is";
  /** Null when the rule finds nothing; else the whole text is the answer. Default true. */
  strict?: boolean;
}

const NUMBER = /(?<![\p{L}\d.])[-−]?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\p{L}\d])/gu;

const optionsSchema = only<ExtractAnswerOptions>({ from: z.string().optional(), strict: z.boolean().optional() });

/**
 * Null when there is none. A text whose thinking is not closed has none.
 *
 * Errors: PRL_VERIFY_OPTIONS for an unknown rule or option.
 */
export function extractAnswer(text: string, options: ExtractAnswerOptions = {}): string | null {
  checkOptions("PRL_VERIFY_OPTIONS", "extractAnswer", optionsSchema, options);
  const { from = "boxed", strict = true } = options;
  const reply = stripThinking(text, { strict: false });
  if (text.lastIndexOf("<think>") > text.lastIndexOf("</think>")) return null;
  const found = rule(from)(reply);
  if (found !== null) return found;
  return strict ? null : reply.trim();
}

function rule(from: NonNullable<ExtractAnswerOptions["from"]>): (text: string) => string | null {
  switch (from) {
    case "boxed":
      return (text) => unboxed(joinedBoxes(text).at(-1)?.content ?? null);
    case "hash":
      return (text) => {
        const at = text.lastIndexOf("####");
        const line =
          at < 0
            ? ""
            : (text
                .slice(at + 4)
                .trim()
                .split("\n")[0] ?? "");
        return line.trim() === "" ? null : line.trim();
      };
    case "last_number":
      return (text) => {
        const numbers = (text.match(NUMBER) ?? []).filter((match) => /\d/u.test(match));
        return numbers.at(-1)?.replace("−", "-") ?? null;
      };
    case "the_answer_is":
      return answerPhrase;
    default:
      throw new PrlError(
        "PRL_VERIFY_OPTIONS",
        `from: ${JSON.stringify(from)}: use boxed, hash, last_number or the_answer_is`,
      );
  }
}

/** Boxes inside of boxes that are taken off. */
const MOST_BOXES = 8;

/** Without boxes around the whole. */
function unboxed(content: string | null): string | null {
  let text = content?.trim() ?? null;
  for (let count = 0; count < MOST_BOXES && text !== null; count++) {
    const [box] = closedBoxes(text);
    if (box?.at !== 0 || box.end !== text.length) return text;
    text = box.content.trim();
  }
  return text;
}

/** Returns the text behind the last "the answer is": a formula, or the rest of the sentence. */
function answerPhrase(text: string): string | null {
  const matches = [...text.matchAll(/answer\s+is\s*:?\s*/giu)];
  const last = matches.at(-1);
  if (last === undefined) return null;
  const rest = text.slice(last.index + last[0].length);
  const formula = /^(?:\$\$(.+?)\$\$|\$(.+?)\$|\\\((.+?)\\\)|\\\[(.+?)\\\])/su.exec(rest);
  const inside = formula?.slice(1).find((part) => part !== undefined);
  if (inside !== undefined) return inside.trim();
  const box = /^\\boxed\s*(?=\{)/u.exec(rest);
  if (box !== null) {
    const end = balancedEnd(rest, box[0].length);
    if (end !== null) return rest.slice(box[0].length + 1, end - 1).trim();
  }
  const sentence = rest.split(/\n|[.!?](?=\s|$)/u)[0]?.trim() ?? "";
  return sentence === "" ? null : sentence;
}
