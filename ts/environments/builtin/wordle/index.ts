/**
 * wordle: find a five-letter word in six guesses. Each guess is answered with one mark per letter: G right place, Y elsewhere, - nowhere.
 *
 * Words are generated (see words.ts), so there is no dictionary: any five letters are a guess. Rewarded when found, more for fewer guesses.
 */
import { z } from "zod";

import { defineEnvironment } from "../../model/environment.ts";
import type { Message } from "../../../message.ts";
import { multiTurn } from "../../conversation/multi-turn.ts";
import { reward } from "../../model/reward.ts";
import type { Rng } from "../../../random/rng.ts";
import { endless } from "../../model/tasks.ts";
import type { Trace } from "../../episode/trace.ts";
import { xmlParser } from "../../../verify/index.ts";
import { ofSplit } from "../../../datasets/index.ts";
import { word } from "../words.ts";

const GUESSES = 6;
const LETTERS = 5;
const parser = xmlParser(["guess"], { answerField: "guess" });

interface Row {
  prompt: Message[];
  word: string;
}

export default defineEnvironment({
  name: "wordle",
  version: "1.1.0",
  tags: ["game", "multi-turn", "synthetic"],
  config: z.strictObject({}),
  tasks: ({ rng, split }) => endless(ofSplit(rows(rng), split, (row) => row.word)),
  key: (_, index) => String(index),
  contentKey: (row) => row.word,
  rollout: multiTurn<Row>({
    maxTurns: GUESSES,
    respond: (trace, task) => {
      const guess = guessOf(trace.lastReply);
      return guess === null
        ? `That is no guess: ${LETTERS} letters in <guess> tags.`
        : `${guess.toUpperCase()}\n${marks(guess, task.word)}`;
    },
    stops: { found: (trace, task) => guessOf(trace.lastReply) === task.word },
  }),
  metrics: { guesses: ({ trace }) => trace.turns, greens: ({ task, trace }) => bestGreens(trace, task.word) },
  rewards: {
    found: reward(1, ({ task, trace }) => guessOf(trace.lastReply) === task.word),
    early: reward(0.5, ({ task, trace }) =>
      guessOf(trace.lastReply) === task.word ? 1 - (trace.turns - 1) / GUESSES : 0,
    ),
    progress: reward(0.2, ({ task, trace }) => bestGreens(trace, task.word) / LETTERS),
  },
  async validate({ task, score }) {
    const [gold, wrong] = [await score(`<guess>${task.word}</guess>`), await score("<guess>?????</guess>")];
    if (Math.abs(gold - 1.7) > 1e-9 || wrong !== 0) throw new Error(`the word scores ${gold}, no guess ${wrong}`);
  },
});

function guessOf(reply: string): string | null {
  const guess = parser.parseAnswer(reply)?.toLowerCase() ?? "";
  return /^[a-z]{5}$/u.test(guess) ? guess : null;
}

/** G where the letter is right; Y for as many of the others as the word still has, from the left. */
export function marks(guess: string, word_: string): string {
  const left = Array.from(word_).filter((letter, place) => guess[place] !== letter);
  return Array.from(guess, (letter, place) => {
    if (word_[place] === letter) return "G";
    const found = left.indexOf(letter);
    if (found >= 0) left.splice(found, 1);
    return found >= 0 ? "Y" : "-";
  }).join("");
}

function bestGreens(trace: Trace, word_: string): number {
  const guesses = trace.nodes.filter(({ sampled }) => sampled).map(({ message }) => guessOf(message.content));
  return Math.max(
    0,
    ...guesses.map((guess) => (guess === null ? 0 : marks(guess, word_).replace(/[^G]/gu, "").length)),
  );
}

function* rows(rng: Rng): Generator<Row> {
  const content =
    `Find the hidden word of ${LETTERS} letters in at most ${GUESSES} guesses. Each guess is marked letter by letter: G for a letter in ` +
    "its place, Y for one that is elsewhere in the word, - for one that is not. Guess with <guess>...</guess>; any five letters may be guessed.";
  for (;;) {
    const made = word(rng, 2);
    if (made.length === LETTERS) yield { prompt: [{ role: "user", content }], word: made };
  }
}
