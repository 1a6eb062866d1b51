/** The grade that a judge gives a short answer: CORRECT, INCORRECT or NOT_ATTEMPTED, and the question that it is asked. */
import { readFileSync } from "node:fs";

import { PrlError } from "../../../../errors.ts";
import { stripThinking } from "../../../../verify/index.ts";
import { marksNote, sections } from "../../../judge/judge-reference.ts";

export const GRADES = ["CORRECT", "INCORRECT", "NOT_ATTEMPTED"] as const;
export type Grade = (typeof GRADES)[number];

export interface Asked {
  readonly question: string;
  readonly target: string;
  readonly reply: string;
}

/** The placeholders of a template for question, right answer and reply. */
const PLACES = { "{question}": "question", "{target}": "target", "{predicted_answer}": "reply" } as const;

/**
 * The grade in a judge's answer, by the published rule: the first A, B or C that stands anywhere, in a word too. Thinking does not count. Without one
 * the answer is not attempted.
 */
export function gradeOf(answer: string): Grade {
  const letter = /[ABC]/u.exec(stripThinking(answer, { strict: false }))?.[0] ?? "C";
  return GRADES["ABC".indexOf(letter)] ?? "NOT_ATTEMPTED";
}

/** The prompt for a judge: the template with its places filled, or without a template our own. */
export function gradingPrompt(asked: Asked, template: string | null): string {
  return template === null ? ownPrompt(asked) : filled(template, asked);
}

/** Errors: PRL_DATA_FILE when it cannot be read, PRL_CONFIG_INVALID when a place is missing. */
export function readTemplate(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (cause) {
    throw new PrlError("PRL_DATA_FILE", `judge_prompt: the file ${path} cannot be read`, { cause });
  }
  const missing = Object.keys(PLACES).filter((place) => !text.includes(place));
  if (missing.length === 0) return text.trim();
  throw new PrlError("PRL_CONFIG_INVALID", `judge_prompt: ${path} has no ${missing.join(", ")}`);
}

/** All places at once, so that a question with a brace is not filled again. */
function filled(template: string, asked: Asked): string {
  return template.replaceAll(
    /\{question\}|\{target\}|\{predicted_answer\}/gu,
    (place) => asked[PLACES[place as keyof typeof PLACES]],
  );
}

function ownPrompt({ question, target, reply }: Asked): string {
  const parts = [question, target, reply];
  const section = sections(parts);
  return [
    "Grade an answer to a question of fact by the right answer. Give one of three grades.",
    [
      "A (correct): the answer has everything that is asked for and that the right answer says, and contradicts none of it. Wording, order, capitals, hedging and small slips in the spelling of names do not count. What follows from the question may be left out. A number is right to the last figure that the right answer gives.",
      "B (incorrect): something in the answer contradicts the right answer, even when it is hedged, or a name stands beside the right one as another possibility.",
      "C (not attempted): the right answer is not there in full, and nothing contradicts it. A refusal and a question in return are of this kind.",
    ].join("\n"),
    marksNote(parts),
    section("question", question),
    section("right answer", target),
    section("answer", reply),
    "Write one letter and nothing else: A, B or C.",
  ].join("\n\n");
}

/** SimpleQA's further numbers of the three shares: of the answers that were tried, how many are right, and the harmonic mean with all of them. */
export function attemptedNumbers(means: Readonly<Record<string, number>>): Record<string, number> {
  const { is_correct: correct = 0, is_incorrect: incorrect = 0 } = means;
  const attempted = correct + incorrect;
  const given = attempted > 0 ? correct / attempted : 0;
  return {
    is_given_attempted: attempted,
    accuracy_given_attempted: given,
    f1: given + correct > 0 ? (2 * given * correct) / (given + correct) : 0,
  };
}
