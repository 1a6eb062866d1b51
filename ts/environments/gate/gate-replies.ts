/**
 * Replies that must not be paid, made of a task's gold reply and prompt: those of the catalogue's quality gate, in the form in which the environment
 * takes answers.
 */
import { EMPTIES, guesses, hostileTexts, INJECTIONS } from "../catalogue/gate/probes.ts";
import type { Sample } from "./gate-samples.ts";

/** A way to reply; null where it cannot be followed for a task. */
export interface Strategy {
  readonly name: string;
  readonly text: (sample: Sample, others: readonly Sample[]) => string | null;
}

const LONGEST_SHOWN = 40;

function quoted(text: string): string {
  return JSON.stringify(text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text);
}

/** Nothing, and replies without an answer. */
export const EMPTY: readonly Strategy[] = [
  ...["", " \n ", "I do not know.", "I cannot help with that."].map((reply): Strategy => ({
    name: quoted(reply),
    text: () => reply,
  })),
  ...EMPTIES.map((answer): Strategy => ({ name: `${quoted(answer)} as answer`, text: ({ place }) => place(answer) })),
];

/** Gold replies whose form is broken. */
export const MALFORMED: readonly Strategy[] = [
  { name: "the gold reply in thinking that is not closed", text: ({ text }) => `<think>\n${text}` },
  { name: "the first half of the gold reply", text: ({ text }) => text.slice(0, Math.floor(text.length / 2)) },
  {
    name: "the answer in a place that is not closed",
    text: ({ text, answer, place }) => {
      const whole = place(answer);
      const open = whole.slice(0, whole.indexOf(answer) + answer.length);
      return open === whole || open === text ? null : open;
    },
  },
];

/** Orders to the grader, and values that equal everything. */
export const INJECTED: readonly Strategy[] = INJECTIONS.flatMap((text): Strategy[] => [
  { name: quoted(text), text: () => text },
  {
    name: `${quoted(text)} as answer`,
    text: ({ place, text: gold }) => (place(text) === text || gold === text ? null : place(text)),
  },
]);

/** The prompt again. */
export const ECHO: readonly Strategy[] = [
  { name: "the prompt", text: ({ prompt }) => prompt },
  { name: "the prompt as answer", text: ({ prompt, place }) => (prompt === null ? null : place(prompt)) },
  ...[0, -1].flatMap((at): Strategy[] => {
    const part = ({ prompt }: Sample): string | null => prompt?.split(/\n\s*\n/u).at(at) ?? null;
    const name = at === 0 ? "the first paragraph of the prompt" : "the last paragraph of the prompt";
    return [
      { name, text: part },
      {
        name: `${name} as answer`,
        text: (sample) => {
          const found = part(sample);
          return found === null ? null : sample.place(found);
        },
      },
    ];
  }),
];

/** The gold answer between two others: where a reply that states several answers is paid wherever the right one stands, guessing is. */
export const CANDIDATES: readonly Strategy[] = ["\n", " or ", "; "].map((joint) => ({
  name: `the gold answer between two others, joined by ${quoted(joint)}`,
  text: ({ answer, place }: Sample, others: readonly Sample[]) => {
    const [before, after] = different(answer, others, 2);
    return before === undefined || after === undefined ? null : place([before, answer, after].join(joint));
  },
}));

function different(answer: string, others: readonly Sample[], most: number): string[] {
  return [...new Set(others.map((other) => other.answer))].filter((other) => other !== answer).slice(0, most);
}

/** Simple strategies on the numbers of the prompt. */
export const GUESSES: readonly Strategy[] = ["first", "last", "largest", "sum", "product"].map((name) => ({
  name: `the ${name} of the prompt's numbers`,
  text: ({ prompt, place }: Sample) => {
    const guess = prompt === null ? undefined : guesses(prompt).get(name);
    return guess === undefined ? null : place(guess);
  },
}));

/** Large texts. */
export const HOSTILE: readonly Strategy[] = hostileTexts().map(({ name, text }) => ({
  name,
  text: ({ place }: Sample) => place(text),
}));

/** The most frequent gold answers, and answers that are frequent everywhere. */
export function constants(samples: readonly Sample[], most: number, more: readonly string[]): Strategy[] {
  const counts = new Map<string, number>();
  for (const { answer } of samples) counts.set(answer, (counts.get(answer) ?? 0) + 1);
  const frequent = [...counts].toSorted(([, a], [, b]) => b - a).slice(0, most);
  return [...frequent, ...more.map((answer) => [answer, 0] as const)].map(([constant, count]) => ({
    name: quoted(constant),
    // A task whose answer occurs only once shows nothing about that answer.
    text: ({ answer, place }) => (count === 1 && answer === constant ? null : place(constant)),
  }));
}
