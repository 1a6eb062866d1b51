/**
 * Held-out evaluation of the policy: every task of a source, sampled `group_size` times.
 *
 * Evaluations are exempt from staleness: nothing cancels them. One that a process did not end goes on with its finished rollouts (`saved-rollouts.ts`). The report carries the version that triggered it and the span of versions
 * that sampled.
 */

import type { RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { type Episode, occurrences, rewardOf, type RunRequest, type Task } from "../../environments/records.ts";
import { seed } from "../../random/seed.ts";
import { type Metrics } from "../../monitors/index.ts";
import type { EnvWorkers } from "../env-workers/env-workers.ts";
import { type PassCurve, passCurves } from "../../algorithms/internal.ts";
import type { RolloutEnd } from "../scheduling/lifecycle.ts";
import { mean, RolloutStatistics } from "../metrics/rollout-statistics.ts";
import { runRollout, scoreRollouts } from "../scheduling/rollouts.ts";
import type { RolloutPermits } from "../scheduling/rollout-permits.ts";
import { evalTasks } from "../scheduling/tasks.ts";
import { apiOf } from "../scheduling/train-request.ts";
import { pruneEvaluations } from "../../transports/index.ts";
import { SavedRollouts } from "./saved-rollouts.ts";

type EvalSource = NonNullable<RlConfig["orchestrator"]["eval"]>["source"][number];

export interface EvaluationContext {
  runDir: string;
  /** The attempt of the run. */
  attempt: number;
  config: RlConfig;
  modelName: string;
  workers: EnvWorkers;
  metrics: Metrics;
  /** Gives its rollouts their places. */
  permits: Pick<RolloutPermits, "evaluate">;
  /** Called with how many tasks of the current source are not begun. */
  onQueue?: (tasks: number) => void;
  /** Called at every rollout's end. */
  onReturned?: (environment: string, end: RolloutEnd) => void;
  signal: AbortSignal;
}

/** Share of errored rollouts above which a mean over the others would mislead. */
const MAX_ERROR_SHARE = 0.1;

/** A version of the policy. */
export interface EvaluatedWeights {
  version: number;
  /** Null: not known, because the engines had the version before this process was started. */
  digest: string | null;
}

/** Evaluates every source of the config and logs one line of metrics with the version as its step. */
export async function evaluatePolicy(context: EvaluationContext, weights: EvaluatedWeights): Promise<void> {
  const startedAt = performance.now();
  const values: Record<string, number> = {};
  for (const source of context.config.orchestrator.eval?.source ?? [])
    Object.assign(values, await evaluateSource(context, source, weights));
  context.metrics.log(weights.version, { ...values, "time/evaluation": (performance.now() - startedAt) / 1000 });
  await pruneEvaluations(context.runDir, weights.version, context.config.orchestrator.eval?.keep ?? null);
}

/** Runs the rollouts of a source that no earlier process has run, and returns its metrics. */
async function evaluateSource(
  context: EvaluationContext,
  source: EvalSource,
  { version, digest }: EvaluatedWeights,
): Promise<Record<string, number>> {
  const { runDir, attempt, workers, config, signal } = context;
  const { tasks, scoresGroups, leftOut } = await evalTasks(workers, source.name, source.num_examples, signal);
  const epochs = occurrences(tasks);
  const requests = tasks.flatMap((task, index) =>
    Array.from({ length: source.group_size }, (_, sample) =>
      evalRequest(context, source, { task, epoch: epochs[index] ?? 0, sample }, version),
    ),
  );
  const saved = await SavedRollouts.open(runDir, version, { attempt, digest, seed: config.seed, source });
  try {
    const sampled = await runRequests(context, source, requests, saved);
    const episodes = scoresGroups ? await scoreTasks(context, source, tasks, sampled) : sampled;
    const values = report(source.name, version, episodes);
    await saved.finish(episodes, scoresGroups);
    return leftOut > 0 ? { ...values, [`eval/${source.name}/left_out`]: leftOut } : values;
  } finally {
    saved.close();
  }
}

/** The episodes of the requests, in their order. */
async function runRequests(
  context: EvaluationContext,
  source: EvalSource,
  requests: readonly RunRequest[],
  saved: SavedRollouts,
): Promise<Episode[]> {
  const { workers, config, permits, signal } = context;
  const results = requests.map(({ episode_id: id, task }) => {
    const kept = saved.kept.get(id);
    return kept?.task.hash === task.hash ? kept : null;
  });
  const open = requests.flatMap((request, index) => (results[index] === null ? [{ request, index }] : []));
  const announce = (rollouts: number) => context.onQueue?.(Math.floor(rollouts / source.group_size));
  let next = 0;
  let left = open.length;
  announce(left);
  const lanes = Math.min(open.length, config.orchestrator.max_inflight);
  const lane = async () => {
    for (let at = open[next++]; at !== undefined; at = open[next++]) {
      signal.throwIfAborted();
      const { request, index } = at;
      const { episode } = await permits.evaluate(() => {
        announce(--left);
        return runRollout(workers, request, signal);
      }, signal);
      results[index] = episode;
      saved.add(episode);
      context.onReturned?.(source.name, episode.ok ? "ok" : signal.aborted ? "cancelled" : "errored");
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  // Rollouts that an abort ended are not failures of the environment.
  signal.throwIfAborted();
  return results.filter((episode) => episode !== null);
}

/** The episodes with the rewards that compare those of a task. */
async function scoreTasks(
  { workers, config, signal }: EvaluationContext,
  { name: env, group_size: size }: EvalSource,
  tasks: readonly Task[],
  episodes: readonly Episode[],
): Promise<Episode[]> {
  const deadline_ms = config.orchestrator.request_timeout_s * 1000;
  const groups = tasks.map((task, index) => {
    const group = episodes.slice(index * size, (index + 1) * size).map((episode) => ({ episode, samples: null }));
    return scoreRollouts(workers, { env, split: "eval", task, deadline_ms }, group, signal);
  });
  return (await Promise.all(groups)).flat().map(({ episode }) => episode);
}

function evalRequest(
  context: EvaluationContext,
  source: EvalSource,
  { task, epoch, sample }: { task: Task; epoch: number; sample: number },
  version: number,
): RunRequest {
  const { config, modelName } = context;
  const { temperature, top_p, top_k, max_completion_tokens } = source.sampling;
  const group = `eval-${version}-${source.name}-${task.key}${epoch === 0 ? "" : `~${epoch}`}`;
  return {
    env: source.name,
    task,
    inference: { url: "", model: modelName, ...apiOf(config) },
    sampling: { temperature, top_p, top_k, max_completion_tokens },
    seed: seed(config.seed, "eval", source.name, task.key, epoch, sample, 0),
    cache_salt: `eval-${version}`,
    priority: 0,
    deadline_ms: config.orchestrator.request_timeout_s * 1000,
    episode_id: `${group}-${sample}`,
    group_id: group,
    run: { type: "eval", step: version },
  };
}

function report(name: string, version: number, episodes: readonly Episode[]): Record<string, number> {
  const good = episodes.filter((episode) => !Number.isNaN(rewardOf(episode)));
  const errors = episodes.length - good.length;
  if (errors > episodes.length * MAX_ERROR_SHARE) {
    const example = episodes.find(({ ok }) => !ok)?.errors[0]?.message ?? "no message";
    throw new PrlError(
      "PRL_ENVIRONMENT_FAILED",
      `${errors} of ${episodes.length} rollouts of the evaluation "${name}" failed: ${example}`,
    );
  }
  const traces = good.flatMap((episode) => episode.traces);
  const [all, effective] = [new RolloutStatistics(), new RolloutStatistics()];
  all.addEpisodes(episodes);
  effective.addEpisodes(good);
  return {
    ...all.metrics(`eval/${name}/all/`),
    ...effective.metrics(`eval/${name}/effective/`),
    ...overTries(`eval/${name}/effective/agent/`, episodes),
    [`eval/${name}/num`]: good.length,
    [`eval/${name}/errors`]: errors,
    [`eval/${name}/policy_version`]: version,
    [`eval/${name}/policy_version/min`]: traces.reduce(
      (lowest, { policy }) => Math.min(lowest, policy?.start ?? Infinity),
      Infinity,
    ),
    [`eval/${name}/policy_version/max`]: traces.reduce(
      (highest, { policy }) => Math.max(highest, policy?.end ?? -Infinity),
      -Infinity,
    ),
  };
}

/**
 * avg@n, the mean reward over n tries of each task; where tasks are tried more than once and rewards are 0 or 1 also pass@k and pass^k with their
 * intervals, over the tasks of which every rollout was scored.
 */
function overTries(prefix: string, episodes: readonly Episode[]): Record<string, number> {
  const byTask = new Map<string, number[]>();
  for (const episode of episodes) {
    byTask.set(episode.group.id, [...(byTask.get(episode.group.id) ?? []), rewardOf(episode)]);
  }
  const tries = Math.max(0, ...[...byTask.values()].map((rewards) => rewards.length));
  const isBinary = episodes.every((episode) => [0, 1, Number.NaN].some((value) => Object.is(value, rewardOf(episode))));
  const scored = [...byTask.values()].flat().filter((reward) => !Number.isNaN(reward));
  const average = { [`${prefix}avg@${tries}`]: mean(scored) };
  if (tries < 2 || !isBinary) return average;
  const whole = [...byTask.values()].filter((rewards) => rewards.every((reward) => !Number.isNaN(reward)));
  const { at, hat } = passCurves(
    whole.map((rewards) => rewards.filter((reward) => reward === 1).length),
    tries,
  );
  const named = (what: string, curve: PassCurve) =>
    Object.entries(curve).flatMap(([k, rate]) => [
      [`${prefix}${what}${k}`, rate.mean],
      [`${prefix}${what}${k}/low`, rate.low],
      [`${prefix}${what}${k}/high`, rate.high],
    ]);
  return { ...average, ...Object.fromEntries([...named("pass@", at), ...named("pass^", hat)]) };
}
