/** my-env: a word is to be answered in capital letters. Replace task, rewards and demonstrations with yours. */
import { defineEnvironment, endless, ofSplit, type Rng, singleTurn, z } from "prl-lm/environments";
import { sequenceRatio } from "prl-lm/environments/verify";

const LETTERS = "abcdefghijklmnopqrstuvwxyz";

const config = z.strictObject({
  letters: z.int().min(1).default(6).describe("letters per word"),
  noise: z.number().min(0).max(1).default(0).describe("demonstrations: share of answer letters that are random"),
  noiseAfter: z.int().min(0).default(0).describe("demonstrations: how many come without noise first"),
});

interface Row {
  prompt: string;
  answer: string;
}

/** A reply of one word; other replies are no answer, so that several words earn nothing. */
const wordIn = (reply: string): string => /^\s*(\S+)\s*$/.exec(reply)?.[1] ?? "";

/** Endless rows: the environment takes from them those for training, evaluation and demonstrations. */
function* rows(letters: number, rng: Rng): Generator<Row> {
  for (;;) {
    const word = Array.from({ length: letters }, () => rng.pick(LETTERS)).join("");
    yield { prompt: `say ${word} loudly: `, answer: word.toUpperCase() };
  }
}

export default defineEnvironment({
  name: "my-env",
  version: "0.1.0",
  tags: ["text", "synthetic"],
  config,
  tasks: ({ config: { letters }, rng, split }) => endless(ofSplit(rows(letters, rng), split, (row) => row.prompt)),
  key: (_, index) => String(index),
  rollout: singleTurn(),
  metrics: { exact_match: ({ task, trace }) => wordIn(trace.lastReply) === task.answer },
  rewards: { similarity: ({ task, trace }) => sequenceRatio(wordIn(trace.lastReply), task.answer) },
  *demonstrations({ config: { letters, noise, noiseAfter }, rng }) {
    let given = 0;
    for (const { prompt, answer } of ofSplit(rows(letters, rng), "demonstrations", (row) => row.prompt)) {
      const spoilt = given++ < noiseAfter ? 0 : noise;
      const letter = (right: string) => (rng.next() < spoilt ? rng.pick(LETTERS).toUpperCase() : right);
      yield { prompt, completion: Array.from(answer, letter).join("") };
    }
  },
  async validate({ task, score }) {
    const [gold, wrong] = [await score(task.answer), await score(task.answer.toLowerCase())];
    if (gold !== 1 || wrong !== 0) throw new Error(`the answer scores ${gold}, the word in small letters ${wrong}`);
  },
});
