/**
 * One rollout from request to result, and the scores of a group of them, with the retries that are safe.
 *
 * Only `infra` and `provider` errors are retried, with the same seed, so that a retry changes nothing but the time. A rollout whose
 * retries are used up comes back as an errored episode; it is never scored.
 */

import { setTimeout as sleep } from "node:timers/promises";
import {
  isRetryable,
  type ReceivedEpisode,
  type RunRequest,
  type ScoreGroupRequest,
  withGroupScores,
} from "../environments/index.ts";
import type { EnvWorkers } from "./env-workers.ts";

const RETRIES = 3;
/** An engine that leaves service takes nobody's retries; that many are no accident. */
const MOST_LOSSES = 10;
const BACKOFF_MS = 100;
/** Three such pauses outlast the replacement of a sandbox daemon. */
const SANDBOX_BACKOFF_MS = 400;

/** Runs a rollout; resolves with an errored episode when it cannot be had or was cancelled. */
export async function runRollout(
  workers: EnvWorkers,
  request: RunRequest,
  signal: AbortSignal,
): Promise<ReceivedEpisode> {
  let losses = 0;
  for (let attempt = 0; ; attempt++) {
    const result = await workers.run({ ...request, episode_id: `${request.episode_id}-${attempt}` }, signal);
    const { ok, errors } = result.episode;
    if (ok || !errors.every(isRetryable)) return result;
    if (errors.some(({ code }) => code === "PRL_INFERENCE_LOST")) {
      losses += 1;
      // The next try waits for an engine in service.
      if (losses > MOST_LOSSES || signal.aborted) return result;
      continue;
    }
    const retry = attempt - losses;
    if (retry >= RETRIES) return result;
    // Chance has no part in what is sampled, so it does no harm here.
    const isSandbox = errors.some(({ code }) => code.startsWith("PRL_SANDBOX_"));
    const base = isSandbox ? SANDBOX_BACKOFF_MS : BACKOFF_MS;
    if (!(await pause(base * 2 ** retry * (0.5 + Math.random()), signal))) return result;
  }
}

/** The rollouts of a group with what its rewards add; when these fail, all of them have failed. */
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
