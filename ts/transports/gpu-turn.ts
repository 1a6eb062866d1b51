/**
 * Whose turn it is on a GPU that trainer and inference servers share: `run/gpu-turn.json` (ARCHITECTURE.md, "One GPU for both").
 *
 * The orchestrator alone writes it; trainer and servers wait for their turn before they take memory of the GPU. What a turn ends with is no
 * matter of this file: the trainer's with a version, the servers' with a batch.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

import { PrlError } from "../errors.ts";
import { atomicWriteJson } from "../files/atomic-write.ts";
import { ifThere } from "../files/file-presence.ts";
import { makeFolder } from "../files/make-folder.ts";

const turnSchema = z.strictObject({
  attempt: z.int().positive(),
  /** `start`: the trainer loads its model and publishes the version that the attempt begins with. */
  turn: z.enum(["start", "trainer", "servers"]),
  /** The step whose batch the trainer has; of other turns the last one that was trained. */
  step: z.int().nonnegative(),
  /** When it began (milliseconds since 1970). */
  since: z.number(),
});
export type GpuTurn = z.output<typeof turnSchema>;

const POLL_MS = 20;
/** The other side has deadlines for its turn; beyond this the orchestrator counts as dead. */
const TURN_DEADLINE_MS = 6 * 3_600_000;

/** Path of the file. A launcher removes that of an earlier one. */
export function gpuTurnPath(runDir: string): string {
  return join(runDir, "run", "gpu-turn.json");
}

/** Null: no turn was given yet. Errors: PRL_IO. */
export async function readGpuTurn(runDir: string): Promise<GpuTurn | null> {
  const path = gpuTurnPath(runDir);
  const content = await ifThere(readFile(path, "utf8"), path);
  if (content === null) return null;
  try {
    return turnSchema.parse(JSON.parse(content));
  } catch (cause) {
    throw new PrlError("PRL_IO", `${path} does not say whose turn it is: start the run again with --resume`, { cause });
  }
}

export async function writeGpuTurn(runDir: string, turn: Omit<GpuTurn, "since">): Promise<GpuTurn> {
  const written = { ...turn, since: Date.now() };
  makeFolder(join(runDir, "run"));
  await atomicWriteJson(gpuTurnPath(runDir), written);
  return written;
}

/** The trainer's side. */
export interface TrainerTurn {
  /** Resolves when the trainer may take the GPU: for its model where `step` is null, else for this step. Errors: PRL_DEADLINE, the signal's reason. */
  wait(step: number | null, signal: AbortSignal): Promise<void>;
}

export function trainerTurn(runDir: string, attempt: number): TrainerTurn {
  return {
    async wait(step, signal) {
      await untilTurn(runDir, signal, "the trainer's turn", (turn) => {
        if (turn.attempt !== attempt || turn.turn === "servers") return false;
        return step === null || (turn.turn === "trainer" && step <= turn.step);
      });
    },
  };
}

/** Resolves when a server may take the GPU. A server outlives attempts. Errors: PRL_DEADLINE, the signal's reason. */
export async function untilServersTurn(runDir: string, signal: AbortSignal): Promise<void> {
  await untilTurn(runDir, signal, "the servers' turn", ({ turn }) => turn === "servers");
}

async function untilTurn(
  runDir: string,
  signal: AbortSignal,
  what: string,
  isIt: (turn: GpuTurn) => boolean,
): Promise<void> {
  const latest = performance.now() + TURN_DEADLINE_MS;
  for (;;) {
    signal.throwIfAborted();
    const turn = await readGpuTurn(runDir);
    if (turn !== null && isIt(turn)) return;
    if (performance.now() > latest) {
      const hours = TURN_DEADLINE_MS / 3_600_000;
      throw new PrlError(
        "PRL_DEADLINE",
        `${what} on the GPU did not come within ${hours} hours (${gpuTurnPath(runDir)})`,
      );
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}
