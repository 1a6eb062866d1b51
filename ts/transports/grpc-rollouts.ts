/**
 * Batches over the network: the orchestrator keeps each in its spool until the trainer's machine has it on disk.
 *
 * The spool is `spool/` in the sender's run directory. The receiver's inbox is `rollouts/` in its run directory, where files appear as
 * the filesystem transport writes them, so they are awaited, checked and read in the same way. Protocol: crates/transport/README.md.
 */

import { readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { listenForRollouts, openSpool, writeBatch, type TransportOptions } from "../native/index.ts";
import { filesystemRollouts, type RolloutReceiver, type RolloutSender } from "./rollouts.ts";
import { ifThere } from "../files/file-presence.ts";
import { makeDurableFolder } from "../files/make-folder.ts";

/** A process of a run. */
export interface RunProcess {
  runDir: string;
  runId: string;
  attempt: number;
}

/** Sends to the receivers at `addresses`, one per rank. Batches that an earlier process of the run left in the spool are sent first (`recover`). */
export function grpcRolloutSender(
  { runDir, runId, attempt }: RunProcess,
  addresses: readonly string[],
  options: TransportOptions,
): RolloutSender {
  const root = join(runDir, "spool");
  const spool = openSpool(root, addresses, options);
  return {
    async send(step, batches, envNames, commit) {
      for (const [rank, batch] of batches.entries()) {
        const path = join(root, `step_${step}`, `rank_${rank}.safetensors`);
        await makeDurableFolder(dirname(path), runDir);
        await writeBatch(path, batch, { runId, attempt, step, rank, envNames: [...envNames] });
      }
      await commit?.();
      await spool.deliver();
    },
    async recover(committed) {
      for (const name of (await ifThere(readdir(root), root)) ?? []) {
        const step = Number(/^step_(\d+)$/.exec(name)?.[1] ?? 0);
        if (step > committed) await rm(join(root, name), { recursive: true, force: true });
      }
      await spool.deliver();
    },
    close: async () => spool.close(),
  };
}

/** Listens on `listen` (`host:port`, port 0 for any). Errors: PRL_TRANSPORT_ADDRESS. */
export async function grpcRolloutReceiver(
  { runDir, runId, attempt }: RunProcess,
  listen: string,
  options: TransportOptions,
): Promise<RolloutReceiver & { readonly address: string }> {
  const inbox = await listenForRollouts(listen, join(runDir, "rollouts"), runId, options);
  const files = filesystemRollouts(runDir, runId, attempt);
  return { ...files, address: inbox.address, close: () => inbox.close() };
}
