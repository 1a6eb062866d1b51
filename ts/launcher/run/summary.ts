/** `summary.json`: the results of a run, in one document that is written last. */
import { describeError, type ErrorDescription, PrlError } from "../../errors.ts";
import type { EvaluationReport, RunHistory, SftStep } from "../../monitors/index.ts";

/** Means of one held-out evaluation: `reward`, and each of the environment's metrics by its own name. */
export interface EvaluationSummary {
  reward: number;
  /** Policy version that triggered it. */
  policy_version: number;
  /** Number of rollouts. */
  num?: number;
  [metric: string]: number | undefined;
}

export interface RunSummary {
  status: "completed" | "failed" | "interrupted";
  run: string;
  run_dir: string;
  /** Training steps done. */
  steps: number;
  /** Rewards of the first evaluation source when there is one, else of training steps; null when there was none. */
  reward: { first: number; last: number; best: number } | null;
  /** First and last evaluation of each source; `after` is absent while there is but one. */
  eval: Record<string, { before: EvaluationSummary; after?: EvaluationSummary }>;
  /** Loss of the last step, for supervised training. */
  loss?: number;
  /** Tokens trained on. */
  tokens: number;
  wall_seconds: number;
  /** Seconds spent in each phase. */
  phase_seconds: Record<string, number>;
  /** Differences between sampler and trainer over tokens that the trained version itself sampled; null when there were none. */
  mismatch: { tokens: number; max_abs_logprob_diff: number } | null;
  /** Memory of all processes of the run together; absent where it cannot be measured. */
  peak_memory_bytes?: number;
  /** Processes that were started again, by kind; absent when there was none. */
  restarts?: Record<string, number>;
  /** Numbers that are missing here, and where they are. */
  notes?: string[];
  /** For a process that reported its own error, that error's code; how the process ended and the end of its log follow as the cause. */
  error?: ErrorDescription;
}

/** Facts that are not in the numbers of a run's history. */
export interface RunFacts {
  status: RunSummary["status"];
  run: string;
  runDir: string;
  wallSeconds: number;
  phaseSeconds: Record<string, number>;
  peakMemoryBytes: number | undefined;
  restarts?: Record<string, number>;
  error: unknown;
  /** The last step of a run that is supervised from beginning to end. */
  supervised: SftStep | undefined;
  /** Notes about numbers that are missing. */
  notes?: string[];
  /** Evaluation sources in the order of the config; the first one is the run's reward. */
  evaluationSources: readonly string[];
}

export function summarize(history: RunHistory, facts: RunFacts): RunSummary {
  const { steps } = history;
  const evaluations = history.evaluations;
  const main = facts.evaluationSources.find((source) => evaluations.some((report) => report.source === source));
  const held = evaluations.filter((report) => report.source === main).map((report) => report.reward);
  const trained = steps.map((step) => step.reward).filter((reward) => reward !== undefined);
  const onPolicy = steps.map((step) => step.onPolicy).filter((found) => found !== undefined);
  const onPolicyTokens = sum(onPolicy.map(({ tokens }) => tokens));
  return {
    status: facts.status,
    run: facts.run,
    run_dir: facts.runDir,
    steps: facts.supervised?.step ?? steps.length,
    reward: firstLastBest(held.length > 0 ? held : trained),
    eval: beforeAndAfter(evaluations, facts.evaluationSources),
    ...(facts.supervised?.loss === undefined ? {} : { loss: facts.supervised.loss }),
    tokens: sum(steps.map((step) => step.tokens ?? 0)),
    wall_seconds: rounded(facts.wallSeconds),
    phase_seconds: Object.fromEntries(Object.entries(facts.phaseSeconds).map(([phase, s]) => [phase, rounded(s)])),
    mismatch:
      onPolicyTokens === 0
        ? null
        : {
            tokens: onPolicyTokens,
            max_abs_logprob_diff: onPolicy.reduce((most, { maxAbsLogprobDiff: own }) => Math.max(most, own), 0),
          },
    ...(facts.peakMemoryBytes === undefined ? {} : { peak_memory_bytes: facts.peakMemoryBytes }),
    ...(facts.restarts === undefined || Object.keys(facts.restarts).length === 0 ? {} : { restarts: facts.restarts }),
    ...(facts.notes === undefined ? {} : { notes: facts.notes }),
    ...(facts.error === undefined ? {} : { error: describeError(facts.error) }),
  };
}

function beforeAndAfter(evaluations: readonly EvaluationReport[], sources: readonly string[]): RunSummary["eval"] {
  const found: RunSummary["eval"] = {};
  for (const source of new Set([...sources, ...evaluations.map((report) => report.source)])) {
    const reports = evaluations.filter((report) => report.source === source);
    const [first, last] = [reports[0], reports.at(-1)];
    if (first === undefined || last === undefined) continue;
    found[source] = { before: evaluationSummary(first), ...(first === last ? {} : { after: evaluationSummary(last) }) };
  }
  return found;
}

function evaluationSummary({ reward, version, num, metrics }: EvaluationReport): EvaluationSummary {
  return { ...metrics, reward, policy_version: version, ...(num === undefined ? {} : { num }) };
}

function firstLastBest(rewards: readonly number[]): RunSummary["reward"] {
  const [first, last] = [rewards[0], rewards.at(-1)];
  if (first === undefined || last === undefined) return null;
  return { first, last, best: rewards.reduce((a, b) => Math.max(a, b), first) };
}

/** Seconds rounded to milliseconds. */
function rounded(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Status of a run that ended with this error; undefined: without one. */
export function statusOf(error: unknown): RunSummary["status"] {
  if (error === undefined) return "completed";
  return error instanceof PrlError && error.code === "PRL_RUN_INTERRUPTED" ? "interrupted" : "failed";
}
