/** HumanEval+: the 164 functions of HumanEval (Chen et al., 2021) with about 80 times as many tests (Liu et al., 2023). */
import { z } from "zod";

import { defineBenchmark } from "../benchmark.ts";
import { definedNames, packed, passesTests, repliedProgram, unpacked } from "../scoring/python-tests.ts";

const row = z.object({ task_id: z.string(), prompt: z.string(), entry_point: z.string(), test: z.string() });
type Row = z.output<typeof row>;

interface Gold {
  /** The text that a reply in text form continues; null in chat form, where the reply has the whole program. */
  readonly begun: string | null;
  readonly tests: string;
  /** Functions of the program that the tests use. */
  readonly names: readonly string[];
}

const goldOf = ({ prompt, test, entry_point: entry }: Row, form: "chat" | "text"): Gold => ({
  begun: form === "text" ? prompt : null,
  tests: packed(`${test}\ncheck(${entry})`),
  names: [...new Set([entry, ...definedNames(prompt)])],
});

export const humanEvalPlus = defineBenchmark<Row, Gold>({
  name: "human-eval-plus",
  title: "HumanEval+",
  summary: "Python functions from their descriptions, run on many tests in a sandbox",
  paper: "https://arxiv.org/abs/2305.01210",
  data: {
    dataset: "evalplus/humanevalplus",
    split: "test",
    revision: "d32357cf319e50e9c8d8dab5ea876c72b0fd321b",
    rows: 164,
    licence: "Apache-2.0",
  },
  row,
  modes: {
    paper: {
      source:
        "EvalPlus 0.3.1, its prompt for chat models without the beginning of the reply that it gives; the program is the last fenced block, where EvalPlus looks for the longest text that parses",
      form: "chat",
      ask: (one, { form }) => ({
        prompt: `Please provide a self-contained Python script that solves the following problem in a markdown code block:\n\`\`\`\n${one.prompt.trim()}\n\`\`\`\n`,
        gold: goldOf(one, form),
      }),
      sampling: { temperature: 0, maxCompletionTokens: 4_096 },
      primary: "passed",
    },
    "lm-eval": {
      source: "lm-evaluation-harness 0.4.13, humaneval_plus (version 1), pass@1 of one greedy completion",
      form: "text",
      ask: (one, { form }) => ({ prompt: one.prompt, gold: goldOf(one, form) }),
      stop: ["\nclass", "\ndef", "\n#", "\nif", "\nprint"],
      sampling: { temperature: 0, maxCompletionTokens: 1_024 },
      primary: "passed",
    },
  },
  scorers: {
    passed: (reply, { begun, tests, names }, context) =>
      passesTests(begun === null ? repliedProgram(reply) : begun + reply, { source: unpacked(tests), names }, context),
  },
  scoreTimeoutMs: 600_000,
  requires: { sandbox: "pool" },
});
