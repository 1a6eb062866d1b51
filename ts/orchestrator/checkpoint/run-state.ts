/**
 * The state of a run at one moment, as checkpoints and snapshots hold it: gathered from the records, without waiting, so that all of it is of the
 * same moment.
 */
import type { GroupPool } from "../scheduling/group-pool.ts";
import type { SamplingBudget } from "../scheduling/sampling-budget.ts";
import type { TrainTasks } from "../scheduling/tasks.ts";
import type { AssembledBatches } from "./assembled-batches.ts";
import type { CheckpointSaver, OrchestratorState } from "./resume.ts";
import { type OrchestratorSnapshot, type SnapshotPlace, writeSnapshot } from "./snapshot.ts";

export interface RunStateOptions {
  assembled: AssembledBatches;
  budget: Pick<SamplingBudget, "stateAfter">;
  checkpoints: Pick<CheckpointSaver, "written">;
  pool: Pick<GroupPool, "snapshot">;
  tasks: Pick<TrainTasks, "state" | "pending">;
  /** Version that groups are opened under when the process begins. */
  version: number;
  /** Where snapshots go; null: none are written, because no process could take over. */
  place: SnapshotPlace | null;
}

export class RunState {
  readonly #options: RunStateOptions;
  #version: number;
  /** The state for the checkpoint of the current version, as it was when groups could be opened under it, and those that `hold` has added. */
  #held: ReadonlyMap<number, OrchestratorState> = new Map();

  constructor(options: RunStateOptions) {
    this.#options = options;
    this.#version = options.version;
  }

  /** Version that groups are opened under; its checkpoint has been taken, if it was due. */
  set version(version: number) {
    this.#version = version;
    this.#options.assembled.forget(version);
    this.#held = new Map([[version, this.#stateAt(version)]]);
  }

  /**
   * Nothing is dispatched any more, and the batch of the step `shipped` is the newest: keeps the states for checkpoints up to that of this batch, because
   * what is under way is cancelled next.
   */
  hold(shipped: number): void {
    const versions = Array.from({ length: shipped - this.#version + 1 }, (_, i) => this.#version + i);
    this.#held = new Map(versions.map((version) => [version, this.checkpoint(version)]));
  }

  /** For the checkpoint of a version, before anything is dispatched under it. */
  checkpoint(version: number): OrchestratorState {
    return this.#held.get(version) ?? this.#stateAt(version);
  }

  #stateAt(version: number): OrchestratorState {
    const { assembled, budget, pool, tasks } = this.#options;
    const { after, ahead } = assembled.at(version);
    const { opened, pending } = pool.snapshot(ahead.flatMap(({ groups }) => groups));
    return {
      step: version,
      tasks: tasks.state,
      worth: after.baselines,
      progress: after.progress,
      opened,
      admission: budget.stateAfter(version),
      pending: [...pending, ...tasks.pending],
    };
  }

  /** Commits the newest batch, of this step, with the state after it. Errors: PRL_IO, those of the checkpoints before it. */
  async commit(step: number, line: OrchestratorSnapshot["line"]): Promise<void> {
    const { assembled, budget, checkpoints, place, pool, tasks } = this.#options;
    if (place === null) return;
    const { baselines, progress } = assembled.newest;
    const { opened, pending } = pool.snapshot([]);
    const state = {
      step,
      tasks: tasks.state,
      worth: baselines,
      progress,
      opened,
      admission: budget.stateAfter(step),
      pending: [...pending, ...tasks.pending],
    };
    const version = this.#version;
    await writeSnapshot(place, { version, state, ahead: assembled.after(version), line }, checkpoints.written);
  }
}
