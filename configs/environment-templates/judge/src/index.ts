/** my-env: an answer in free words, which a model judges. Replace the question and its reference answer with yours. */
import {
  defineEnvironment,
  endless,
  endpointConfig,
  type Message,
  ofSplit,
  reward,
  type Rng,
  singleTurn,
  z,
} from "prl-lm/environments";

import { stripThinking } from "prl-lm/environments/verify";

import { STAND_IN_JUDGE } from "./stand-in-judge.js";

const DAY_MS = 86_400_000;
const JUDGING_MS = 120_000;

const config = z.strictObject({
  judge: endpointConfig
    .nullable()
    .default(null)
    .describe("the model that judges; null: the stand-in of src/stand-in-judge.ts, which is for tests"),
  days: z.int().min(1).default(90).describe("longest time to add, in days"),
});

/** The reply behind its thinking; nothing where the thinking never ended, because an answer in it is only considered. */
const answerPart = (reply: string): string =>
  reply.includes("<think>") && !reply.includes("</think>") ? "" : stripThinking(reply, { strict: false });

interface Row {
  prompt: Message[];
  question: string;
  answer: string;
}

const FORMAT = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });
const dateText = (ms: number): string => FORMAT.format(new Date(ms));

function* rows(longest: number, rng: Rng): Generator<Row> {
  for (;;) {
    const from = Date.UTC(1950, 0, 1) + rng.integer(40_000) * DAY_MS;
    const days = 1 + rng.integer(longest);
    const question = `Which date is ${days} days after ${dateText(from)}?`;
    const content = `${question} Answer in one short sentence.`;
    yield { prompt: [{ role: "user", content }], question, answer: dateText(from + days * DAY_MS) };
  }
}

export default defineEnvironment({
  name: "my-env",
  version: "0.1.0",
  tags: ["judge", "synthetic"],
  config,
  tasks: ({ config: { days }, rng, split }) => endless(ofSplit(rows(days, rng), split, ({ prompt }) => prompt)),
  key: (_, index) => String(index),
  rollout: singleTurn(),
  judge: ({ config: { judge } }) => ({ endpoint: judge ?? STAND_IN_JUDGE }),
  metrics: {
    // A run that was judged by the stand-in is recognised by it.
    stand_in_judge: ({ config: { judge } }) => judge === null,
  },
  rewards: {
    // A judge that gives no verdict is an error of the rollout, never a reward of 0.
    right: reward(
      1,
      ({ task: { question, answer }, trace, judge }) =>
        judge.reference({ question, answer, response: answerPart(trace.lastReply) }),
      { timeoutMs: JUDGING_MS },
    ),
  },
  async validate({ task, score }) {
    const other = dateText(Date.parse(`${task.answer} UTC`) + DAY_MS);
    const [gold, wrong] = [await score(`It is ${task.answer}.`), await score(`It is ${other}.`)];
    if (gold !== 1 || wrong !== 0) throw new Error(`the date scores ${gold}, the next day ${wrong}`);
  },
});
