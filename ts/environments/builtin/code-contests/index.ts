/**
 * code-contests: write a program that reads standard input and prints the answer, judged in a sandbox by hidden tests.
 *
 * Problems are made from families with parameters, three of each level. A task holds its seed and no test: the tests are made anew where
 * they are needed, and expected results never enter the sandbox.
 */
import { z } from "zod";

import { defineEnvironment } from "../../model/environment.ts";
import type { Message } from "../../../message.ts";
import type { RewardContext } from "../../model/reward.ts";
import { createRng, type Rng } from "../../../random/rng.ts";
import { singleTurn } from "../../conversation/single-turn.ts";
import { endless } from "../../model/tasks.ts";
import type { Trace } from "../../episode/trace.ts";
import { extractCode, gradeProgram, type ProgramGrade, programReward } from "../../../verify/index.ts";
import { ofSplit } from "../../../datasets/index.ts";
import { EASY } from "./easy.ts";
import { HARD } from "./hard.ts";
import { MEDIUM } from "./medium.ts";
import { EXAMPLE_SIZE, type Family, type Problem } from "./problem.ts";

const config = z.strictObject({
  level: z.enum(["easy", "medium", "hard", "mixed"]).default("mixed").describe("how hard the problems are"),
  language: z.enum(["python", "javascript", "c"]).default("python").describe("what the program is written in"),
  tests: z.int().min(2).max(100).default(8).describe("hidden tests of a problem"),
  examples: z.int().min(1).max(5).default(2).describe("tests that the statement shows"),
  timeLimitMs: z.int().min(100).default(4_000).describe("CPU time of each test (milliseconds)"),
  memoryLimitBytes: z
    .int()
    .min(1 << 24)
    .default(1 << 28)
    .describe("memory of each test"),
  partial: z.boolean().default(false).describe("reward the share of tests that pass instead of all or nothing"),
});

type Config = z.output<typeof config>;

interface Row {
  prompt: Message[];
  seed: number;
  family: string;
  level: string;
}

const FAMILIES: readonly Family[] = [...EASY, ...MEDIUM, ...HARD];
const LANGUAGE_NAMES = { python: "Python", javascript: "JavaScript for Node", c: "C" } as const;
/** Time for all tests, and for the wait for a free sandbox. */
const GRADING_TIMEOUT_MS = 600_000;

export default defineEnvironment({
  name: "code-contests",
  version: "1.0.0",
  tags: ["code", "sandbox", "synthetic"],
  requires: { sandbox: "pool" },
  config,
  tasks: ({ config: args, rng, split }) => endless(ofSplit(rows(args, rng), split, problemContent)),
  key: (_, index) => String(index),
  rollout: singleTurn(),
  metrics: {
    has_code: ({ config: args, trace }) => extractCode(trace.lastReply, args.language) !== null,
    passed_tests: {
      weight: 0,
      timeoutMs: GRADING_TIMEOUT_MS,
      score: async (context) => shareOf(await gradeOf(context)),
    },
  },
  rewards: {
    solved: {
      weight: 1,
      timeoutMs: GRADING_TIMEOUT_MS,
      score: async (context) => {
        const graded = await gradeOf(context);
        return graded === null ? 0 : programReward(graded, { partial: context.config.partial });
      },
    },
  },
  async validate({ task, config: args, sandboxes, score }) {
    const { problem, tests, examples } = problemOf(task, args);
    const pool = await sandboxes();
    const graded = await gradeProgram(pool, { ...limitsOf(args), language: "python", code: problem.gold, tests });
    if (programReward(graded) !== 1) throw new Error(`its solution is graded ${graded.verdict}: ${graded.message}`);
    if (args.language !== "python") return;
    const shown = await score(inFence(`print(${JSON.stringify(examples[0]?.output ?? "")})`));
    if (shown === 1) throw new Error("a program that prints the first example's output solves it");
  },
});

const grades = new WeakMap<Trace, Promise<ProgramGrade | null>>();

/** Grades the program once per rollout; null without a program. */
function gradeOf(context: RewardContext<Row, Config>): Promise<ProgramGrade | null> {
  const { trace } = context;
  const known = grades.get(trace);
  if (known !== undefined) return known;
  const made = grade(context);
  grades.set(trace, made);
  return made;
}

async function grade(context: RewardContext<Row, Config>): Promise<ProgramGrade | null> {
  const { task, config: args, trace, sandboxes, signal } = context;
  const code = extractCode(trace.lastReply, args.language);
  if (code === null) return null;
  const { tests } = problemOf(task, args);
  const { language, partial } = args;
  return gradeProgram(await sandboxes(), { ...limitsOf(args), language, code, tests, stopOnFailure: !partial, signal });
}

function shareOf(graded: ProgramGrade | null): number {
  return graded === null ? 0 : programReward(graded, { partial: true });
}

const limitsOf = ({ timeLimitMs, memoryLimitBytes }: Config) => ({ timeLimitMs, memoryLimitBytes });
const inFence = (code: string): string => `\`\`\`python\n${code}\n\`\`\``;

interface Test {
  input: string;
  output: string;
}

/** The problem of a task and its tests: the statement's examples are drawn before the hidden ones. */
function problemOf(
  { seed, family }: Pick<Row, "seed" | "family">,
  { tests, examples }: Pick<Config, "tests" | "examples">,
): { problem: Problem; examples: Test[]; tests: Test[] } {
  const made = FAMILIES.find(({ name }) => name === family);
  if (made === undefined) throw new Error(`there is no family "${family}"`);
  const rng = createRng(seed);
  const problem = made.make(rng);
  const test = (size: number): Test => {
    const input = problem.input(rng, size);
    return { input, output: problem.solve(input) };
  };
  return {
    problem,
    examples: Array.from({ length: examples }, () => test(EXAMPLE_SIZE)),
    tests: Array.from({ length: tests }, (_, i) => test(i / (tests - 1))),
  };
}

function problemContent({ seed, family }: Row): unknown {
  const made = FAMILIES.find(({ name }) => name === family);
  return [family, made?.make(createRng(seed)).parameters];
}

function* rows(args: Config, rng: Rng): Generator<Row> {
  const families = FAMILIES.filter(({ level }) => args.level === "mixed" || level === args.level);
  for (;;) {
    const { name: family, level } = rng.pick(families);
    const seed = rng.integer(2 ** 31);
    const { problem, examples } = problemOf({ seed, family }, { ...args, tests: 2 });
    const shown = examples.map(
      ({ input, output }, i) => `Example ${i + 1}, input:\n${input.trimEnd()}\nOutput:\n${output}`,
    );
    const content =
      `${problem.statement}\n\n${shown.join("\n\n")}\n\n` +
      `Write a ${LANGUAGE_NAMES[args.language]} program that reads standard input and prints the answer, in one fenced code block.`;
    yield { prompt: [{ role: "user", content }], seed, family, level };
  }
}
