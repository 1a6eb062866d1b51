/** Inference servers and env workers of a simulated run: what a rollout gives follows from its seed and the weights alone. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { ReceivedEpisode, RunRequest } from "../../../ts/environments/internal.ts";
import { messageOf, PrlError } from "../../../ts/errors.ts";
import { readyFilePath } from "../../../ts/monitors/index.ts";
import { writeReadyFile } from "../../../ts/monitors/ready-file.ts";
import { lostRollout } from "../../../ts/orchestrator/internal.ts";
import { scored } from "../../unit/orchestrator/simulation.ts";
import type { Program } from "../world/patched-node.ts";
import { asked, drawn, logprobsOf, type Machine, placeOf } from "./machine.ts";

const TOKENS = 3;
const TERMINATED = 143;

/** What a server sampled. */
interface Sampled {
  readonly start: number;
  readonly end: number;
  /** Of the weights at the beginning. */
  readonly digest: string;
}

export function inferenceServer({ world, network, contract, pace }: Machine): Program {
  return async (args, process) => {
    const { runDir, index } = placeOf(args);
    let [version, digest] = [0, ""];
    const sampling = { isPaused: true };
    const url = `http://inference-${index}.${process.pid}`;
    await sleep(world.delay(5, 200));
    network.listen(url, {
      prefetch: async () => Promise.reject(new PrlError("PRL_WEIGHTS_IO", "weights are in a folder")),
      pause: async () => void (sampling.isPaused = true),
      resume: async () => void (sampling.isPaused = false),
      async update(wanted: number, dir: string) {
        if (!sampling.isPaused && !network.hasOldRequest)
          contract.push(`${url} was to load version ${wanted} while it sampled`);
        const text = await readFile(join(dir, "manifest.json"), "utf8").catch((cause: unknown) => {
          throw new PrlError("PRL_WEIGHTS_IO", `version ${wanted} is not in ${dir}`, { cause });
        });
        await sleep(world.delay(1, 30));
        [version, digest] = [wanted, (JSON.parse(text) as { digest: string }).digest];
        return { skipped: false };
      },
      logprobs: async (ids: number[]) => Float32Array.from(logprobsOf(digest, ids)),
      health: async () => ({
        status: "ok",
        paused: sampling.isPaused,
        policyVersion: version,
        digest,
        running: 0,
        waiting: 0,
      }),
      load: async () => [],
      async generate(): Promise<Sampled> {
        const begun = { start: version, digest };
        for (let token = 0; token < TOKENS; token++) {
          await sleep(pace * world.delay(1, 25));
          while (sampling.isPaused) await sleep(4);
        }
        return { ...begun, end: version };
      },
    });
    await writeReadyFile(readyFilePath(runDir, "inference", index), { url, isa: "portable", dtype: "float32" });
    await asked(process);
    return TERMINATED;
  };
}

export function envWorker(machine: Machine): Program {
  const { world, network } = machine;
  return async (args, process) => {
    const { runDir, index } = placeOf(args);
    const url = `http://env-worker-${index}.${process.pid}`;
    await sleep(world.delay(5, 200));
    network.listen(url, {
      health: async () => undefined,
      async tasks(after: string | null, limit: number) {
        const start = Number(after ?? 0);
        const tasks = Array.from({ length: limit }, (_, i) => ({ key: String(start + i), hash: "", data: {} }));
        return { tasks, next: String(start + limit), endless: true };
      },
      async run(request: RunRequest) {
        const answer = await rollout(machine, request);
        return world.rng.next() < machine.garbage ? garbled(answer, world.rng.integer(4)) : answer;
      },
    });
    await writeReadyFile(readyFilePath(runDir, "env-worker", index), { url });
    await asked(process);
    return TERMINATED;
  };
}

async function rollout({ network }: Machine, request: RunRequest): Promise<ReceivedEpisode> {
  try {
    const { start, end, digest } = (await network.call(request.inference.url, "generate", [])) as Sampled;
    // The version that the run of level 0 samples with decides what it learns.
    const reward = drawn(`${digest} ${request.seed}`, 5) / 4;
    return scored(request, reward, start, end, TOKENS);
  } catch (error) {
    return lostRollout(request, "PRL_INFERENCE_UNREACHABLE", messageOf(error));
  }
}

/** Not what was asked for. */
function garbled(answer: ReceivedEpisode, kind: number): ReceivedEpisode {
  const { episode } = answer;
  if (kind === 0) return { ...answer, samples: null };
  if (kind === 1) return { ...answer, episode: { ...episode, id: `${episode.id}0` } };
  if (kind === 2) return { ...answer, episode: { ...episode, group: { id: "group-none" } } };
  return {
    ...answer,
    episode: { ...episode, traces: episode.traces.map((trace) => ({ ...trace, reward: Infinity })) },
  };
}
