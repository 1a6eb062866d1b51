/** MBPP+: 378 short Python tasks of MBPP (Austin et al., 2021) with about 35 times as many tests (Liu et al., 2023). */
import { z } from "zod";

import { type AskContext, defineBenchmark } from "../benchmark.ts";
import { joinShots } from "../scoring/lm-eval.ts";
import { definedNames, packed, passesTests, repliedProgram, unpacked } from "../scoring/python-tests.ts";

/** Worked examples have `text` in place of `prompt`, and no tests beyond the three. */
const row = z.object({
  prompt: z.string().optional(),
  text: z.string().optional(),
  code: z.string(),
  test_imports: z.array(z.string()).optional(),
  test_list: z.array(z.string()).min(1),
  test: z.string().optional(),
});
type Row = z.output<typeof row>;

interface Gold {
  /** Whether a reply is the program itself; in chat form the program is in a fenced block of it. */
  readonly isBare: boolean;
  /** The three tests of MBPP. */
  readonly base: string;
  /** All tests. */
  readonly plus: string;
  /** Functions and classes of the program that the tests use: those of the reference. */
  readonly names: readonly string[];
}

const textOf = ({ prompt, text }: Row): string => prompt ?? text ?? "";

function goldOf({ code, test_imports: needed = [], test_list: tests, test }: Row, form: "chat" | "text"): Gold {
  const base = tests.slice(0, 3).join("\n");
  const plus = packed(test ?? [...needed, base].join("\n"));
  return { isBare: form === "text", base, plus, names: definedNames(code) };
}

function harnessPrompt(one: Row, { shots }: AskContext<Row>): string {
  const asked = (shown: Row): string =>
    `You are an expert Python programmer, and here is your task: ${textOf(shown)} Your code should pass these tests:\n\n${[0, 1, 2].map((at) => `${shown.test_list[at] ?? ""}\n`).join("")}[BEGIN]\n`;
  return joinShots(
    shots.map((shot) => ({ question: asked(shot), answer: `${shot.code}\n[DONE]` })),
    asked(one),
    "",
  );
}

const program = (reply: string, isBare: boolean): string => (isBare ? reply : repliedProgram(reply));

export const mbppPlus = defineBenchmark<Row, Gold>({
  name: "mbpp-plus",
  title: "MBPP+",
  summary: "short Python tasks with a test to show the form, run on many tests in a sandbox",
  paper: "https://arxiv.org/abs/2305.01210",
  data: {
    dataset: "evalplus/mbppplus",
    split: "test",
    revision: "b2d74c91837c3f2a20c1299ae98133cbe7cfa077",
    rows: 378,
    licence: "Apache-2.0",
    sha256: {
      "data/test-00000-of-00001-d5781c9c51e02795.parquet":
        "dc20030b3788fccf617444edcb34138ef13d7e4fafd17bfcb8c1279dbb12399b",
    },
  },
  row,
  modes: {
    paper: {
      source:
        "EvalPlus 0.3.1: its prompt for chat models around the task and its first test; the program is the last fenced block. The tests are those of the data set of the same authors",
      form: "chat",
      ask: (one, { form }) => ({
        prompt: `Please provide a self-contained Python script that solves the following problem in a markdown code block:\n\`\`\`\n"""\n${textOf(one).trim()}\n${one.test_list[0] ?? ""}\n"""\n\`\`\`\n`,
        gold: goldOf(one, form),
      }),
      sampling: { temperature: 0, maxCompletionTokens: 4_096 },
      primary: "passed",
    },
    "lm-eval": {
      source:
        "lm-evaluation-harness 0.4.13, mbpp_plus (version 1): 3 examples, and only the three tests of MBPP count there",
      form: "text",
      ask: (one, context) => ({ prompt: harnessPrompt(one, context), gold: goldOf(one, context.form) }),
      shots: {
        count: 3,
        from: "file",
        choose: "first",
        advice: "keys text, code and test_list; lm_eval.tasks.mbpp.utils.list_fewshot_samples() of Python has them",
      },
      stop: ["[DONE]"],
      sampling: { temperature: 0, maxCompletionTokens: 256 },
      primary: "passed_base",
    },
  },
  scorers: {
    passed: (reply, { isBare, plus, names }, context) =>
      passesTests(program(reply, isBare), { source: unpacked(plus), names }, context),
    passed_base: (reply, { isBare, base, names }, context) =>
      passesTests(program(reply, isBare), { source: base, names }, context),
  },
  scoreTimeoutMs: 600_000,
  requires: { sandbox: "pool" },
});
