/** All kinds of faults, in the order of the documentation, and how a list of names chooses among them. */
import { PrlError } from "../../errors.ts";
import { nearest } from "../../config/index.ts";
import type { Fault, FaultPlace } from "./fault.ts";
import { fault as flipBatch } from "./faults/files/flip-batch.ts";
import { fault as flipCheckpoint } from "./faults/files/flip-checkpoint.ts";
import { fault as flipWeights } from "./faults/files/flip-weights.ts";
import { fault as truncateBatch } from "./faults/files/truncate-batch.ts";
import { fault as truncateCheckpoint } from "./faults/files/truncate-checkpoint.ts";
import { fault as truncateWeights } from "./faults/files/truncate-weights.ts";
import { fault as clockJump } from "./faults/inside/clock-jump.ts";
import { fault as envBlocks } from "./faults/inside/env-blocks.ts";
import { fault as envExits } from "./faults/inside/env-exits.ts";
import { fault as envThrows } from "./faults/inside/env-throws.ts";
import { fault as hangNative } from "./faults/inside/hang-native.ts";
import { fault as failingDisk } from "./faults/inside/failing-disk.ts";
import { fault as slowDisk } from "./faults/inside/slow-disk.ts";
import { fault as envLeaks } from "./faults/machine/env-leaks.ts";
import { fault as fullDisk } from "./faults/machine/full-disk.ts";
import { fault as noDescriptors } from "./faults/machine/no-descriptors.ts";
import { fault as noMemory } from "./faults/machine/no-memory.ts";
import { fault as engineBusy } from "./faults/network/engine-busy.ts";
import { fault as engineCorrupt } from "./faults/network/engine-corrupt.ts";
import { fault as engineCut } from "./faults/network/engine-cut.ts";
import { fault as engineDelay } from "./faults/network/engine-delay.ts";
import { fault as engineError } from "./faults/network/engine-error.ts";
import { fault as engineFuture } from "./faults/network/engine-future.ts";
import { fault as engineLostRequest } from "./faults/network/engine-lost-request.ts";
import { fault as engineNan } from "./faults/network/engine-nan.ts";
import { fault as engineNonsense } from "./faults/network/engine-nonsense.ts";
import { fault as engineRepeat } from "./faults/network/engine-repeat.ts";
import { fault as engineWrongTokens } from "./faults/network/engine-wrong-tokens.ts";
import { fault as workerCorrupt } from "./faults/network/worker-corrupt.ts";
import { fault as workerCut } from "./faults/network/worker-cut.ts";
import { fault as hangEnvWorker } from "./faults/processes/hang-env-worker.ts";
import { fault as hangTrainer } from "./faults/processes/hang-trainer.ts";
import { fault as interrupt } from "./faults/processes/interrupt.ts";
import { fault as killEnvWorker } from "./faults/processes/kill-env-worker.ts";
import { fault as killInference } from "./faults/processes/kill-inference.ts";
import { fault as killLauncher } from "./faults/processes/kill-launcher.ts";
import { fault as killOrchestrator } from "./faults/processes/kill-orchestrator.ts";
import { fault as killTrainer } from "./faults/processes/kill-trainer.ts";
import { fault as pauseEnvWorker } from "./faults/processes/pause-env-worker.ts";
import { fault as pauseInference } from "./faults/processes/pause-inference.ts";
import { fault as pauseOrchestrator } from "./faults/processes/pause-orchestrator.ts";
import { fault as pauseTrainer } from "./faults/processes/pause-trainer.ts";
import { fault as hangSandboxd } from "./faults/sandboxes/hang-sandboxd.ts";
import { fault as killSandboxd } from "./faults/sandboxes/kill-sandboxd.ts";
import { fault as pauseSandboxd } from "./faults/sandboxes/pause-sandboxd.ts";

export const FAULTS: readonly Fault[] = [
  killOrchestrator,
  killTrainer,
  killInference,
  killEnvWorker,
  killSandboxd,
  killLauncher,
  interrupt,
  pauseOrchestrator,
  pauseTrainer,
  pauseInference,
  pauseEnvWorker,
  pauseSandboxd,
  hangTrainer,
  hangEnvWorker,
  hangSandboxd,
  hangNative,
  engineCut,
  engineLostRequest,
  engineDelay,
  engineCorrupt,
  engineRepeat,
  engineError,
  engineBusy,
  engineNonsense,
  engineNan,
  engineWrongTokens,
  engineFuture,
  workerCut,
  workerCorrupt,
  flipWeights,
  truncateWeights,
  flipBatch,
  truncateBatch,
  flipCheckpoint,
  truncateCheckpoint,
  envThrows,
  envExits,
  envBlocks,
  envLeaks,
  clockJump,
  slowDisk,
  failingDisk,
  noDescriptors,
  noMemory,
  fullDisk,
];

export interface Choice {
  readonly faults: readonly Fault[];
  /** Kinds that are left out, with the reason. */
  readonly leftOut: readonly { readonly fault: Fault; readonly reason: string }[];
}

/**
 * The faults that a list names, `kill-trainer,engine-cut` or `all`; `kill-*` names all that begin so.
 *
 * @throws PrlError `PRL_CLI_USAGE` naming a name that fits nothing, or when every one of them is impossible here
 */
export function chooseFaults(list: string, place: FaultPlace): Choice {
  const names = list.split(",").map((name) => name.trim());
  const named = new Set(names.flatMap((name) => matching(name)));
  const leftOut: { fault: Fault; reason: string }[] = [];
  const faults = FAULTS.filter((fault) => {
    if (!named.has(fault)) return false;
    const reason = fault.obstacle?.(place) ?? null;
    if (reason !== null) leftOut.push({ fault, reason });
    return reason === null;
  });
  if (faults.length > 0) return { faults, leftOut };
  const reasons = leftOut.map(({ fault, reason }) => `${fault.name}: ${reason}`).join("; ");
  throw new PrlError("PRL_CLI_USAGE", `--faults: none of them is possible here: ${reasons}`);
}

function matching(name: string): readonly Fault[] {
  const prefix = name === "all" ? "" : name.endsWith("*") ? name.slice(0, -1) : null;
  const found = FAULTS.filter((fault) => (prefix === null ? fault.name === name : fault.name.startsWith(prefix)));
  if (found.length > 0) return found;
  const known = FAULTS.map((fault) => fault.name);
  const near = nearest(name, known);
  const advice = near === null ? "prl chaos --list names them" : `did you mean ${near}?`;
  throw new PrlError("PRL_CLI_USAGE", `--faults: there is no fault ${JSON.stringify(name)}; ${advice}`);
}
