/**
 * Opens groups of rollouts and sees each of them to its end.
 *
 * A group is one task sampled `groupSize` times; all its rollouts share one dispatch version, and the group is kept or dropped whole.
 * The owner says how many rollouts may have been opened so far (`allow`), which is how staleness is bounded before anything is
 * sampled; `refill` makes up for dropped groups. Every opened group ends exactly once: it is handed over as completed, or it is among
 * those that `cancelOlderThan` returned. Groups are opened in the order of their tasks, whatever the timing.
 * It knows nothing of rewards, batches or weights.
 */

import { setMaxListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { PrlError } from "../errors.ts";
import type { ReceivedEpisode } from "../environments/index.ts";
import type { TrainTask } from "./tasks.ts";

export interface Group {
  /** Order in which groups were opened, from 0. */
  readonly index: number;
  readonly id: string;
  readonly task: TrainTask;
  readonly dispatchVersion: number;
  /** By sample, empty until the last one ended; a rollout that ended in an error is there with `episode.ok === false`. */
  readonly rollouts: ReceivedEpisode[];
}

/** What dispatching goes on from, as it stands in a checkpoint. */
export interface DispatcherState {
  /** Groups opened, and rollouts in them that are not to be sampled again. */
  opened: number;
  openedRollouts: number;
  refills: number;
}

export interface DispatcherOptions {
  /** Most rollouts at work at once; a single group larger than this runs alone. */
  maxInflight: number;
  nextTask: () => Promise<TrainTask>;
  /** Runs one rollout to its end; errors of the rollout are in its episode, a rejection ends the run. */
  runRollout: (group: Group, sample: number, signal: AbortSignal) => Promise<ReceivedEpisode>;
  /** The rollouts of a group whose last one has ended, as they are handed over. Default: as they are. */
  finishGroup?: (group: Group, rollouts: ReceivedEpisode[], signal: AbortSignal) => Promise<ReceivedEpisode[]>;
  onCompleted: (group: Group) => void;
  /** Told of what nothing can be done about here. */
  onFailure: (error: unknown) => void;
}

const LONGEST_TURN_MS = 4;

export class GroupDispatcher {
  readonly #options: DispatcherOptions;
  readonly #open = new Map<Group, AbortController>();
  #opened = 0;
  #openedRollouts = 0;
  #allowed = 0;
  #refills = 0;
  #inFlight = 0;
  #version = 0;
  #nextTask: TrainTask | undefined;
  #filling = false;
  #stopped = false;

  constructor(options: DispatcherOptions, state: DispatcherState = { opened: 0, openedRollouts: 0, refills: 0 }) {
    this.#options = options;
    this.#opened = state.opened;
    this.#openedRollouts = state.openedRollouts;
    this.#refills = state.refills;
  }

  /**
   * Where a run would go on that samples again what has not been trained on: `waiting` are such groups that were handed over. Their tasks,
   * those of the open groups and of the one that waits for room come first then.
   */
  snapshot(waiting: readonly Pick<Group, "index" | "task">[]): { state: DispatcherState; pending: TrainTask[] } {
    const groups = [...waiting, ...this.#open.keys()].toSorted((a, b) => a.index - b.index);
    const rollouts = groups.reduce((sum, { task }) => sum + task.groupSize, 0);
    const pending = groups.map(({ task }) => task);
    if (this.#nextTask !== undefined) pending.push(this.#nextTask);
    const openedRollouts = this.#openedRollouts - rollouts;
    return { state: { opened: this.#opened, openedRollouts, refills: this.#refills }, pending };
  }

  /** Rollouts that have not come back, those of cancelled groups included. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /** Groups that may still be handed over. */
  get open(): number {
    return this.#open.size;
  }

  /** From now on groups are dispatched under this version, until `rollouts` have been opened in all, refills not counted. */
  allow(rollouts: number, version: number): void {
    this.#allowed = Math.max(this.#allowed, rollouts);
    this.#version = version;
    this.#fill();
  }

  /** Allows so many more, in place of rollouts that were dropped. */
  refill(rollouts: number): void {
    this.#refills += rollouts;
    this.#fill();
  }

  /** Cancels open groups dispatched under an older version and returns them. None of them is handed over any more. */
  cancelOlderThan(version: number): Group[] {
    const cancelled = [...this.#open.keys()].filter((group) => group.dispatchVersion < version);
    for (const group of cancelled) {
      const abort = this.#open.get(group);
      this.#open.delete(group);
      const why = `${group.id} was dispatched under version ${group.dispatchVersion}, older than ${version}`;
      abort?.abort(new PrlError("PRL_EPISODE_CANCELLED", why));
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
    this.#openGroups().catch(this.#options.onFailure);
  }

  async #openGroups(): Promise<void> {
    try {
      let turn = performance.now();
      while (!this.#stopped && this.#openedRollouts < this.#allowed + this.#refills) {
        // Opening a thousand rollouts at once would hold up those that are under way.
        if (performance.now() - turn > LONGEST_TURN_MS) {
          await setImmediate();
          turn = performance.now();
          continue;
        }
        this.#nextTask ??= await this.#options.nextTask();
        const task = this.#nextTask;
        if (this.#stopped || !this.#hasRoom(task.groupSize)) return;
        this.#nextTask = undefined;
        this.#openGroup(task);
      }
    } finally {
      // In the same turn as the last look at the conditions: a `#fill` that comes after it must not find this set.
      this.#filling = false;
    }
  }

  #hasRoom(groupSize: number): boolean {
    return this.#inFlight === 0 || this.#inFlight + groupSize <= this.#options.maxInflight;
  }

  #openGroup(task: TrainTask): void {
    const index = this.#opened++;
    const group: Group = { index, id: `group-${index}`, task, dispatchVersion: this.#version, rollouts: [] };
    const abort = new AbortController();
    // Every rollout of the group listens to it.
    setMaxListeners(0, abort.signal);
    this.#open.set(group, abort);
    this.#openedRollouts += task.groupSize;
    this.#inFlight += task.groupSize;
    this.#run(group, abort.signal).catch((error: unknown) => {
      if (!abort.signal.aborted) this.#options.onFailure(error);
    });
  }

  async #run(group: Group, signal: AbortSignal): Promise<void> {
    const samples = Array.from({ length: group.task.groupSize }, (_, sample) => this.#sample(group, sample, signal));
    const ended = await Promise.all(samples);
    const rollouts = (await this.#options.finishGroup?.(group, ended, signal)) ?? ended;
    if (!this.#open.delete(group)) return;
    group.rollouts.push(...rollouts);
    this.#options.onCompleted(group);
  }

  async #sample(group: Group, sample: number, signal: AbortSignal): Promise<ReceivedEpisode> {
    try {
      return await this.#options.runRollout(group, sample, signal);
    } finally {
      this.#inFlight--;
      this.#fill();
    }
  }
}
