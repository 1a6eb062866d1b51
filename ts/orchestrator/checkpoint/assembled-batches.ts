/**
 * The batches that were assembled and are not trained yet, and the last one that is. A checkpoint of a version holds the state after that version's
 * batch. A run that continues from it samples the batches that were assembled later again, because the trainer's half does not have them.
 */
import type { Group } from "../scheduling/dispatcher.ts";
import { noProgress, type ProgressCounts } from "./progress.ts";
import type { BaselineState } from "../batch/advantage-estimation.ts";

/** State after a batch. */
export interface AfterBatch {
  /** State of the advantage estimators. */
  baselines: BaselineState;
  progress: ProgressCounts;
}

/** The groups that a batch was assembled from, and the state after them. */
export interface AssembledBatch extends AfterBatch {
  readonly step: number;
  readonly groups: readonly Pick<Group, "index" | "task">[];
}

export class AssembledBatches {
  /** The batch of the newest version that was named to `forget`, and those after it. */
  #batches: AssembledBatch[] = [];
  readonly #before: AfterBatch;

  /** `before`: the state before the first batch; `batches`: those that an earlier process has assembled and no checkpoint can cover. */
  constructor(before: AfterBatch = { baselines: {}, progress: noProgress() }, batches: readonly AssembledBatch[] = []) {
    this.#before = before;
    this.#batches = [...batches];
  }

  /** State after the newest batch. */
  get newest(): AfterBatch {
    return this.#batches.at(-1) ?? this.#before;
  }

  /** The state after the batch is filled in when it is known. */
  add(step: number, groups: readonly Group[]): AssembledBatch {
    const { baselines, progress } = this.newest;
    const batch = { step, groups: groups.map(({ index, task }) => ({ index, task })), baselines, progress };
    this.#batches.push(batch);
    return batch;
  }

  /** Takes the newest batch back. */
  undo(): void {
    this.#batches.pop();
  }

  /** Batches of steps after `step`. */
  after(step: number): readonly AssembledBatch[] {
    return this.#batches.filter((batch) => batch.step > step);
  }

  /** Forgets the batches before that of the version: checkpoints and snapshots are of this version or later ones from now on. */
  forget(version: number): void {
    const first = this.#batches.findLastIndex((batch) => batch.step <= version);
    if (first > 0) this.#batches = this.#batches.slice(first);
  }

  /** The state for the checkpoint of a version. */
  at(step: number): { after: AfterBatch; ahead: readonly AssembledBatch[] } {
    const last = this.#batches.findLast((batch) => batch.step <= step);
    return { after: last ?? this.#before, ahead: this.after(step) };
  }
}
