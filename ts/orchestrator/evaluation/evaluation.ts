/**
 * Held-out evaluation of the policy: every task of a source, sampled `group_size` times.
 *
 * Evaluations are exempt from staleness: nothing cancels them. The report carries the version that triggered it and the span of versions
 * that sampled.
 */

import { dirname } from "node:path";
import type { RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { makeFolder } from "../../files/make-folder.ts";
import { occurrences, type ReceivedEpisode, type RunRequest } from "../../environments/records.ts";
import { rewardOf, type Task } from "../../environments/records.ts";
import { seed } from "../../random/seed.ts";
import { atomicWriteFile } from "../../files/atomic-write.ts";
import { type Metrics } from "../../monitors/index.ts";
import { evaluationFile } from "../../transports/index.ts";
import type { EnvWorkers } from "../env-workers/env-workers.ts";
import { type PassCurve, passCurves } from "../../algorithms/internal.ts";
import type { RolloutEnd } from "../scheduling/lifecycle.ts";
import { mean, RolloutStatistics } from "../metrics/rollout-statistics.ts";
import { runRollout, scoreRollouts } from "../scheduling/rollouts.ts";
import type { RolloutPermits } from "../scheduling/rollout-permits.ts";
import { evalTasks } from "../scheduling/tasks.ts";
import { jsonLines } from "../metrics/trace-lines.ts";
import { apiOf } from "../scheduling/train-request.ts";

type EvalSource = NonNullable<RlConfig["orchestrator"]["eval"]>["source"][number];

export interface EvaluationContext {
  runDir: string;
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

/** Evaluates every source of the config and logs one line of metrics with `version` as its step. */
export async function evaluatePolicy(context: EvaluationContext, version: number): Promise<void> {
  const startedAt = performance.now();
  const values: Record<string, number> = {};
  for (const source of context.config.orchestrator.eval?.source ?? []) {
    const { rollouts, leftOut } = await runSource(context, source, version);
    Object.assign(values, report(source.name, version, rollouts));
    if (leftOut > 0) values[`eval/${source.name}/left_out`] = leftOut;
    const path = evaluationFile(context.runDir, version, source.name);
    makeFolder(dirname(path), context.runDir);
    await atomicWriteFile(path, jsonLines(rollouts.map(({ episode }) => episode)));
  }
  context.metrics.log(version, { ...values, "time/evaluation": (performance.now() - startedAt) / 1000 });
}

/** The rollouts of a source, and how many rows of its data gave no task. */
async function runSource(
  context: EvaluationContext,
  source: EvalSource,
  version: number,
): Promise<{ rollouts: ReceivedEpisode[]; leftOut: number }> {
  const { workers, config, permits, signal } = context;
  const { tasks, scoresGroups, leftOut } = await evalTasks(workers, source.name, source.num_examples, signal);
  const epochs = occurrences(tasks);
  const requests = tasks.flatMap((task, index) =>
    Array.from({ length: source.group_size }, (_, sample) =>
      evalRequest(context, source, { task, epoch: epochs[index] ?? 0, sample }, version),
    ),
  );
  const results: ReceivedEpisode[] = [];
  let next = 0;
  let begun = 0;
  context.onQueue?.(tasks.length);
  const lanes = Math.min(requests.length, config.orchestrator.max_inflight);
  const lane = async () => {
    for (let i = next++; i < requests.length; i = next++) {
      signal.throwIfAborted();
      const request = requests[i];
      if (request === undefined) continue;
      const result = await permits.evaluate(() => {
        begun += 1;
        context.onQueue?.(tasks.length - Math.ceil(begun / source.group_size));
        return runRollout(workers, request, signal);
      }, signal);
      results[i] = result;
      context.onReturned?.(source.name, result.episode.ok ? "ok" : signal.aborted ? "cancelled" : "errored");
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  // Rollouts that an abort ended are not failures of the environment.
  signal.throwIfAborted();
  if (!scoresGroups) return { rollouts: results, leftOut };
  const deadline_ms = config.orchestrator.request_timeout_s * 1000;
  const groups = tasks.map((task, index) => {
    const rollouts = results.slice(index * source.group_size, (index + 1) * source.group_size);
    return scoreRollouts(workers, { env: source.name, split: "eval", task, deadline_ms }, rollouts, signal);
  });
  return { rollouts: (await Promise.all(groups)).flat(), leftOut };
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

function report(name: string, version: number, rollouts: readonly ReceivedEpisode[]): Record<string, number> {
  const good = rollouts.map(({ episode }) => episode).filter((episode) => !Number.isNaN(rewardOf(episode)));
  const errors = rollouts.length - good.length;
  if (errors > rollouts.length * MAX_ERROR_SHARE) {
    const example = rollouts.find(({ episode }) => !episode.ok)?.episode.errors[0]?.message ?? "no message";
    throw new PrlError(
      "PRL_ENVIRONMENT_FAILED",
      `${errors} of ${rollouts.length} rollouts of the evaluation "${name}" failed: ${example}`,
    );
  }
  const traces = good.flatMap((episode) => episode.traces);
  const [all, effective] = [new RolloutStatistics(), new RolloutStatistics()];
  all.addEpisodes(rollouts.map(({ episode }) => episode));
  effective.addEpisodes(good);
  return {
    ...all.metrics(`eval/${name}/all/`),
    ...effective.metrics(`eval/${name}/effective/`),
    ...overTries(`eval/${name}/effective/agent/`, rollouts),
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
function overTries(prefix: string, rollouts: readonly ReceivedEpisode[]): Record<string, number> {
  const byTask = new Map<string, number[]>();
  for (const { episode } of rollouts) {
    byTask.set(episode.group.id, [...(byTask.get(episode.group.id) ?? []), rewardOf(episode)]);
  }
  const tries = Math.max(0, ...[...byTask.values()].map((rewards) => rewards.length));
  const isBinary = rollouts.every(({ episode }) =>
    [0, 1, Number.NaN].some((value) => Object.is(value, rewardOf(episode))),
  );
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
