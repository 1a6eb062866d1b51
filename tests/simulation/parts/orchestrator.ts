/** The orchestrator of a simulated run: the product's, as `prl orchestrator` connects it, with servers and env workers behind a simulated network. */
import { setTimeout as sleep } from "node:timers/promises";

import { readChildConfig } from "../../../ts/config/index.ts";
import type { ReceivedEpisode, RunRequest } from "../../../ts/environments/internal.ts";
import type { TaskPage } from "../../../ts/environments/index.ts";
import { messageOf, PrlError } from "../../../ts/errors.ts";
import { openMetrics, readReadyFile, readyFilePath } from "../../../ts/monitors/index.ts";
import { writeReadyFile } from "../../../ts/monitors/ready-file.ts";
import {
  EngineFleet,
  type EnvWorkerConnection,
  followEnvWorkers,
  type PlacedEngine,
  readLoggedLines,
  readOrchestratorState,
  readSnapshot,
  runOrchestrator,
} from "../../../ts/orchestrator/index.ts";
import { type EngineAdmin, lostRollout } from "../../../ts/orchestrator/internal.ts";
import { filesystemRollouts } from "../../../ts/transports/index.ts";
import type { Program } from "../world/patched-node.ts";
import { type Machine, placeOf } from "./machine.ts";
import type { Network } from "./network.ts";
import { follower } from "./trainer.ts";

const POLL_MS = 25;
const ADMIN_DEADLINE_MS = 5_000;
const PATIENCE_MS = 60_000;
const PROBE_MS = 250;

export function orchestrator({ network, defect }: Machine): Program {
  return async (args, process) => {
    const { configPath, runDir, index, attempt } = placeOf(args);
    const config = await readChildConfig("orchestrator", configPath);
    const { signal } = process.stopping;
    const run = config.run_id;
    const found = await readSnapshot({ runDir, run, attempt });
    const snapshot = defect === "orchestrator-forgets" ? null : found;
    const logged = await readLoggedLines(runDir, attempt);
    const metrics = openMetrics(runDir, "orchestrator", attempt);
    const { replicas } = config.inference;
    while ((await readReadyFile(runDir, "trainer", 0)) === null) await sleep(POLL_MS, undefined, { signal });
    while ((await serversOf(network, runDir, replicas)).length < replicas) await sleep(POLL_MS, undefined, { signal });
    const engines = new EngineFleet(await serversOf(network, runDir, replicas), {
      maxMeanAbs: 0,
      metrics,
      times: { patienceMs: PATIENCE_MS, swapMs: 10_000 },
    });
    const workers = envWorkers(network);
    await writeReadyFile(readyFilePath(runDir, "orchestrator", index), {});
    const ended = new AbortController();
    const running = AbortSignal.any([signal, ended.signal]);
    const following = Promise.all([
      followEnvWorkers(runDir, workers, running),
      followServers(network, { runDir, replicas, engines, signal: running }),
    ]);
    following.catch((error: unknown) => ended.abort(error));
    await runOrchestrator({
      runDir,
      config,
      engines,
      workers,
      weights: follower(runDir),
      metrics,
      signal: running,
      modelName: "m",
      resume: config.resume_from === null ? null : await readOrchestratorState(config.resume_from),
      snapshot,
      snapshots: true,
      logged,
      checkpoints: { root: config.checkpoints, run, attempt, rules: config.ckpt },
      rollouts: filesystemRollouts(runDir, run, attempt),
    });
    ended.abort();
    metrics.close();
    return 0;
  };
}

interface Followed {
  readonly runDir: string;
  readonly replicas: number;
  readonly engines: EngineFleet;
  readonly signal: AbortSignal;
}

async function followServers(network: Network, { runDir, replicas, engines, signal }: Followed): Promise<void> {
  while (!signal.aborted) {
    engines.update(await serversOf(network, runDir, replicas));
    await sleep(PROBE_MS, undefined, { signal }).catch(() => undefined);
  }
}

/** Servers that are ready. */
async function serversOf(network: Network, runDir: string, count: number): Promise<PlacedEngine[]> {
  const placed: PlacedEngine[] = [];
  for (let index = 0; index < count; index++) {
    const ready = await readReadyFile(runDir, "inference", index);
    if (ready?.url === undefined) continue;
    const engine = {
      url: ready.url,
      isa: "portable",
      dtype: "float32",
      weights: null,
      admin: adminOf(network, ready.url),
    };
    placed.push({ name: `inference-${index}`, identity: ready.url, engine });
  }
  return placed;
}

function adminOf(network: Network, url: string): EngineAdmin {
  const ask = (name: string, args: readonly unknown[] = []) => network.call(url, name, args, ADMIN_DEADLINE_MS);
  return {
    prefetchWeights: () => ask("prefetch"),
    pause: () => ask("pause"),
    resume: () => ask("resume"),
    updateWeights: ({ version, source }: { version: number; source: { dir?: string } }) =>
      ask("update", [version, source.dir]),
    promptLogprobs: (ids: readonly number[]) => ask("logprobs", [[...ids]]),
    health: () => ask("health"),
    load: () => ask("load"),
  } as unknown as EngineAdmin;
}

/** The env workers that are ready; a rollout goes to the one with the fewest. */
function envWorkers(network: Network): EnvWorkerConnection {
  const busy = new Map<string, { name: string; url: string; count: number }>();
  const suspects = new Set<string>();
  let waiting = 0;
  const probe = async (url: string): Promise<void> => {
    suspects.add(url);
    while (busy.has(url)) {
      await sleep(PROBE_MS);
      if (
        await network.call(url, "health", [], ADMIN_DEADLINE_MS).then(
          () => true,
          () => false,
        )
      )
        break;
    }
    suspects.delete(url);
  };
  const take = async (signal: AbortSignal) => {
    for (const latest = performance.now() + PATIENCE_MS; performance.now() < latest;) {
      signal.throwIfAborted();
      const [worker] = [...busy.values()].filter(({ url }) => !suspects.has(url)).toSorted((a, b) => a.count - b.count);
      if (worker !== undefined) return worker;
      waiting += 1;
      await sleep(POLL_MS);
      waiting -= 1;
    }
    throw new PrlError("PRL_PROCESS_DIED", "no env worker answered");
  };
  const on = async <Answer>(name: string, args: readonly unknown[], signal: AbortSignal): Promise<Answer> => {
    const worker = await take(signal);
    worker.count += 1;
    try {
      return (await network.call(worker.url, name, args)) as Answer;
    } catch (error) {
      if (!suspects.has(worker.url)) void probe(worker.url);
      throw error;
    } finally {
      worker.count -= 1;
    }
  };
  return {
    async tasks({ after, limit }, signal) {
      for (;;) {
        const page = await on<TaskPage>("tasks", [after, limit], signal).catch(() => null);
        signal.throwIfAborted();
        if (page !== null) return page;
      }
    },
    async run(request: RunRequest, signal: AbortSignal): Promise<ReceivedEpisode> {
      let give = (): void => undefined;
      const cancelled = new Promise<ReceivedEpisode>((resolve) => {
        give = () => resolve(lostRollout(request, "PRL_EPISODE_CANCELLED", "cancelled"));
        if (signal.aborted) give();
        else signal.addEventListener("abort", give, { once: true });
      });
      const answer = on<ReceivedEpisode>("run", [request], signal).catch((error: unknown) =>
        lostRollout(request, "PRL_PROCESS_DIED", messageOf(error)),
      );
      const received = await Promise.race([answer, cancelled]);
      signal.removeEventListener("abort", give);
      return received.episode.id === request.episode_id
        ? received
        : lostRollout(request, "PRL_EPISODE_INVALID", "another id");
    },
    scoreGroup: () => Promise.reject(new Error("there are no group rewards")),
    update(addresses) {
      for (const { name, url } of addresses) if (!busy.has(url)) busy.set(url, { name, url, count: 0 });
      for (const url of busy.keys()) if (!addresses.some((one) => one.url === url)) busy.delete(url);
    },
    load: () => {
      const workers = Object.fromEntries([...busy.values()].map(({ name, count }) => [name, count]));
      return { rollouts: Object.values(workers).reduce((sum, count) => sum + count, waiting), workers };
    },
    get waiting() {
      return waiting;
    },
    close: async () => undefined,
  };
}
