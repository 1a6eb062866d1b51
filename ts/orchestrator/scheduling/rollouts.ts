/**
 * Runs one rollout from request to result, and scores a group of them, with the retries that are safe.
 *
 * Only `infra` and `provider` errors are retried, with the same seed, so that a retry changes nothing but the time. A rollout whose
 * retries are used up comes back as an errored episode; it is never scored. An answer that does not match the request is an error of the
 * rollout too.
 */

import { setTimeout as sleep } from "node:timers/promises";
import {
  isRetryable,
  type ReceivedEpisode,
  type RunRequest,
  type ScoreGroupRequest,
  withGroupScores,
} from "../../environments/records.ts";
import { type EnvWorkers, lostRollout } from "../env-workers/env-workers.ts";

const RETRIES = 3;
/** A lost engine does not count as a retry; more losses than this are no accident. */
const MOST_LOSSES = 10;
const BACKOFF_MS = 100;
/** Three of these pauses last longer than the replacement of a sandbox daemon. */
const SANDBOX_BACKOFF_MS = 400;

export interface RolloutWatch {
  /** Highest policy version that an engine may have sampled with by now; unset: unknown. */
  newestVersion?: () => number;
  onRetry?: () => void;
}

/** Runs a rollout; resolves with an errored episode when it failed or was cancelled. */
export async function runRollout(
  workers: EnvWorkers,
  request: RunRequest,
  signal: AbortSignal,
  { newestVersion = () => Infinity, onRetry }: RolloutWatch = {},
): Promise<ReceivedEpisode> {
  let losses = 0;
  let lostWorkers = 0;
  for (let attempt = 0; ; attempt++) {
    if (attempt > 0) onRetry?.();
    const asked = { ...request, episode_id: `${request.episode_id}-${attempt}` };
    const result = verified(asked, await workers.run(asked, signal, lostWorkers), newestVersion());
    const { ok, errors } = result.episode;
    if (ok || !errors.every(isRetryable)) return result;
    const isWorkerLost = errors.some(({ code }) => code === "PRL_PROCESS_DIED");
    if (isWorkerLost) lostWorkers += 1;
    if (errors.some(({ code }) => code === "PRL_INFERENCE_LOST")) {
      losses += 1;
      // The next try waits for an engine in service.
      if (losses > MOST_LOSSES || signal.aborted) return result;
      continue;
    }
    const retry = attempt - losses;
    if (retry >= RETRIES) return result;
    // The next try goes to another env worker, or waits for one.
    if (retry === 0 && isWorkerLost && !signal.aborted) continue;
    // The sampled tokens do not depend on this number, so it may be random here.
    const isSandbox = errors.some(({ code }) => code.startsWith("PRL_SANDBOX_"));
    const base = isSandbox ? SANDBOX_BACKOFF_MS : BACKOFF_MS;
    if (!(await pause(base * 2 ** retry * (0.5 + Math.random()), signal))) return result;
  }
}

/** The unchanged result when it matches the request; else an errored episode whose message says what does not match. */
export function verified(asked: RunRequest, result: ReceivedEpisode, newestVersion: number): ReceivedEpisode {
  const problem = mismatch(asked, result, newestVersion);
  if (problem === null) return result;
  const message = `what came back for rollout ${asked.episode_id} is not its result: ${problem}`;
  return lostRollout(asked, "PRL_EPISODE_INVALID", message);
}

function mismatch(asked: RunRequest, { episode, samples }: ReceivedEpisode, newestVersion: number): string | null {
  const { id, env, task, group, run, ok, errors, traces } = episode;
  const pairs: [string, unknown, unknown][] = [
    ["id", id, asked.episode_id],
    ["environment", env.name, asked.env],
    ["task", task.key, asked.task.key],
    ["task's hash", task.hash, asked.task.hash],
    ["group", group.id, asked.group_id],
    ["kind of run", run.type, asked.run.type],
  ];
  const other = pairs.find(([, got, wanted]) => got !== wanted);
  if (other !== undefined) return `its ${other[0]} is ${JSON.stringify(other[1])}, not ${JSON.stringify(other[2])}`;
  if (ok === errors.length > 0) return ok ? "it is well and has errors" : "it failed without an error";
  if (ok && samples === null) return "its tokens are missing";
  for (const { policy, reward } of traces) {
    if (ok && reward !== null && !Number.isFinite(reward)) return `its reward is ${reward}`;
    if (policy === null) continue;
    const { start, end } = policy;
    if (start > end) return `its policy versions go from ${start} to ${end}`;
    if (end > newestVersion) return `version ${end} sampled it, and the newest one is ${newestVersion}`;
  }
  return null;
}

/** The rollouts of a group with the scores of its group rewards; when these fail, all rollouts have failed. */
export async function scoreRollouts(
  workers: EnvWorkers,
  request: Omit<ScoreGroupRequest, "episodes">,
  rollouts: readonly ReceivedEpisode[],
  signal: AbortSignal,
): Promise<ReceivedEpisode[]> {
  const episodes = rollouts.map(({ episode }) => episode);
  if (!episodes.some(({ ok }) => ok)) return [...rollouts];
  for (let attempt = 0; ; attempt++) {
    const scores = await workers.scoreGroup({ ...request, episodes }, signal);
    const isFinal = scores.error === null || attempt === RETRIES || !isRetryable(scores.error);
    if (isFinal || !(await pause(BACKOFF_MS * 2 ** attempt, signal))) {
      const scored = withGroupScores(episodes, scores);
      return rollouts.map((rollout, index) => ({ ...rollout, episode: scored[index] ?? rollout.episode }));
    }
  }
}

/** False when the signal was aborted before the time was over. */
async function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  try {
    await sleep(ms, undefined, { signal });
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    throw error;
  }
}
