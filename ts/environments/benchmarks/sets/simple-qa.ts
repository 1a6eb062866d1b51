/** SimpleQA: 4326 questions of fact with one short answer each, graded by a judge model (Wei et al., 2024). */
import { z } from "zod";

import { type AnyBenchmark, defineBenchmark, type ScoringContext } from "../benchmark.ts";
import { attemptedNumbers, type Grade, gradeOf, gradingPrompt, readTemplate } from "../scoring/simple-qa/grade.ts";

/** Time for the judge's answer, its retries included. */
const SCORE_TIMEOUT_MS = 600_000;

const row = z.object({ problem: z.string(), answer: z.string() });
type Row = z.output<typeof row>;

interface Gold {
  readonly question: string;
  readonly target: string;
}

/** One question to the judge for all scores of a reply. */
function graded(reply: string, { question, target }: Gold, context: ScoringContext): Promise<Grade> {
  return context.once("grade", () => {
    const { judge, judgePrompt } = context;
    const template = judgePrompt === null ? null : readTemplate(judgePrompt);
    return judge.read(gradingPrompt({ question, target, reply }, template), "simple-qa", gradeOf);
  });
}

const scorer =
  (grade: Grade) =>
  async (reply: string, gold: Gold, context: ScoringContext): Promise<boolean> =>
    (await graded(reply, gold, context)) === grade;

export const simpleQa: AnyBenchmark = defineBenchmark<Row, Gold>({
  name: "simple-qa",
  title: "SimpleQA",
  summary: "questions of fact with one short answer, graded by a judge model as correct, incorrect or not attempted",
  paper: "https://arxiv.org/abs/2411.04368",
  data: {
    dataset: "basicv8vc/SimpleQA",
    split: "test",
    files: "simple_qa_test_set.csv",
    revision: "e319282ab125c3dbd0c7fd00be2e4dd54e7e8f94",
    rows: 4_326,
    licence: "MIT",
  },
  row,
  modes: {
    paper: {
      source:
        "Wei et al. (2024), simple-evals: the question alone; a judge grades the reply, its first letter of A, B and C counts. The published judge is GPT-4o with the GRADER_TEMPLATE of simple-evals, which is not part of prl: give it as a file (judge_prompt), or else the judge gets our own wording of its rules",
      form: "chat",
      ask: ({ problem, answer }) => ({ prompt: problem, gold: { question: problem, target: answer } }),
      sampling: { temperature: 0.5, maxCompletionTokens: 2_048 },
      primary: "is_correct",
    },
  },
  needsJudge: true,
  scorers: {
    is_correct: scorer("CORRECT"),
    is_incorrect: scorer("INCORRECT"),
    is_not_attempted: scorer("NOT_ATTEMPTED"),
  },
  derived: attemptedNumbers,
  scoreTimeoutMs: SCORE_TIMEOUT_MS,
});
