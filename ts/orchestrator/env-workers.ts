/**
 * The orchestrator's side of the env-worker protocol (design section 5): tasks, rollouts, cancellation.
 *
 * Requests are spread over the workers in turn. Errors of the transport become `infra` errors of the rollout's episode, so that the
 * caller has one shape for everything that can happen to a rollout.
 */

import { Pool } from "undici";
import { PrlError } from "../errors.ts";
import {
  decodeEpisode,
  type Episode,
  type EpisodeFrame,
  type RunRequest,
  type TaskPage,
} from "../environments/index.ts";

export interface EnvWorkers {
  tasks(source: string, split: "train" | "eval", after: string | null, limit: number): Promise<TaskPage>;
  /** Never rejects but for a worker that breaks the protocol: what happened to the rollout is in the episode. */
  run(request: RunRequest, signal: AbortSignal): Promise<EpisodeFrame>;
  close(): Promise<void>;
}

const TASKS_DEADLINE_MS = 60_000;
const CANCEL_DEADLINE_MS = 5_000;
/** A worker answers by itself at the rollout's deadline; this much later it is taken for dead. */
const RUN_GRACE_MS = 10_000;

export function connectEnvWorkers(urls: readonly string[], { connections }: { connections: number }): EnvWorkers {
  const pools = urls.map((url) => new Pool(url, { connections, bodyTimeout: 0, headersTimeout: 0 }));
  let turn = 0;
  const first = pools[0];
  if (first === undefined) throw new PrlError("PRL_PROCESS_NOT_READY", "there is no env worker");

  async function cancel(pool: Pool, episodeId: string): Promise<void> {
    const body = JSON.stringify({ episode_id: episodeId });
    const options = { method: "POST", path: "/cancel", headers: JSON_HEADERS, body } as const;
    const response = await pool.request({ ...options, signal: AbortSignal.timeout(CANCEL_DEADLINE_MS) });
    await response.body.dump();
  }

  return {
    async tasks(source, split, after, limit) {
      const query = new URLSearchParams({
        env: source,
        split,
        limit: String(limit),
        ...(after === null ? {} : { after }),
      });
      const response = await first.request({
        method: "GET",
        path: `/tasks?${query.toString()}`,
        signal: AbortSignal.timeout(TASKS_DEADLINE_MS),
      });
      const text = await response.body.text();
      if (response.statusCode !== 200) {
        throw new PrlError("PRL_ENVIRONMENT_FAILED", `the tasks of "${source}" (${split}) cannot be listed: ${text}`);
      }
      return JSON.parse(text) as TaskPage;
    },
    async run(request, signal) {
      const pool = pools[turn++ % pools.length] ?? first;
      const onAbort = () => void cancel(pool, request.episode_id).catch(() => undefined);
      signal.addEventListener("abort", onAbort, { once: true });
      try {
        const response = await pool.request({
          method: "POST",
          path: "/run",
          headers: JSON_HEADERS,
          body: JSON.stringify(request),
          signal: AbortSignal.timeout(request.deadline_ms + RUN_GRACE_MS),
        });
        if (response.statusCode !== 200) {
          throw new PrlError(
            "PRL_ENVIRONMENT_FAILED",
            `an env worker refused a rollout: ${await response.body.text()}`,
          );
        }
        return decodeEpisode(new Uint8Array(await response.body.arrayBuffer()));
      } catch (error) {
        if (error instanceof PrlError) throw error;
        return { episode: infraEpisode(request, error), columns: [] };
      } finally {
        signal.removeEventListener("abort", onAbort);
      }
    },
    async close() {
      await Promise.all(pools.map((pool) => pool.destroy()));
    },
  };
}

const JSON_HEADERS = { "content-type": "application/json" };

function infraEpisode(request: RunRequest, error: unknown): Episode {
  const message = error instanceof Error ? error.message : String(error);
  return {
    id: request.episode_id,
    env: { id: request.env, name: request.env },
    task: request.task,
    group: { id: request.group_id },
    run: request.run,
    ok: false,
    errors: [{ class: "infra", code: "PRL_PROCESS_DIED", message: `the env worker did not answer: ${message}` }],
    traces: [],
  };
}
