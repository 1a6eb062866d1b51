/** The first turns on a GPU that trainer and inference servers share, before the orchestrator is connected to either. */
import { setTimeout as sleep } from "node:timers/promises";

import type { ChildConfigs } from "../../config/index.ts";
import { messageOf, PrlError } from "../../errors.ts";
import { type Metrics, readReadyFile } from "../../monitors/index.ts";
import type { EngineDirectory } from "../../orchestrator/index.ts";
import { GpuTurns, putToSleep } from "../../orchestrator/internal.ts";
import { openOrchestratorTransports } from "../../transports/index.ts";
import type { ChildInput } from "./child.ts";

const POLL_MS = 20;
const SILENCE_POLL_MS = 250;

export interface TurnSurroundings {
  directory: Pick<EngineDirectory, "ready">;
  /** Step of the newest batch that an earlier orchestrator of the attempt has committed; null: there was none. */
  committed: number | null;
  metrics: Metrics;
  signal: AbortSignal;
}

/**
 * The turns of a run whose trainer and servers share a GPU; null where they do not. When it resolves, the turn is the servers'.
 *
 * @throws PrlError `PRL_GPU_TURN` when the trainer, or a server that an earlier attempt has left, does not leave the GPU in time
 */
export async function beginTurns(
  { config, runDir, attempt }: Pick<ChildInput<ChildConfigs["orchestrator"]>, "config" | "runDir" | "attempt">,
  { directory, committed, metrics, signal }: TurnSurroundings,
): Promise<GpuTurns | null> {
  const { deployment, inference, start_step: step } = config;
  if (deployment.type !== "colocated") return null;
  const turnMs = deployment.turn_timeout_s * 1000;
  const { rollouts, weights } = openOrchestratorTransports({ runDir, runId: config.run_id, attempt }, config, {});
  const turns = new GpuTurns({ runDir, attempt, weights, metrics, turnMs });
  await turns.begin({
    step,
    signal,
    silence: () => silenceLeft(() => directory.ready(runDir, inference.replicas), { ...deployment, turnMs, signal }),
    trainerReady: (since) => untilTrainerReady(runDir, since, turnMs, signal),
    recover: () => rollouts.recover(committed ?? step),
  });
  return turns;
}

/** Puts servers to sleep that an earlier attempt has left; one that dies meanwhile is started again in the servers' turn. */
async function silenceLeft(
  left: () => ReturnType<EngineDirectory["ready"]>,
  { sleep_level: level, turnMs, signal }: { sleep_level: number; turnMs: number; signal: AbortSignal },
): Promise<void> {
  const latest = performance.now() + turnMs;
  const asleep = new Set<string>();
  for (;;) {
    const awake = (await left()).filter(({ identity }) => !asleep.has(identity));
    if (awake.length === 0) return;
    for (const { engine, identity } of awake) {
      try {
        await putToSleep(engine, level, signal);
        asleep.add(identity);
      } catch (cause) {
        signal.throwIfAborted();
        if (performance.now() < latest) continue;
        const text = `the server at ${engine.url}, which an earlier attempt has left, does not sleep: ${messageOf(cause)}`;
        throw new PrlError("PRL_GPU_TURN", `${text}; start the run again with --resume`, { cause });
      }
    }
    await sleep(SILENCE_POLL_MS, undefined, { signal });
  }
}

/** The trainer writes its ready file when it has published its first version and left the GPU. */
async function untilTrainerReady(
  runDir: string,
  since: number,
  deadlineMs: number,
  signal: AbortSignal,
): Promise<void> {
  const latest = performance.now() + deadlineMs;
  for (;;) {
    signal.throwIfAborted();
    const file = await readReadyFile(runDir, "trainer", 0);
    if (file !== null && Date.parse(file.ready_at) >= since) return;
    if (performance.now() > latest) {
      const text = `the trainer has not published its first version within ${deadlineMs / 1000} s, while the servers wait for the GPU`;
      throw new PrlError("PRL_GPU_TURN", `${text}: see its log in logs/, or raise deployment.turn_timeout_s`);
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}
