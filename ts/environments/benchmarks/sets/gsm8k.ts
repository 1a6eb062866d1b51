/** GSM8K: 1,319 word problems of primary school (Cobbe et al., 2021). */
import { z } from "zod";

import type { PinnedData } from "../../../datasets/index.ts";
import { stripThinking } from "../../../verify/index.ts";
import { defineBenchmark } from "../benchmark.ts";
import { exactMatch, joinShots, regexFilter } from "../scoring/lm-eval.ts";

const row = z.object({ question: z.string(), answer: z.string() });
type Row = z.output<typeof row>;

const data: PinnedData = {
  dataset: "openai/gsm8k",
  config: "main",
  split: "test",
  revision: "740312add88f781978c0658806c59bc2815b9866",
  rows: 1_319,
  licence: "MIT",
  sha256: { "main/test-00000-of-00001.parquet": "ee7b8da9e381df27b9e3f7758a159ab2bdaa4dbaa910546cbbc47e0cb44e4f59" },
};
const training: PinnedData = { ...data, split: "train", rows: 7_473, sha256: {} };

/** The characters that lm-evaluation-harness removes from both sides before it compares them. */
const IGNORED = [/,/gu, /\$/gu, /^[\s\S]*#### /gu, /\.$/gu];
const matches = (given: string, gold: string): boolean =>
  exactMatch(given, gold, { ignore: IGNORED, ignoreCase: true });

/** The authors' rule: the number behind the first ####, without commas. */
function published(text: string): string | null {
  return /#### (-?[0-9.,]+)/u.exec(text)?.[1]?.trim().replaceAll(",", "") ?? null;
}

const lastNumber = (reply: string): string => regexFilter(reply, /(-?[$0-9.,]{2,})|(-?[0-9]+)/gu, -1);

export const gsm8k = defineBenchmark<Row, string>({
  name: "gsm8k",
  title: "GSM8K",
  summary: "word problems of primary school, whole numbers as answers",
  paper: "https://arxiv.org/abs/2110.14168",
  data,
  row,
  modes: {
    paper: {
      source:
        "Cobbe et al. (2021): the number behind ####, compared as text without commas. The paper trains its models to that form; the sentence that asks for it is ours.",
      form: "chat",
      ask: ({ question, answer }) => ({
        prompt: `${question}\n\nSolve the problem step by step. End with a line that has only "#### " and the answer as a number.`,
        gold: answer,
      }),
      sampling: { temperature: 0, maxCompletionTokens: 2_048 },
      primary: "published",
    },
    "lm-eval": {
      source: "lm-evaluation-harness 0.4.13, gsm8k (version 3): 5 examples of the training split, strict-match",
      form: "text",
      ask: ({ question, answer }, { shots }) => ({
        prompt: joinShots(
          shots.map((shot) => ({ question: asked(shot.question), answer: shot.answer })),
          asked(question),
        ),
        gold: answer,
      }),
      shots: { count: 5, from: training, choose: "draw" },
      stop: ["Question:", "</s>", "<|im_end|>"],
      sampling: { temperature: 0, maxCompletionTokens: 256 },
      primary: "strict_match",
    },
  },
  scorers: {
    published: (reply, gold) => {
      const given = published(stripThinking(reply, { strict: false }));
      return given !== null && given === published(gold);
    },
    strict_match: (reply, gold) => matches(regexFilter(reply, /#### (-?[0-9.,]+)/gu), gold),
    flexible_extract: (reply, gold) => matches(lastNumber(reply), gold),
  },
  answer: (reply) => {
    const text = stripThinking(reply, { strict: false });
    const given = published(text) ?? lastNumber(text).replaceAll(/[$,]|\.$/gu, "");
    return given === "[invalid]" ? null : given;
  },
  examples: (gold) => ({ right: gold, wrong: `${gold}9` }),
});

function asked(question: string): string {
  return `Question: ${question}\nAnswer:`;
}
