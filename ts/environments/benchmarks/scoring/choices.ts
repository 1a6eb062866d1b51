/** Which option of a question a reply chooses, by the published rules of GPQA, MMLU-Pro and lm-evaluation-harness. */
import { PythonRandom } from "../../../random/python-random.ts";

/** The letter of an option: A for 0. */
export function letterOf(index: number): string {
  return String.fromCodePoint(65 + index);
}

/** GPQA's rule: the first of five patterns that names an option; null when none does. */
export function gpqaChoice(reply: string): string | null {
  const patterns = [/answer is \((.)\)/u, /Answer: \((.)\)/u, /answer: \((.)\)/u, /answer \((.)\)/u, /\((.)\)/u];
  for (const pattern of patterns) {
    const letter = pattern.exec(reply)?.[1] ?? "";
    if (/^[ABCD]$/u.test(letter)) return letter;
  }
  return null;
}

/** Letters of MMLU-Pro, and the one that its code draws for a reply that names none (always the same: the seed is set before each draw). */
const TEN = "ABCDEFGHIJ";
const DRAWN = TEN[new PythonRandom(12_345).below(TEN.length)] ?? "";

/** MMLU-Pro's rule: "answer is (X)", else "Answer: X", else the last letter that stands alone; null when there is none. */
export function mmluProChoice(reply: string): string | null {
  return (
    /answer is \(?([A-J])\)?/u.exec(reply)?.[1] ??
    answerLine(reply) ??
    [...reply.matchAll(/\b[A-J]\b/gu)].at(-1)?.[0] ??
    null
  );
}

/** The authors' `.*[aA]nswer:\s*([A-J])`, which finds the last one of the first line that has any. Their pattern reads each line once for each of its signs. */
function answerLine(reply: string): string | undefined {
  const found = [...reply.matchAll(/[aA]nswer:\s*([A-J])/gu)];
  const end = reply.indexOf("\n", found[0]?.index ?? 0);
  return found.findLast(({ index }) => end < 0 || index < end)?.[1];
}

/** The same with the authors' draw for a reply that names no option. */
export function mmluProAnswer(reply: string): string {
  return mmluProChoice(reply) ?? DRAWN;
}

/**
 * The harness's filter `multi_choice_regex` with `(\([A-Z]\))`, the last match: a letter in brackets, else the text of an option, else a
 * letter behind a colon.
 */
export function harnessChoice(reply: string, choices: readonly string[]): string {
  const bracketed = [...reply.matchAll(/\([A-Z]\)/gu)].at(-1)?.[0];
  if (bracketed !== undefined) return bracketed;
  const plain = (text: string): string => text.toLowerCase().replaceAll(/\p{P}/gu, "");
  const letters = new Map(choices.map((choice, index) => [plain(choice.trim()), `(${letterOf(index)})`]));
  const texts = [...letters.keys()].toSorted((a, b) => b.length - a.length);
  const escaped = texts.map((text) => text.replaceAll(/[.*+?^${}()|[\]\\/-]/gu, String.raw`\$&`));
  const named = [...plain(reply).matchAll(new RegExp(escaped.join("|"), "gu"))].at(-1)?.[0].trim() ?? "";
  if (named !== "") return letters.get(named) ?? named;
  const last = letterOf(choices.length - 1);
  const lettered = [...reply.matchAll(new RegExp(`:\\s*([A-${last}])`, "gu"))].at(-1)?.[1];
  return lettered === undefined ? "[invalid]" : `(${lettered})`;
}
