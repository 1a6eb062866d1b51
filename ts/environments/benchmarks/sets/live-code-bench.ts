/** LiveCodeBench: 1055 problems of programming contests from May 2023 to April 2025, with hidden tests (Jain et al., 2024). */
import { basename } from "node:path";
import { z } from "zod";

import { PrlError } from "../../../errors.ts";
import type { PinnedData } from "../../../datasets/index.ts";
import { gradeProgram, programReward, stripThinking } from "../../../verify/index.ts";
import {
  type AnyBenchmark,
  type AskContext,
  defineBenchmark,
  type Question,
  type ScoringContext,
} from "../benchmark.ts";
import { benchmarkFiles } from "../benchmark-data.ts";
import { fencedProgram, gradedProgram } from "../scoring/live-code-bench/program.ts";
import { rowAt } from "../scoring/live-code-bench/row-at.ts";
import { testsOfRow } from "../scoring/live-code-bench/tests-of-row.ts";

/** Time of one test, as published. */
const TEST_MS = 6_000;
const MEMORY_BYTES = 4 * 1024 ** 3;
const SCORE_TIMEOUT_MS = 3_600_000;

const row = z.object({
  question_content: z.string(),
  starter_code: z.string(),
  difficulty: z.string(),
  contest_date: z.string(),
  metadata: z.string(),
});
type Row = z.output<typeof row>;
const packed = z.object({ public_test_cases: z.string(), private_test_cases: z.string() });

interface Gold {
  /** The row with the tests: they are too large to travel in a task. */
  readonly file: string;
  readonly line: number;
  /** Null: the program reads standard input. */
  readonly functionName: string | null;
}

const NAME = "live-code-bench";
const SYSTEM =
  "You are an expert Python programmer. You will be given a question (problem specification) and will generate a correct Python program that matches the specification and passes all tests.";

const data: PinnedData = {
  dataset: "livecodebench/code_generation_lite",
  split: "test",
  files: "test*.jsonl",
  revision: "0fe84c3912ea0c4d4a78037083943e8f0c4dd505",
  rows: 1055,
  licence: "CC, as its card says without naming which; the problems belong to their contests",
  sha256: {
    "test.jsonl": "2bd02b38beb48e8c46b5b9987095d999ff38cd8efc255ea5d58974317c48f63f",
    "test2.jsonl": "095df7c5daf15f882c51a9deb84085cff1e073495a5dbcf95015a564d485f3a3",
    "test3.jsonl": "28ed26cc83363ce3f1fe2d5fad9f8393077beb1907b167a31bd3b32f80801b79",
    "test4.jsonl": "d711138ddaebfcf5f8ec6a4283ee677298c0f5c5d374a235af92aaf0584510da",
    "test5.jsonl": "7f77571c2a6df0c2a72a3277650309f67e01e0008e18117e624633df53f81214",
    "test6.jsonl": "bb4c364f71921c4495a6ad15abe1a927350b720009f4933e2e71f8af0f6fd1f5",
  },
};

function ask(one: Row, { at }: AskContext<Row>): Question<Gold> {
  const { question_content: asked, starter_code: starter } = one;
  const format =
    starter === ""
      ? "Read the inputs from stdin solve the problem and write the answer to stdout (do not directly test on the sample inputs). Enclose your code within delimiters as follows. Ensure that when the python program runs, it reads the inputs, runs the algorithm and writes output to STDOUT."
      : "You will use the following starter code to write the solution to the problem and enclose your code within delimiters.";
  const body = starter === "" ? "# YOUR CODE HERE" : starter;
  const user = `### Question:\n${asked}\n\n### Format: ${format}\n\`\`\`python\n${body}\n\`\`\`\n\n### Answer: (use the provided format with backticks)\n\n`;
  const colon = at.lastIndexOf(":");
  return {
    prompt: [
      { role: "system", content: SYSTEM },
      { role: "user", content: user },
    ],
    gold: {
      file: basename(at.slice(0, colon)),
      line: Number(at.slice(colon + 1)),
      functionName: functionOf(one, at),
    },
    group: one.difficulty,
  };
}

const metadata = z.object({ func_name: z.string().nullish() });

function functionOf({ metadata: text }: Row, at: string): string | null {
  try {
    return metadata.parse(JSON.parse(text)).func_name ?? null;
  } catch (cause) {
    throw new PrlError("PRL_DATA_ROW", `${at}: metadata: expected a JSON object, got ${text.slice(0, 80)}`, { cause });
  }
}

/** Whether the reply's program passes all tests. Errors: PRL_SANDBOX_INFRA, those of the data. */
async function passed(reply: string, gold: Gold, { sandboxes, signal, source }: ScoringContext): Promise<boolean> {
  const code = fencedProgram(stripThinking(reply, { strict: false }));
  if (code.trim() === "") return false;
  const tests = testsOfRow(...(await rowOf(gold, source)));
  const grade = await gradeProgram(await sandboxes(), {
    language: "python",
    code: gradedProgram(code, gold.functionName),
    ...(gold.functionName === null ? {} : { functionName: gold.functionName }),
    tests,
    timeLimitMs: TEST_MS,
    memoryLimitBytes: MEMORY_BYTES,
    stopOnFailure: true,
    signal,
  });
  return programReward(grade) === 1;
}

async function rowOf(
  { file, line }: Gold,
  source: ScoringContext["source"],
): Promise<[tests: z.output<typeof packed>, at: string]> {
  const path = (await filesOf(source)).find((one) => basename(one) === file);
  if (path === undefined)
    throw new PrlError("PRL_DATA_FILE", `benchmark "${NAME}": ${file}, which has the tests of this task, is not there`);
  const parsed = packed.safeParse(await rowAt(path, line));
  if (!parsed.success)
    throw new PrlError("PRL_DATA_ROW", `${path}:${line} has no tests: ${z.prettifyError(parsed.error)}`);
  return [parsed.data, `${path}:${line}`];
}

/** Paths by their source: the published files are checked once, not at every score. */
const found = new Map<string, Promise<string[]>>();

function filesOf(source: ScoringContext["source"]): Promise<string[]> {
  const key = JSON.stringify([source.data, source.revision]);
  const files = found.get(key) ?? benchmarkFiles(NAME, data, source);
  found.set(key, files);
  files.catch(() => found.delete(key));
  return files;
}

export const liveCodeBench: AnyBenchmark = defineBenchmark<Row, Gold>({
  name: NAME,
  title: "LiveCodeBench",
  summary: "problems of programming contests, new ones since models were trained; run on hidden tests in a sandbox",
  paper: "https://arxiv.org/abs/2403.07974",
  data,
  row,
  dayOf: ({ contest_date: date }) => date.slice(0, 10),
  modes: {
    paper: {
      source:
        "Jain et al. (2024), release_v6: the prompt of the authors' code for chat models, the program between the last two fences, 6 s for each test, all tests must pass. The paper draws 10 replies at temperature 0.2; set since and until to the days of the number that you compare with",
      form: "chat",
      ask,
      sampling: { temperature: 0.2, maxCompletionTokens: 16_384 },
      rollouts: 10,
      primary: "passed",
    },
  },
  scorers: { passed },
  scoreTimeoutMs: SCORE_TIMEOUT_MS,
  requires: { sandbox: "pool" },
});
