/** The processes that an orchestrator waits for before it works: they say in `<run>/run` that they are ready. */
import { setTimeout as sleep } from "node:timers/promises";

import { type ChildConfigs, ownEnvWorkers } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { processStart } from "../../files/run-lock.ts";
import { type ReadyFile, readReadyFile } from "../../monitors/index.ts";
import { readyEnvWorkers } from "../../orchestrator/index.ts";
import type { ChildInput } from "./child.ts";

const READY_DEADLINE_MS = 300_000;
/** A trainer that was started without the launcher trains the warm start first. */
const WARM_START_DEADLINE_MS = 2 * 3_600_000;
const READY_POLL_MS = 20;
/** The launcher starts another env worker for one that died; this covers its longest pause and the start. */
export const REPLACED_WITHIN_MS = 60_000;

type Config = ChildConfigs["orchestrator"];

/** Waits for inference servers, env workers and the trainer; returns the trainer's ready file, or null for a trainer on another machine. */
export async function readyTrainer(
  { config, runDir, member }: Pick<ChildInput<Config>, "config" | "runDir" | "member">,
  replicas: number,
  signal: AbortSignal,
): Promise<ReadyFile | null> {
  const isStandalone = !member.supervised;
  // Without a launcher an earlier trainer may have left its ready file, whose process is gone; with --resume the file was removed.
  const isThere = async ({ pid }: ReadyFile) =>
    !isStandalone || config.start_step > 0 || (await processStart(pid)) !== null;
  const ready = (component: string, count: number, deadlineMs = READY_DEADLINE_MS) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        waitUntilReady({ runDir, component, index, deadlineMs, signal, isThere }),
      ),
    );
  const warmsUp = isStandalone && config.warm_start !== null;
  const [, , trainers] = await Promise.all([
    ready("inference", replicas, Math.max(READY_DEADLINE_MS, vllmStartMs(config.inference))),
    ready("env-worker", ownEnvWorkers(config.orchestrator)),
    ready(
      config.evaluate_only === null ? "trainer" : "sft",
      saysWhereTheTrainerIs(config) ? 0 : 1,
      warmsUp ? WARM_START_DEADLINE_MS : READY_DEADLINE_MS,
    ),
  ]);
  return trainers[0] ?? null;
}

/** How long a vLLM that the run starts may take until it answers; 0 without one. */
export function vllmStartMs({ backend, vllm }: Config["inference"]): number {
  return backend === "vllm" ? vllm.start_timeout_s * 1000 : 0;
}

/** Whether the trainer may be on another machine, where its ready file is. */
function saysWhereTheTrainerIs({ rollout_transport: batches, weight_broadcast: broadcast }: Config): boolean {
  return [batches, broadcast].every(({ type, connect }) => type === "grpc" && connect !== null);
}

/** Waits for at least one: those that were ready may have died since, and the launcher starts others. */
export async function someEnvWorkers(runDir: string, signal: AbortSignal) {
  const end = Date.now() + REPLACED_WITHIN_MS;
  for (;;) {
    const found = await readyEnvWorkers(runDir);
    if (found.length > 0 || Date.now() > end) return found;
    await sleep(READY_POLL_MS, undefined, { signal });
  }
}

interface AwaitedProcess {
  runDir: string;
  component: string;
  index: number;
  deadlineMs: number;
  signal: AbortSignal;
  /** Whether the process that wrote the file still exists. */
  isThere: (file: ReadyFile) => Promise<boolean>;
}

async function waitUntilReady(awaited: AwaitedProcess): Promise<ReadyFile> {
  const { runDir, component, index, deadlineMs, signal, isThere } = awaited;
  const end = Date.now() + deadlineMs;
  for (;;) {
    const file = await readReadyFile(runDir, component, index);
    if (file !== null && (await isThere(file))) return file;
    if (Date.now() > end) {
      const seconds = deadlineMs / 1000;
      throw new PrlError(
        "PRL_PROCESS_NOT_READY",
        `${component}-${index} was not ready within ${seconds} s: see its log in logs/`,
      );
    }
    await sleep(READY_POLL_MS, undefined, { signal });
  }
}
