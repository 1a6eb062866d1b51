/**
 * Env workers whose rollouts the engine fleet samples: each rollout gets an engine of those in service, and comes back as an `infra` error
 * (PRL_INFERENCE_LOST) when that engine leaves service before the rollout has ended. What that engine sampled for it is not used.
 */
import type { ReceivedEpisode, RunRequest } from "../../environments/internal.ts";
import type { EngineFleet, EngineLease } from "./engine-fleet.ts";
import { type EnvWorkers, lostRollout } from "../env-workers/env-workers.ts";
import { messageOf } from "../../errors.ts";

/** Fills in `inference` of each request; a request that already has it, for a teacher, goes there. */
export function routedWorkers(workers: EnvWorkers, fleet: Pick<EngineFleet, "take">): EnvWorkers {
  const run = async (
    request: RunRequest,
    lease: EngineLease,
    signal: AbortSignal,
    lostWorkers?: number,
  ): Promise<ReceivedEpisode> => {
    const lost = (why: string): ReceivedEpisode => lostRollout(request, "PRL_INFERENCE_LOST", why);
    try {
      const inference = { ...request.inference, url: lease.url, model: lease.model ?? request.inference.model };
      const result = await workers.run({ ...request, inference }, lease.signal, lostWorkers);
      if (signal.aborted) return result;
      if (lease.lost !== null) return lost(lease.lost.message);
      const isReached = result.episode.errors.every(({ code }) => code !== "PRL_INFERENCE_UNREACHABLE");
      return isReached || (await lease.suspect()) ? result : lost(`${lease.url} was not reached`);
    } finally {
      lease.release();
    }
  };
  return {
    tasks: (...args) => workers.tasks(...args),
    scoreGroup: (...args) => workers.scoreGroup(...args),
    close: () => workers.close(),
    async run(request, signal, lostWorkers) {
      if (request.inference.url !== "") return workers.run(request, signal, lostWorkers);
      let lease: EngineLease;
      try {
        lease = await fleet.take(`${request.env} ${request.task.key}`, signal);
      } catch (error) {
        const code = signal.aborted ? "PRL_EPISODE_CANCELLED" : "PRL_INFERENCE_UNREACHABLE";
        return lostRollout(request, code, messageOf(error));
      }
      return run(request, lease, signal, lostWorkers);
    },
  };
}
