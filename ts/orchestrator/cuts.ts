/**
 * The batches that were cut since the newest checkpoint: what a checkpoint says of a version is what held after its batch, and those cut ahead of
 * it are sampled again by a run that goes on from there, because the trainer's half does not have them.
 */
import type { Group } from "./dispatcher.ts";
import { noProgress, type ProgressCounts } from "./progress.ts";
import type { WorthState } from "./worth.ts";

/** What holds after a batch. */
export interface AfterCut {
  /** What traces are worth. */
  worth: WorthState;
  progress: ProgressCounts;
}

/** What a batch was cut from. */
export interface Cut extends AfterCut {
  readonly step: number;
  readonly groups: readonly Pick<Group, "index" | "task">[];
}

export class Cuts {
  /** The last one that the newest checkpoint covers, and those after it. */
  #cuts: Cut[] = [];
  readonly #before: AfterCut;

  /** `before`: what held before the first batch. */
  constructor(before: AfterCut = { worth: {}, progress: noProgress() }) {
    this.#before = before;
  }

  /** What holds after the newest batch. */
  get newest(): AfterCut {
    return this.#cuts.at(-1) ?? this.#before;
  }

  /** What holds after it is filled in when it is known. */
  add(step: number, groups: readonly Group[]): Cut {
    const { worth, progress } = this.newest;
    const cut = { step, groups: groups.map(({ index, task }) => ({ index, task })), worth, progress };
    this.#cuts.push(cut);
    return cut;
  }

  /** The newest batch is none. */
  undo(): void {
    this.#cuts.pop();
  }

  /** For the checkpoint of a version; those before it are forgotten. */
  at(step: number): { after: AfterCut; ahead: readonly Cut[] } {
    const ahead = this.#cuts.filter((cut) => cut.step > step);
    const last = this.#cuts.findLast((cut) => cut.step <= step);
    this.#cuts = last === undefined ? ahead : [last, ...ahead];
    return { after: last ?? this.#before, ahead };
  }
}
