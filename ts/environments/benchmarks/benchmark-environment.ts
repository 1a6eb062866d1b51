/**
 * Makes the environment of a benchmark: `prl eval` then runs it like any other.
 *
 * It has no training tasks: a model that was trained on a benchmark has no result on it.
 */
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import type { Message } from "../../message.ts";
import { PythonRandom } from "../../random/python-random.ts";
import { endpointConfig } from "../endpoint/endpoint-config.ts";
import type { Trace } from "../episode/trace.ts";
import { defineEnvironment, type Environment, type TasksContext } from "../model/environment.ts";
import type { RewardContext, RewardMap } from "../model/reward.ts";
import { type AnyBenchmark, type Benchmark, MODES, protocolOf, type Question } from "./benchmark.ts";
import { benchmarkRows } from "./benchmark-data.ts";
import { shotChooser } from "./shots.ts";

const VERSION = "1.0.0";
const SCORE_TIMEOUT_MS = 30_000;

const day = z.iso.date().nullable().default(null);

const config = z.strictObject({
  mode: z
    .enum(MODES)
    .default("paper")
    .describe("paper: the authors' prompt and scoring; lm-eval: those of lm-evaluation-harness"),
  form: z
    .enum(["chat", "text"])
    .nullable()
    .default(null)
    .describe("chat: the prompt is one user message; text: the model continues it; unset: as the mode has it"),
  data: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      "a copy of the data, as a local file or a dataset of the hub; it is not checked against what was published",
    ),
  revision: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe("another revision of the data; it is not checked either"),
  shots: z
    .union([z.int().min(0), z.string().min(1)])
    .nullable()
    .default(null)
    .describe("worked examples: how many, or a file that has them; unset: as the mode has it"),
  seed: z
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(0)
    .describe("draws the order of the options of a question"),
  judge: endpointConfig
    .nullable()
    .default(null)
    .describe("the model that grades replies, for benchmarks that are graded by one (simple-qa)"),
  judge_prompt: z
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe(
      "a file with the prompt for the judge; {question}, {target} and {predicted_answer} stand for their texts",
    ),
  since: day.describe("only questions of this day or later, for benchmarks that grow (live-code-bench)"),
  until: day.describe("only questions of this day or earlier, for benchmarks that grow (live-code-bench)"),
});
export type BenchmarkConfig = z.output<typeof config>;

/** A task: `gold` is what the scorers need. */
interface Task {
  readonly prompt: string | Message[];
  readonly gold: unknown;
  readonly group?: string;
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
}

type Context = Pick<
  RewardContext<Task, BenchmarkConfig>,
  "task" | "trace" | "config" | "sandboxes" | "signal" | "judge"
>;

export function environmentOf(hidden: AnyBenchmark): Environment {
  const benchmark = hidden as unknown as Benchmark<object>;
  const { name, requires, scorers, answer, examples } = benchmark;
  const timeoutMs = benchmark.scoreTimeoutMs ?? SCORE_TIMEOUT_MS;
  const scored = scoresOnce(benchmark);
  const metrics: RewardMap<Task, BenchmarkConfig> = Object.fromEntries(
    Object.keys(scorers).map((scorer) => [
      scorer,
      { weight: 0, timeoutMs, score: (context: Context) => scored(scorer, context) },
    ]),
  );
  return defineEnvironment<BenchmarkConfig, Task>({
    name: `benchmark-${name}`,
    version: VERSION,
    tags: ["benchmark"],
    ...(requires === undefined ? {} : { requires }),
    config,
    tasks: (context) => tasksOf(benchmark, context),
    key: (_, index) => String(index),
    async rollout({ task, config: { mode }, sample }) {
      const { stop = [] } = protocolOf(benchmark, mode);
      const { message } = await sample(task.prompt, {
        ...(stop.length === 0 ? {} : { stop: [...stop] }),
        ...(task.tools === undefined ? {} : { tools: [...task.tools] }),
      });
      const voted = answer?.(cut(message.content, stop), task.gold);
      return voted === undefined ? {} : { info: { answer: voted } };
    },
    judge: ({ config: { judge } }) => (judge === null ? null : { endpoint: judge }),
    metrics,
    rewards: {
      correct: {
        weight: 1,
        timeoutMs,
        score: (context) => scored(protocolOf(benchmark, context.config.mode).primary, context),
      },
    },
    async validate({ task, score }) {
      if (examples === undefined) return;
      const { right, wrong } = examples(task.gold);
      const [gold, other] = [await score(right), await score(wrong)];
      if (gold !== 1 || other !== 0) throw new Error(`the right answer scores ${gold}, a wrong one ${other}`);
    },
  });
}

/** Scores by name; each scorer runs once per trace, because the reward is one of the metrics. */
function scoresOnce(benchmark: Benchmark<object>) {
  const { scorers } = benchmark;
  const known = new WeakMap<Trace, Map<string, Promise<number | boolean>>>();
  const shared = new WeakMap<Trace, Map<string, Promise<unknown>>>();
  return (scorer: string, context: Context): Promise<number | boolean> => {
    const { task, trace, config: settings, sandboxes, signal, judge } = context;
    const scores = known.get(trace) ?? new Map<string, Promise<number | boolean>>();
    known.set(trace, scores);
    const parts = shared.get(trace) ?? new Map<string, Promise<unknown>>();
    shared.set(trace, parts);
    const once = <Made>(key: string, make: () => Promise<Made>): Promise<Made> => {
      const part = (parts.get(key) ?? make()) as Promise<Made>;
      parts.set(key, part);
      return part;
    };
    const score = scorers[scorer];
    if (score === undefined) throw new Error(`there is no scorer "${scorer}"`);
    const reply =
      benchmark.scored === "calls"
        ? callsOf(trace)
        : cut(trace.lastReply, protocolOf(benchmark, settings.mode).stop ?? []);
    const given = { sandboxes, signal, source: settings, judge, judgePrompt: settings.judge_prompt, once };
    const made = scores.get(scorer) ?? Promise.resolve(score(reply, task.gold, given));
    scores.set(scorer, made);
    return made;
  };
}

/** The calls of the last message as JSON, their arguments as the model wrote them. */
function callsOf({ nodes }: Trace): string {
  const calls = nodes.findLast(({ sampled }) => sampled)?.message.tool_calls ?? [];
  return JSON.stringify(calls.map(({ function: { name, arguments: written } }) => ({ name, arguments: written })));
}

/** An endpoint that ignores `stop` gives more than the reply. */
function cut(text: string, stop: readonly string[]): string {
  const ends = stop.map((end) => text.indexOf(end)).filter((at) => at >= 0);
  return ends.length === 0 ? text : text.slice(0, Math.min(...ends));
}

async function* tasksOf(
  benchmark: Benchmark<object>,
  { config: settings, split }: TasksContext<BenchmarkConfig>,
): AsyncGenerator<Task> {
  const { name, data } = benchmark;
  if (split === "train") {
    const advice = "for training use an environment with its own tasks, such as math or gsm8k";
    throw new PrlError("PRL_ENVIRONMENT_INVALID", `benchmark "${name}" has no tasks to train on: ${advice}`);
  }
  if (benchmark.needsJudge === true && settings.judge === null) {
    const example = '-a \'{"judge": {"url": "http://127.0.0.1:8001/v1", "model": "..."}}\'';
    throw new PrlError("PRL_CONFIG_INVALID", `benchmark "${name}" is graded by a judge model: name it, ${example}`);
  }
  const protocol = protocolOf(benchmark, settings.mode);
  const choose = await shotChooser(benchmark, protocol, settings);
  const random = new PythonRandom(settings.seed);
  const form = settings.form ?? protocol.form;
  const isChosen = dayFilter(benchmark, settings);
  for await (const { row, at } of benchmarkRows(name, data, benchmark, settings)) {
    const shuffle = (items: unknown[]): void => random.shuffle(items);
    const asked = protocol.ask(row, { shots: choose(row), shuffle, form, at });
    if (isChosen(row)) yield taskOf(asked, form);
  }
}

/** Errors: PRL_CONFIG_INVALID for days of a benchmark without them. */
function dayFilter(
  { name, dayOf }: Benchmark<object>,
  { since, until }: Pick<BenchmarkConfig, "since" | "until">,
): (row: object) => boolean {
  if (since === null && until === null) return () => true;
  if (dayOf === undefined)
    throw new PrlError("PRL_CONFIG_INVALID", `benchmark "${name}": since and until: its questions have no day`);
  return (row) => {
    const of = dayOf(row);
    return (since === null || of >= since) && (until === null || of <= until);
  };
}

function taskOf({ prompt, gold, group, tools }: Question<unknown>, form: "chat" | "text"): Task {
  const text = typeof prompt === "string" ? prompt : null;
  const asked =
    text === null
      ? [...(prompt as readonly Message[])]
      : form === "chat"
        ? [{ role: "user" as const, content: text }]
        : text;
  return { prompt: asked, gold, ...(group === undefined ? {} : { group }), ...(tools === undefined ? {} : { tools }) };
}
