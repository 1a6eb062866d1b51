/**
 * proposer-solver: one agent writes an arithmetic problem from given numbers, several attempts of another solve it.
 *
 * The answer is computed here, exactly, so no agent has to be believed. A solver is rewarded for the right answer, the proposer for a
 * problem that is solved about every second time: the policy makes its own curriculum.
 */
import { z } from "zod";

import { defineEnvironment } from "../../model/environment.ts";
import type { Message } from "../../../message.ts";
import { reward, type RewardContext } from "../../model/reward.ts";
import type { Rng } from "../../../random/rng.ts";
import { endless } from "../../model/tasks.ts";
import { extractAnswer, xmlParser } from "../../../verify/index.ts";
import { evaluate } from "../countdown/expression.ts";
import { ofSplit } from "../../../datasets/index.ts";

const config = z.strictObject({
  solvers: z.int().min(1).max(64).default(4).describe("attempts at each problem"),
  numbers: z.int().min(2).max(8).default(4).describe("numbers that a problem is made of"),
  largest: z.int().min(2).max(1000).default(20).describe("largest of them"),
});

type Config = z.output<typeof config>;
type Context = RewardContext<Row, Config, "proposer" | "solver">;

interface Row {
  numbers: number[];
}

const MAX_CHARACTERS = 200;
const LARGEST_ANSWER = 1_000_000n;
const parser = xmlParser(["problem"], { answerField: "problem" });

export default defineEnvironment({
  name: "proposer-solver",
  version: "1.1.0",
  tags: ["math", "self-play", "multi-agent", "synthetic"],
  config,
  tasks: ({ config: args, rng, split }) => endless(ofSplit(rows(args, rng), split, sortedNumbers)),
  key: (_, index) => String(index),
  contentKey: (row) => sortedNumbers(row).join(),
  agents: ["proposer", "solver"],
  async rollout({ task, config: { solvers }, agent }) {
    const { message } = await agent("proposer").sample([{ role: "user", content: asked(task) }]);
    const problem = readProblem(message.content, task);
    if (problem === null) return { stopCondition: "no_problem" };
    const content = `Compute step by step: ${problem.text}. Give the value as \\boxed{...}.`;
    const question: Message[] = [{ role: "user", content }];
    await Promise.all(Array.from({ length: solvers }, (_, index) => agent("solver", index).sample(question)));
  },
  metrics: {
    solve_rate: { weight: 0, score: (context: Context) => solveRate(context), agent: "proposer" },
  },
  rewards: {
    correct: reward(1, (context: Context) => isSolved(context.trace.lastReply, problemOf(context)), {
      agent: "solver",
    }),
    learnable: reward(1, (context: Context) => 4 * solveRate(context) * (1 - solveRate(context)), {
      agent: "proposer",
    }),
    valid: reward(0.2, (context: Context) => problemOf(context) !== null, { agent: "proposer" }),
  },
  async validate({ task, scoreAgents, score }) {
    const says = (content: string): Message[] => [{ role: "assistant", content }];
    const sum = task.numbers.reduce((total, number) => total + number, 0);
    const [right, wrong] = [says(`\\boxed{${sum}}`), says(`\\boxed{${sum + 1}}`)];
    const problem = `<problem>${task.numbers.join(" + ")}</problem>`;
    const scored = await scoreAgents({ proposer: [says(problem)], solver: [right, wrong] });
    const [proposer] = scored["proposer"] ?? [];
    if (proposer !== 1.2 || scored["solver"]?.join() !== "1,0")
      throw new Error(`half solved: ${JSON.stringify(scored)}`);
    const easy = await scoreAgents({ proposer: [says(problem)], solver: [right, right] });
    if (easy["proposer"]?.[0] !== 0.2 || (await score(problem)) !== 0.2) throw new Error("what teaches nothing pays");
  },
});

interface Problem {
  readonly text: string;
  readonly answer: bigint;
}

/** The proposer's expression; null when it is invalid, uses other numbers than the task's, or has no small whole value. */
export function readProblem(reply: string, { numbers }: Row): Problem | null {
  const text = parser.parseAnswer(reply)?.trim() ?? "";
  if (text === "" || text.length > MAX_CHARACTERS || text.includes("=")) return null;
  const expression = evaluate(text);
  const value = expression?.value ?? null;
  if (expression === null || value === null || value.denominator !== 1n) return null;
  const answer = value.numerator;
  if (answer > LARGEST_ANSWER || answer < -LARGEST_ANSWER) return null;
  const sorted = (list: readonly number[]): string => list.toSorted((a, b) => a - b).join();
  return sorted(expression.numbers) === sorted(numbers) ? { text, answer } : null;
}

function problemOf({ task, traces }: Context): Problem | null {
  return readProblem(traces.proposer[0]?.lastReply ?? "", task);
}

function isSolved(reply: string, problem: Problem | null): boolean {
  return problem !== null && extractAnswer(reply, { from: "boxed" })?.replace(/\s/gu, "") === String(problem.answer);
}

/** 0 without any attempt. */
function solveRate(context: Context): number {
  const problem = problemOf(context);
  const attempts = context.traces.solver;
  const solved = attempts.filter(({ lastReply }) => isSolved(lastReply, problem)).length;
  return attempts.length === 0 ? 0 : solved / attempts.length;
}

function asked({ numbers }: Row): string {
  return (
    `Write an arithmetic problem with the numbers ${numbers.join(", ")}, each used exactly once, with + - * / and parentheses. Its value ` +
    "must be a whole number. Somebody else will solve it: it should be neither so easy that it is always solved nor so hard that it " +
    "never is. Give only the expression as <problem>...</problem>."
  );
}

/** Another order of the numbers is the same task, because a problem may use them in any order. */
function sortedNumbers({ numbers }: Row): number[] {
  return numbers.toSorted((a, b) => a - b);
}

function* rows({ numbers, largest }: Config, rng: Rng): Generator<Row> {
  for (;;) yield { numbers: Array.from({ length: numbers }, () => 1 + rng.integer(largest)) };
}
