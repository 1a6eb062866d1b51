/**
 * Whether a lost process that holds the run's state can be replaced while the others go on: an orchestrator, from its snapshot of the newest batch
 * that it has committed; a trainer, from the newest half of a checkpoint that it has written and the batches since.
 *
 * The new orchestrator begins with the version under which the lost one had opened groups, so that version has to be on disk. A new trainer that finds
 * out that it cannot do the steps since its checkpoint again fails with PRL_TRAIN_REPLAY, and counts as lost.
 */
import { rm } from "node:fs/promises";

import { readFailureNote } from "../../failure-note.ts";
import { readyFilePath } from "../../monitors/index.ts";
import type { ChildSpec, RunChild } from "./child-process.ts";
import type { RlRun } from "./rl-processes.ts";
import type { LostProcess } from "./state-holders.ts";

export interface Loss {
  lost: LostProcess;
  /** The other processes that hold the run's state. */
  others: readonly RunChild[];
  /** The run was at work when the process was lost. */
  wasReady: boolean;
  note: (message: string) => void;
}

/** Why everything has to go back to the checkpoint with a lost orchestrator; null: it alone is started again. */
export function whyAllGoBack({ config, learner }: RlRun, others: readonly RunChild[]): string | null {
  if (learner !== undefined) return "the orchestrator of a supervised run has no snapshots";
  const { max_async_level: level, weight_broadcast: broadcast } = config;
  const least = level + 2;
  if (broadcast.keep < least)
    return `weight_broadcast.keep is ${broadcast.keep}, and only from ${least} on the weights that an orchestrator continues with stay`;
  // A trainer that was lost is replaced, too.
  if (broadcast.type === "grpc" && others.some(({ exit }) => exit?.code === 0))
    return "the trainer, which has the weights, has ended";
  return null;
}

/** The same with a lost trainer. */
async function whyNoReplay(runDir: string, { lost, wasReady }: Loss): Promise<string | null> {
  if (!wasReady) return "the run was not at work yet";
  const { component, index } = lost;
  const note = await readFailureNote({ runDir, component, index });
  return note?.code === "PRL_TRAIN_REPLAY" ? `[${note.code}] ${note.message}` : null;
}

/** Gives the process that takes the place of a lost one, and of its files in `run/`; null: all go back. */
export async function takeOver(run: RlRun, specs: readonly ChildSpec[], loss: Loss): Promise<ChildSpec | null> {
  const { lost, others, note } = loss;
  const { component, index, exit } = lost;
  const spec = specs.find((one) => one.component === component && one.index === index);
  if (spec === undefined || (component !== "orchestrator" && component !== "trainer")) return null;
  const isTrainer = component === "trainer";
  const reason = isTrainer ? await whyNoReplay(run.base.runDir, loss) : whyAllGoBack(run, others);
  if (reason !== null) {
    const [one, other] = isTrainer ? ["orchestrator", "trainer"] : ["trainer", "orchestrator"];
    note(`Warning: the ${one} goes back with the ${other}: ${reason}`);
    return null;
  }
  // The next trainer reads there where the lost one was listening.
  if (!isTrainer) await rm(readyFilePath(run.base.runDir, component, index), { force: true });
  const how = isTrainer
    ? "from its newest checkpoint and trains the batches since then again; the orchestrator goes on"
    : "after its newest batch; the trainer goes on";
  note(`${component}-${index} ended (${exit}) and is started again ${how}`);
  return spec;
}
