/** math: problems with an exact answer in a box, compared as mathematics. */
import { z } from "zod";

import { PrlError } from "../../../errors.ts";
import { defineEnvironment } from "../../model/environment.ts";
import type { Message } from "../../../message.ts";
import { reward } from "../../model/reward.ts";
import type { Rng } from "../../../random/rng.ts";
import { singleTurn } from "../../conversation/single-turn.ts";
import { extractAnswer, verifyMath } from "../../../verify/index.ts";
import { isCopied, isFinished } from "../finished-answer.ts";
import { ofSplit } from "../../../datasets/index.ts";
import { dataArguments, dataTasks, GENERATED } from "../task-data.ts";
import { KINDS, problems } from "./problems.ts";

const config = z.strictObject({
  ...dataArguments(GENERATED),
  kinds: z
    .array(z.enum(KINDS))
    .min(1)
    .default([...KINDS])
    .describe("kinds of generated problems"),
  boxed: z.boolean().default(true).describe("only an answer in a box counts; else also one that is stated otherwise"),
  unanswered: z
    .enum(["refuse", "leave_out"])
    .default("refuse")
    .describe(
      "rows of data without an answer: an error that names the first, or no tasks; tasks/<source>/left_out counts them",
    ),
  deadlineMs: z.int().min(1).max(20_000).default(2000).describe("longest that one comparison may take (ms)"),
});
type Config = z.output<typeof config>;

/** A row with the keys of common datasets: a problem, and its answer or a solution that has it in a box. */
const dataSchema = z.looseObject({
  problem: z.string().optional(),
  question: z.string().optional(),
  answer: z.union([z.string(), z.number()]).optional(),
  solution: z.string().optional(),
});

interface Row {
  prompt: Message[];
  problem: string;
  answer: string;
  /** Set where they are known: the answer in another form, a wrong one, and the right one in the problem's own form. */
  other?: string;
  wrong?: string;
  unevaluated?: string;
}

const INSTRUCTION = "Reason step by step and put the final answer in \\boxed{}.";
/** Added to generated problems, whose answers have a computed form. */
const WORKED_OUT = "Leave no operation in it that can be carried out.";

export default defineEnvironment({
  name: "math",
  version: "1.1.0",
  tags: ["math", "symbolic"],
  config,
  tasks: (context) =>
    dataTasks(context, dataSchema, {
      row: (data) => rowOf(data, context.config.unanswered),
      generated: () => generated(context.rng, context.config),
      content: (row) => row.problem,
    }),
  rollout: singleTurn(),
  metrics: { boxed: ({ trace }) => extractAnswer(trace.lastReply) !== null },
  rewards: {
    correct: reward(1, async ({ task, trace, config: { boxed, deadlineMs } }) => {
      const given = extractAnswer(trace.lastReply, { strict: boxed });
      if (given === null || isCopied(given, task.problem, task.answer)) return false;
      if (task.other !== undefined && !isFinished(given)) return false;
      return (await verifyMath(boxIn(task.answer), boxed ? boxIn(given) : given, { deadlineMs })).correct;
    }),
  },
  *demonstrations({ config: args, rng }) {
    for (const { prompt, answer } of ofSplit(generated(rng, args), "demonstrations", (row) => row.problem)) {
      yield { messages: [...prompt, { role: "assistant", content: boxIn(answer) }] };
    }
  },
  async validate({ task: { answer, other, wrong, unevaluated }, score }) {
    const gold = await score(boxIn(answer));
    if (gold !== 1) throw new Error(`the answer ${answer} scores ${gold}`);
    if (other !== undefined && (await score(boxIn(other))) !== 1)
      throw new Error(`${other}, which is ${answer}, does not score full`);
    if (wrong !== undefined && (await score(boxIn(wrong))) !== 0) throw new Error(`${wrong} scores as ${answer} does`);
    if (unevaluated !== undefined && (await score(boxIn(unevaluated))) !== 0)
      throw new Error(`${unevaluated}, which is not computed, scores like ${answer}`);
  },
});

function boxIn(answer: string): string {
  return `\\boxed{${answer}}`;
}

function rowOf(data: z.output<typeof dataSchema>, unanswered: Config["unanswered"]): Row | null {
  const { problem, question, answer, solution } = data;
  const text = problem ?? question;
  const isGiven = answer !== undefined && String(answer).trim() !== "";
  const gold = isGiven ? answer : solution === undefined ? null : extractAnswer(solution);
  if (gold === null && text !== undefined && unanswered === "leave_out") return null;
  if (text === undefined || gold === null) {
    const problemText = text === undefined ? 'no "problem" or "question"' : 'no "answer", and no box in "solution"';
    throw new PrlError("PRL_DATA_ROW", `a row of data has ${problemText}`);
  }
  return { ...asked(text), answer: String(gold) };
}

function* generated(rng: Rng, { kinds }: Config): Generator<Row> {
  for (const { problem, answer, other, wrong, unevaluated } of problems(rng, kinds)) {
    yield {
      ...asked(problem, `${INSTRUCTION} ${WORKED_OUT}`),
      answer,
      other,
      wrong,
      ...(unevaluated !== undefined && { unevaluated }),
    };
  }
}

function asked(problem: string, instruction = INSTRUCTION): Pick<Row, "prompt" | "problem"> {
  return { prompt: [{ role: "user", content: `${problem}\n\n${instruction}` }], problem };
}
