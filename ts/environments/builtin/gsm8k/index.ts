/** gsm8k: word problems of primary school with a whole number as answer, which the reply states behind `####`. */
import { z } from "zod";

import { PrlError } from "../../../errors.ts";
import { defineEnvironment } from "../../model/environment.ts";
import type { Message } from "../../../message.ts";
import { reward } from "../../model/reward.ts";
import type { Rng } from "../../../random/rng.ts";
import { singleTurn } from "../../conversation/single-turn.ts";
import { extractAnswer } from "../../../verify/index.ts";
import { ofSplit } from "../../../datasets/index.ts";
import { dataArguments, dataTasks } from "../task-data.ts";
import { sameNumber, statedNumber } from "./answer.ts";
import { problems } from "./problems.ts";

const config = z.strictObject({
  ...dataArguments("openai/gsm8k"),
  subset: z.string().min(1).nullable().default("main").describe("config of the dataset"),
  strict: z.boolean().default(false).describe("only a number behind #### counts; else also a box or the last number"),
});

const dataSchema = z.object({ question: z.string(), answer: z.string() });

interface Row {
  prompt: Message[];
  question: string;
  /** Steps of a solution, without the answer. */
  solution: string;
  answer: string;
}

const INSTRUCTION =
  "Solve the problem step by step. Write the answer as a number in a last line of its own, behind ####.";

export default defineEnvironment({
  name: "gsm8k",
  version: "1.1.0",
  tags: ["math"],
  config,
  tasks: (context) =>
    dataTasks(context, dataSchema, {
      row: rowOf,
      generated: () => generated(context.rng),
      content: (row) => row.question,
    }),
  rollout: singleTurn(),
  metrics: { formatted: ({ trace }) => extractAnswer(trace.lastReply, { from: "hash" }) !== null },
  rewards: {
    correct: reward(1, ({ task, trace, config: { strict } }) => {
      const stated = statedNumber(trace.lastReply, strict);
      return stated !== null && sameNumber(stated, task.answer);
    }),
  },
  *demonstrations({ rng }) {
    for (const { prompt, solution, answer } of ofSplit(generated(rng), "demonstrations", (row) => row.question)) {
      yield { messages: [...prompt, { role: "assistant", content: `${solution}\n#### ${answer}` }] };
    }
  },
  async validate({ task: { solution, answer }, score }) {
    const gold = await score(`${solution}\n#### ${answer}`);
    const wrong = await score(`${solution}\n#### ${answer}1`);
    if (gold !== 1 || wrong !== 0) throw new Error(`the answer scores ${gold}, ten times it and one ${wrong}`);
  },
});

/** @param answer the steps, and behind `####` the number. */
function rowOf({ question, answer }: z.output<typeof dataSchema>): Row {
  const number = statedNumber(answer, true);
  if (number === null) {
    throw new PrlError(
      "PRL_DATA_ROW",
      `the answer of ${JSON.stringify(question.slice(0, 60))} has no number behind ####`,
    );
  }
  const prompt: Message[] = [{ role: "user", content: `${question}\n\n${INSTRUCTION}` }];
  return { prompt, question, solution: answer.slice(0, answer.lastIndexOf("####")).trim(), answer: number };
}

function* generated(rng: Rng): Generator<Row> {
  for (const problem of problems(rng)) yield rowOf(problem);
}
