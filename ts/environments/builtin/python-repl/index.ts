/**
 * python-repl: mathematics with a Python interpreter that keeps its state, in a sandbox held for the rollout; the answer stands in a box.
 */
import { z } from "zod";

import { defineEnvironment } from "../../model/environment.ts";
import type { Message } from "../../../message.ts";
import type { Rng } from "../../../random/rng.ts";
import { endless } from "../../model/tasks.ts";
import { tool } from "../../conversation/tool.ts";
import { toolUse } from "../../conversation/tool-use.ts";
import { extractAnswer, verifyMath } from "../../../verify/index.ts";
import { isFinished } from "../finished-answer.ts";
import { ofSplit } from "../../../datasets/index.ts";
import { Interpreter } from "./interpreter.ts";
import { makeProblem } from "./problems.ts";

const config = z.strictObject({
  maxTurns: z.int().min(1).max(50).default(8).describe("most model calls"),
  timeoutMs: z
    .int()
    .min(100)
    .max(120_000)
    .default(10_000)
    .describe("wall time of each call of the tool (milliseconds)"),
});

interface Row {
  prompt: Message[];
  answer: string;
  /** Python whose last line is the answer, for the check of the task. */
  program: string;
}

const parameters = z.object({ code: z.string().describe("Python code; the value of its last expression is shown") });
/** Above the longest time of a call, and the start of the interpreter. */
const TOOL_TIMEOUT_MS = 180_000;

const python = tool<typeof parameters, Row, unknown, Interpreter>({
  description: "Runs Python code in an interpreter that keeps its variables from call to call",
  parameters,
  execute: ({ code }, { state, signal }) => state.run(code, signal),
  timeoutMs: TOOL_TIMEOUT_MS,
});

export default defineEnvironment({
  name: "python-repl",
  version: "1.1.0",
  tags: ["math", "tools", "sandbox", "synthetic"],
  requires: { sandbox: { profile: "python" } },
  config,
  tasks: ({ rng, split }) => endless(ofSplit(rows(rng), split, ({ prompt }) => prompt)),
  key: (_, index) => String(index),
  rollout: async (context) =>
    toolUse<Row, unknown, Interpreter>({
      tools: { python },
      maxTurns: context.config.maxTurns,
      state: ({ sandbox }) => new Interpreter(sandbox, context.config.timeoutMs),
    })(context),
  metrics: { turns: ({ trace }) => trace.turns },
  rewards: {
    correct: async ({ task, trace }) => {
      const answer = extractAnswer(trace.lastReply, { from: "boxed" });
      if (answer === null || !isFinished(answer)) return false;
      return (await verifyMath(`\\boxed{${task.answer}}`, `\\boxed{${answer}}`)).correct;
    },
  },
  async validate({ task, config: args, sandbox, score }) {
    const [gold, wrong] = [await score(`\\boxed{${task.answer}}`), await score(`\\boxed{${task.answer}1}`)];
    if (gold !== 1 || wrong !== 0) throw new Error(`the answer scores ${gold}, another ${wrong}`);
    const undone = await score(`\\boxed{${task.answer} + 1 - 1}`);
    if (undone !== 0) throw new Error(`an answer that is not worked out scores ${undone}`);
    const shown = await new Interpreter(sandbox, args.timeoutMs).run(task.program, new AbortController().signal);
    const value = shown.replaceAll("'", "");
    if ((await score(`\\boxed{${value}}`)) !== 1) throw new Error(`the tool says ${value}, not ${task.answer}`);
  },
});

function* rows(rng: Rng): Generator<Row> {
  for (;;) {
    const { text, answer, program } = makeProblem(rng);
    const content = `${text} Compute with the tool as you like, then give the answer as \\boxed{...}.`;
    yield { prompt: [{ role: "user", content }], answer, program };
  }
}
