/** AIME: the 30 problems of one year's American Invitational Mathematics Examination; answers are whole numbers from 0 to 999. */
import { z } from "zod";

import type { PinnedData } from "../../../datasets/index.ts";
import { extractAnswer, stripThinking } from "../../../verify/index.ts";
import { type AnyBenchmark, defineBenchmark } from "../benchmark.ts";
import { lastBoxed } from "../scoring/boxed.ts";
import { hendrycksEqual } from "../scoring/hendrycks.ts";

const row = z
  .looseObject({})
  .transform((keys) => Object.fromEntries(Object.entries(keys).map(([key, value]) => [key.toLowerCase(), value])))
  .pipe(z.object({ problem: z.string(), answer: z.union([z.string(), z.number(), z.bigint()]).transform(String) }));
type Row = z.output<typeof row>;

/** Signs and commands that only change how something looks, and degrees. */
const LOOKS =
  /\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:bf|it|rm|sf|tt)|bm|boldsymbol|displaystyle|left|right|boxed|quad|qquad|circ|degree)(?![a-zA-Z])|\\[,;:! $]|[\s$~*{}]/gu;

/**
 * The number in the last box, without leading zeros; null when there is none, or more than it with its name and its unit: \sqrt{33}, -33 and
 * 33\pi are not 33, and "20, 4" is not 204.
 */
function boxedNumber(reply: string): string | null {
  const given = extractAnswer(stripThinking(reply, { strict: false }));
  const value = (given ?? "").replaceAll(LOOKS, "").replace(/^[\p{L}+()_]*[=:]/u, "");
  return /^\(*0*(\d{1,3})(?:\.0*)?\)*\^?\p{L}*\.?$/u.exec(value)?.[1] ?? null;
}

/** lm-evaluation-harness: what stands in the last box, else between the first and last dollar sign, else the whole reply. */
function harnessAnswer(reply: string): string {
  const boxed = lastBoxed(reply);
  if (boxed !== null) return boxed;
  const [first, last] = [reply.indexOf("$"), reply.lastIndexOf("$")];
  return first === last ? reply : reply.slice(first + 1, last);
}

function aime(year: number, data: PinnedData): AnyBenchmark {
  return defineBenchmark<Row, string>({
    name: `aime-${year}`,
    title: `AIME ${year}`,
    summary: `the 30 problems of the AIME ${year}, a mean over 16 rollouts each`,
    paper: "https://artofproblemsolving.com/wiki/index.php/AIME_Problems_and_Solutions",
    data,
    row,
    modes: {
      paper: {
        source:
          "There is no paper: the usual form for reasoning models, a number in a box, sampled 16 times at temperature 0.6 (the reward is avg@16; cons@16 is beside it)",
        form: "chat",
        ask: ({ problem, answer }) => ({
          prompt: `${problem}\n\nPlease reason step by step, and put your final answer within \\boxed{}.`,
          gold: answer,
        }),
        sampling: { temperature: 0.6, maxCompletionTokens: 32_768 },
        rollouts: 16,
        primary: "number",
      },
      "lm-eval": {
        source: `lm-evaluation-harness 0.4.13, aime${year % 100} (version 0)`,
        form: "text",
        ask: ({ problem, answer }) => ({ prompt: `Question: ${problem}\nAnswer:`, gold: answer }),
        stop: ["Question:", "</s>", "<|im_end|>", "<|eot_id|>"],
        sampling: { temperature: 0, maxCompletionTokens: 32_768 },
        primary: "exact_match",
      },
    },
    scorers: {
      number: (reply, gold) => boxedNumber(reply) === String(Number.parseInt(gold, 10)),
      exact_match: (reply, gold) => hendrycksEqual(harnessAnswer(reply), gold),
    },
    answer: boxedNumber,
    examples: (gold) => ({ right: `\\boxed{${gold}}`, wrong: `\\boxed{${gold}1}` }),
  });
}

export const aime2024 = aime(2024, {
  dataset: "Maxwell-Jia/AIME_2024",
  split: "train",
  files: "*.parquet",
  revision: "8d88b2876a82a080e2f172cc9b25d0d9d2cb4792",
  rows: 30,
  licence: "MIT, as its card says; the problems are of the MAA",
});
export const aime2025 = aime(2025, {
  dataset: "math-ai/aime25",
  split: "test",
  revision: "563bb8404243c5f09de6ec262f2db674fe5bce9b",
  rows: 30,
  licence: "Apache-2.0, as its card says; the problems are of the MAA",
});
