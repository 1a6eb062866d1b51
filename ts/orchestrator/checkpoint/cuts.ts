/**
 * The batches that were cut since the newest checkpoint. A checkpoint of a version holds the state after that version's batch. A run that
 * continues from it samples the batches that were cut later again, because the trainer's half does not have them.
 */
import type { Group } from "../scheduling/dispatcher.ts";
import { noProgress, type ProgressCounts } from "./progress.ts";
import type { WorthState } from "../batch/worth.ts";

/** State after a batch. */
export interface AfterCut {
  /** State of the advantage estimators. */
  worth: WorthState;
  progress: ProgressCounts;
}

/** What a batch was cut from. */
export interface Cut extends AfterCut {
  readonly step: number;
  readonly groups: readonly Pick<Group, "index" | "task">[];
}

export class Cuts {
  /** The last batch that the newest checkpoint covers, and those after it. */
  #cuts: Cut[] = [];
  readonly #before: AfterCut;

  /** `before`: the state before the first batch. */
  constructor(before: AfterCut = { worth: {}, progress: noProgress() }) {
    this.#before = before;
  }

  /** State after the newest batch. */
  get newest(): AfterCut {
    return this.#cuts.at(-1) ?? this.#before;
  }

  /** The state after the batch is filled in when it is known. */
  add(step: number, groups: readonly Group[]): Cut {
    const { worth, progress } = this.newest;
    const cut = { step, groups: groups.map(({ index, task }) => ({ index, task })), worth, progress };
    this.#cuts.push(cut);
    return cut;
  }

  /** Takes the newest batch back. */
  undo(): void {
    this.#cuts.pop();
  }

  /** The state for the checkpoint of a version; batches before it are forgotten. */
  at(step: number): { after: AfterCut; ahead: readonly Cut[] } {
    const ahead = this.#cuts.filter((cut) => cut.step > step);
    const last = this.#cuts.findLast((cut) => cut.step <= step);
    this.#cuts = last === undefined ? ahead : [last, ...ahead];
    return { after: last ?? this.#before, ahead };
  }
}
