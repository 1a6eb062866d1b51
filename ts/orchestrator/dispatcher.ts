/**
 * Opens groups of rollouts and sees each of them to its end.
 *
 * A group is one task sampled `groupSize` times; all its rollouts share one dispatch version, and the group is kept or dropped whole.
 * The owner says how many groups may have been opened so far (`allow`), which is how staleness is bounded before anything is sampled;
 * a dropped group is made up for by `refill`. Every opened group is handed over exactly once: as completed, or as cancelled.
 * It knows nothing of rewards, batches or weights.
 */

import type { EpisodeFrame } from "../environments/index.ts";
import type { TrainTask } from "./tasks.ts";

export interface Group {
  /** Order in which groups were opened, from 0. */
  readonly index: number;
  readonly id: string;
  readonly task: TrainTask;
  readonly dispatchVersion: number;
  /** By sample; a rollout that ended in an error is there with `episode.ok === false`. */
  readonly rollouts: EpisodeFrame[];
}

export interface DispatcherOptions {
  groupSize: number;
  maxInflight: number;
  nextTask: () => Promise<TrainTask>;
  /** Runs one rollout to its end; errors of the rollout are in its episode, a rejection ends the run. */
  runRollout: (group: Group, sample: number, signal: AbortSignal) => Promise<EpisodeFrame>;
  onCompleted: (group: Group) => void;
  /** Told of what nothing can be done about here. */
  onFailure: (error: unknown) => void;
}

export class GroupDispatcher {
  readonly #options: DispatcherOptions;
  readonly #open = new Map<Group, AbortController>();
  #opened = 0;
  #allowed = 0;
  #refills = 0;
  #inFlight = 0;
  #version = 0;
  #filling = false;
  #stopped = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Rollouts that have not come back. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** From now on groups are dispatched under this version, and `groups` may have been opened in all, refills not counted. */
  allow(groups: number, version: number): void {
    this.#allowed = Math.max(this.#allowed, groups);
    this.#version = version;
    this.#fill();
  }

  /** Opens one more group for each that was dropped. */
  refill(groups: number): void {
    this.#refills += groups;
    this.#fill();
  }

  /** Cancels open groups dispatched under an older version and returns how many. */
  cancelOlderThan(version: number): number {
    let cancelled = 0;
    for (const [group, abort] of this.#open) {
      if (group.dispatchVersion >= version) continue;
      this.#open.delete(group);
      abort.abort(new Error(`dispatched under version ${group.dispatchVersion}, older than ${version}`));
      cancelled++;
    }
    return cancelled;
  }

  /** Cancels everything and opens nothing more. */
  stop(): void {
    this.#stopped = true;
    this.cancelOlderThan(Infinity);
  }

  #fill(): void {
    if (this.#filling) return;
    this.#filling = true;
    void this.#openGroups()
      .catch(this.#options.onFailure)
      .finally(() => (this.#filling = false));
  }

  async #openGroups(): Promise<void> {
    const { groupSize, maxInflight, nextTask } = this.#options;
    const hasRoom = () => this.#inFlight === 0 || this.#inFlight + groupSize <= maxInflight;
    while (!this.#stopped && this.#opened < this.#allowed + this.#refills && hasRoom()) {
      const index = this.#opened++;
      const task = await nextTask();
      const group: Group = { index, id: `group-${index}`, task, dispatchVersion: this.#version, rollouts: [] };
      const abort = new AbortController();
      this.#open.set(group, abort);
      this.#inFlight += groupSize;
      void this.#run(group, abort.signal);
    }
  }

  async #run(group: Group, signal: AbortSignal): Promise<void> {
    const { groupSize, runRollout, onCompleted, onFailure } = this.#options;
    const samples = Array.from({ length: groupSize }, async (_, sample) => {
      try {
        return await runRollout(group, sample, signal);
      } finally {
        this.#inFlight--;
      }
    });
    const results = await Promise.allSettled(samples);
    if (this.#open.delete(group)) {
      const failed = results.find((result) => result.status === "rejected");
      if (failed === undefined) {
        group.rollouts.push(...results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])));
        onCompleted(group);
      } else {
        onFailure(failed.reason);
      }
    }
    this.#fill();
  }
}
