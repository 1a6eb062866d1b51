/** my-env: a Python function is to be written; hidden tests call it in a sandbox. Replace the problems with yours. */
import {
  defineEnvironment,
  endless,
  type Message,
  ofSplit,
  type RewardContext,
  type Rng,
  singleTurn,
  z,
} from "prl-lm/environments";
import { extractCode, gradeProgram, programReward, stripThinking } from "prl-lm/environments/verify";

const FUNCTION = "solve";
const GRADING_MS = 300_000;

const config = z.strictObject({
  tests: z.int().min(3).max(50).default(6).describe("hidden calls of the function"),
  timeLimitMs: z.int().min(100).default(4_000).describe("CPU time of each call (milliseconds)"),
  partial: z.boolean().default(false).describe("reward the share of calls that are right instead of all or nothing"),
});
type Config = z.output<typeof config>;

interface Row {
  prompt: Message[];
  tests: { input: number[][]; output: number }[];
  /** The body of a gold answer. */
  solution: string;
}

const KEEP = {
  "greater than": { test: (value: number, bound: number) => value > bound, python: ">" },
  "less than": { test: (value: number, bound: number) => value < bound, python: "<" },
};
const CHANGE = {
  "multiplied by": { apply: (value: number, by: number) => value * by, python: "*" },
  "increased by": { apply: (value: number, by: number) => value + by, python: "+" },
};
const RESULT = {
  sum: { of: (values: number[]) => values.reduce((sum, value) => sum + value, 0), python: "sum(kept)" },
  largest: { of: (values: number[]) => Math.max(...values), python: "max(kept)" },
  smallest: { of: (values: number[]) => Math.min(...values), python: "min(kept)" },
};

function choose<Kind extends string>(kinds: Readonly<Record<Kind, unknown>>, rng: Rng): Kind {
  const names = Object.keys(kinds) as Kind[];
  return rng.pick(names);
}

function* rows({ tests: count }: Config, rng: Rng): Generator<Row> {
  for (;;) {
    const [keep, change, result] = [choose(KEEP, rng), choose(CHANGE, rng), choose(RESULT, rng)];
    const [bound, by] = [rng.integer(60) - 30, 2 + rng.integer(30)];
    const solve = (numbers: number[]): number => {
      const kept = numbers.filter((value) => KEEP[keep].test(value, bound));
      return kept.length === 0 ? 0 : RESULT[result].of(kept.map((value) => CHANGE[change].apply(value, by)));
    };
    const lists = Array.from({ length: count }, (_, at) => Array.from({ length: at * 3 }, () => rng.integer(120) - 60));
    const content =
      `Write a Python function ${FUNCTION}(numbers) that gets a list of integers. It takes the numbers ${keep} ${bound}, each ${change} ${by}, ` +
      `and returns the ${result === "sum" ? "sum" : `${result} one`} of them, or 0 when there are none. Give it in one fenced code block.`;
    yield {
      prompt: [{ role: "user", content }],
      tests: lists.map((numbers) => ({ input: [numbers], output: solve(numbers) })),
      solution: [
        `kept = [value ${CHANGE[change].python} ${by} for value in numbers if value ${KEEP[keep].python} ${bound}]`,
        `return ${RESULT[result].python} if kept else 0`,
      ].join("\n    "),
    };
  }
}

/** The reply behind its thinking; nothing where the thinking never ended, because an answer in it is only considered. */
const answerPart = (reply: string): string =>
  reply.includes("<think>") && !reply.includes("</think>") ? "" : stripThinking(reply, { strict: false });

const programIn = (reply: string): string | null => extractCode(answerPart(reply), "python");

/** Expected results never enter the sandbox, so a program cannot read them. */
async function passed({ task, config: args, trace, sandboxes, signal }: RewardContext<Row, Config>): Promise<number> {
  const code = programIn(trace.lastReply);
  if (code === null) return 0;
  const { partial, timeLimitMs } = args;
  const grade = await gradeProgram(await sandboxes(), {
    language: "python",
    code,
    functionName: FUNCTION,
    tests: task.tests,
    timeLimitMs,
    stopOnFailure: !partial,
    signal,
  });
  // A failure of the sandbox throws: it says nothing about the program.
  return programReward(grade, { partial });
}

export const inFence = (body: string): string => `\`\`\`python\ndef ${FUNCTION}(numbers):\n    ${body}\n\`\`\``;

export default defineEnvironment({
  name: "my-env",
  version: "0.1.0",
  tags: ["code", "sandbox", "synthetic"],
  requires: { sandbox: "pool" },
  config,
  tasks: ({ config: args, rng, split }) => endless(ofSplit(rows(args, rng), split, ({ prompt }) => prompt)),
  key: (_, index) => String(index),
  rollout: singleTurn(),
  metrics: { has_code: ({ trace }) => programIn(trace.lastReply) !== null },
  rewards: { solved: { weight: 1, timeoutMs: GRADING_MS, score: passed } },
  async validate({ task, config: { partial }, score }) {
    const [gold, wrong] = [await score(inFence(task.solution)), await score(inFence("return 0"))];
    if (gold !== 1) throw new Error(`the solution scores ${gold}`);
    if (wrong === 1 || (wrong !== 0 && !partial)) throw new Error(`a function that returns 0 scores ${wrong}`);
  },
});
