/**
 * Opens groups of rollouts and follows each of them to its end.
 *
 * A group is one task sampled `groupSize` times; all its rollouts share one dispatch version, and the group is kept or dropped whole.
 * The owner says whether one more may be opened (`mayOpen`), which is how staleness is bounded before anything is sampled, and calls `fill`
 * when that may have changed. Every opened group ends exactly once: it is handed over as completed, or it is among those that
 * `cancelOlderThan` returned. Groups are opened in the order of their tasks, whatever the timing.
 * The dispatcher knows nothing of rewards, batches or weights.
 */

import { setMaxListeners } from "node:events";
import { PrlError } from "../../errors.ts";
import type { ReceivedEpisode } from "../../environments/internal.ts";
import { Lifecycle, type RolloutEnd } from "./lifecycle.ts";
import type { TrainTask } from "./tasks.ts";
import { Pauses } from "../../async/yield.ts";

export interface Group {
  /** Order in which groups were opened, from 0. */
  readonly index: number;
  readonly id: string;
  readonly task: TrainTask;
  readonly dispatchVersion: number;
  /** Lowest version that sampled one of its tokens: the dispatch version, or an older one where the group continues recycled tokens. */
  readonly oldestVersion: number;
  /** Index of the group with which its task was first begun. */
  readonly firstIndex: number;
  /** How long the group was under way until its last rollout was scored, or until it was cancelled; 0 before that. */
  seconds: number;
  /** Rollouts by sample, empty until the last one ended; a rollout that ended in an error has `episode.ok === false`. */
  readonly rollouts: ReceivedEpisode[];
}

export interface DispatcherOptions {
  dispatch: {
    /** Most rollouts under way at once, read before each group; a single group larger than this runs alone. */
    readonly limit: number;
    /** Whether a group that is larger than `limit` may begin, asked when nothing is under way. Default: always. */
    mayBeAlone?(groupSize: number): boolean;
    /** Called with whether a group that may be opened waits for room. */
    waits?(isWaiting: boolean): void;
    /** Called when everything else allows a group, which is opened on `true`; after a `false` the owner calls `fill` later. Default: always. */
    mayStart?(): boolean;
  };
  /** Asked before each group. */
  mayOpen: () => boolean;
  nextTask: () => Promise<TrainTask>;
  /** Gives the rollouts that a group of the task continues from. Default: none. */
  originOf?: (task: TrainTask) => Pick<Group, "firstIndex" | "oldestVersion"> | undefined;
  /** Called before the first rollout of a group begins. */
  onOpened?: (group: Group) => void;
  /** Runs one rollout to its end; errors of the rollout are in its episode, a rejection ends the run. */
  runRollout: (group: Group, sample: number, signal: AbortSignal) => Promise<ReceivedEpisode>;
  /** Pauses the rollouts of a group that has ended into those that are handed over. Default: no change. */
  finishGroup?: (group: Group, rollouts: ReceivedEpisode[], signal: AbortSignal) => Promise<ReceivedEpisode[]>;
  onCompleted: (group: Group) => void;
  /** All rollouts of a cancelled group have come back; `rollouts` is empty when they failed. */
  onCancelled?: (group: Group, rollouts: ReceivedEpisode[]) => void;
  /** A rollout of the group has come back, also when the group was cancelled or failed. */
  onReturned?: (group: Group, end: RolloutEnd) => void;
  /** Called with an error that the dispatcher cannot handle. */
  onFailure: (error: unknown) => void;
  /** Keeps count of groups and rollouts. */
  lifecycle?: Lifecycle;
  /** Number of groups opened before this process began; the index of the next one. */
  opened?: number;
}

interface OpenGroup {
  readonly abort: AbortController;
  readonly startedAt: number;
  /** Rollouts that have not come back. */
  inFlight: number;
}

export class GroupDispatcher {
  readonly #options: DispatcherOptions;
  readonly #open = new Map<Group, OpenGroup>();
  readonly #lifecycle: Lifecycle;
  #opened: number;
  #version = 0;
  #nextTask: TrainTask | undefined;
  #filling = false;
  #stopped = false;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#lifecycle = options.lifecycle ?? new Lifecycle();
    this.#opened = options.opened ?? 0;
  }

  /**
   * The state for a run that samples again what was not trained on: `waiting` are groups that were handed over and not trained on. Their tasks,
   * those of the open groups and that of the group that waits for room come first then.
   */
  snapshot(waiting: readonly Pick<Group, "index" | "task">[]): { opened: number; pending: TrainTask[] } {
    const groups = [...waiting, ...this.#open.keys()].toSorted((a, b) => a.index - b.index);
    const pending = groups.map(({ task }) => task);
    if (this.#nextTask !== undefined) pending.push(this.#nextTask);
    return { opened: this.#opened, pending };
  }

  /** Rollouts that have not come back, those of cancelled groups included. */
  get inFlight(): number {
    return this.#lifecycle.inFlight;
  }

  /** Index of the first group that may still be handed over; undefined when there is none. */
  get oldestOpen(): number | undefined {
    const [oldest] = this.#open.keys();
    return oldest?.index;
  }

  /** How many versions behind `trained` the rollouts under way are, for groups that age; under prime-rl's names. */
  metrics(trained: number, ages: (group: Group) => boolean): Record<string, number> {
    let [rollouts, sum, most] = [0, 0, 0];
    for (const [group, { inFlight }] of this.#open) {
      if (inFlight === 0 || !ages(group)) continue;
      const behind = trained - group.oldestVersion;
      rollouts += inFlight;
      sum += behind * inFlight;
      most = Math.max(most, behind);
    }
    return { "dispatcher/off_policy/max": most, "dispatcher/off_policy/mean": rollouts === 0 ? 0 : sum / rollouts };
  }

  /** It is opening groups, in several turns of the event loop where there are many. */
  get isFilling(): boolean {
    return this.#filling;
  }

  /** Version under which groups are opened from now on. */
  set version(version: number) {
    this.#version = version;
  }

  /** Opens what may be opened now. */
  fill(): void {
    if (this.#filling || this.#stopped) return;
    this.#filling = true;
    this.#openGroups().catch(this.#options.onFailure);
  }

  /** Cancels and returns the open groups that age and have an older version. None of them is handed over any more. */
  cancelOlderThan(version: number, ages: (group: Group) => boolean = () => true): Group[] {
    const cancelled = [...this.#open.keys()].filter((group) => group.oldestVersion < version && ages(group));
    for (const group of cancelled)
      this.#cancel(group, `${group.id} is of version ${group.oldestVersion}, older than ${version}`);
    return cancelled;
  }

  /** Cancels and returns the group being sampled that was opened last, if it may be cancelled. */
  cancelYoungest(mayCancel: (group: Group) => boolean): Group | undefined {
    const sampling = [...this.#open.keys()].filter(({ index }) => this.#lifecycle.stateOf(index) === "sampling");
    const [youngest] = sampling.toSorted((a, b) => b.firstIndex - a.firstIndex);
    if (youngest === undefined || !mayCancel(youngest)) return undefined;
    this.#cancel(youngest, `${youngest.id} was sampled beyond its batch, which is cut`);
    return youngest;
  }

  /** Cancels and returns all open groups, and opens nothing more. */
  stop(): Group[] {
    this.#stopped = true;
    return this.cancelOlderThan(Infinity);
  }

  #cancel(group: Group, why: string): void {
    this.#close(group)?.abort(new PrlError("PRL_EPISODE_CANCELLED", why));
  }

  async #openGroups(): Promise<void> {
    try {
      const pauses = new Pauses();
      while (!this.#stopped && this.#options.mayOpen()) {
        // Opening a thousand rollouts at once would hold up those that are under way.
        if (pauses.isDue) {
          await pauses.next();
          continue;
        }
        this.#nextTask ??= await this.#options.nextTask();
        const task = this.#nextTask;
        if (this.#stopped || !this.#options.mayOpen()) break;
        const hasRoom = this.#hasRoom(task.groupSize);
        this.#options.dispatch.waits?.(!hasRoom);
        if (!hasRoom) return;
        if (this.#options.dispatch.mayStart?.() === false) return;
        this.#nextTask = undefined;
        this.#openGroup(task);
      }
      this.#options.dispatch.waits?.(false);
    } finally {
      // Cleared in the same turn as the last check of the conditions: a later `fill` must not find it set.
      this.#filling = false;
    }
  }

  #hasRoom(groupSize: number): boolean {
    const { dispatch } = this.#options;
    if (this.inFlight + groupSize <= dispatch.limit) return true;
    return this.inFlight === 0 && (dispatch.mayBeAlone?.(groupSize) ?? true);
  }

  #openGroup(task: TrainTask): void {
    const index = this.#opened++;
    const origin = this.#options.originOf?.(task);
    const group: Group = {
      index,
      id: `group-${index}`,
      task,
      dispatchVersion: this.#version,
      firstIndex: origin?.firstIndex ?? index,
      oldestVersion: Math.min(this.#version, origin?.oldestVersion ?? Infinity),
      seconds: 0,
      rollouts: [],
    };
    const abort = new AbortController();
    // Every rollout of the group listens to the signal.
    setMaxListeners(0, abort.signal);
    this.#open.set(group, { abort, startedAt: performance.now(), inFlight: task.groupSize });
    this.#lifecycle.dispatch(index, task.groupSize);
    this.#options.onOpened?.(group);
    this.#run(group, abort.signal).catch((error: unknown) => {
      if (abort.signal.aborted) this.#options.onCancelled?.(group, []);
      else this.#options.onFailure(error);
    });
  }

  async #run(group: Group, signal: AbortSignal): Promise<void> {
    const samples = Array.from({ length: group.task.groupSize }, (_, sample) => this.#sample(group, sample, signal));
    const ended = await Promise.all(samples);
    if (!this.#open.has(group)) return this.#options.onCancelled?.(group, ended);
    this.#lifecycle.move(group.index, "scoring");
    const rollouts = (await this.#options.finishGroup?.(group, ended, signal)) ?? ended;
    if (this.#close(group) === undefined) return this.#options.onCancelled?.(group, ended);
    this.#lifecycle.move(group.index, "completed");
    group.rollouts.push(...rollouts);
    this.#options.onCompleted(group);
  }

  /** Ends the group's time under way; undefined when it was not under way. */
  #close(group: Group): AbortController | undefined {
    const own = this.#open.get(group);
    if (own === undefined) return undefined;
    this.#open.delete(group);
    group.seconds = (performance.now() - own.startedAt) / 1000;
    return own.abort;
  }

  async #sample(group: Group, sample: number, signal: AbortSignal): Promise<ReceivedEpisode> {
    let end: RolloutEnd = "errored";
    try {
      const result = await this.#options.runRollout(group, sample, signal);
      if (result.episode.ok) end = "ok";
      return result;
    } finally {
      if (signal.aborted && end !== "ok") end = "cancelled";
      const open = this.#open.get(group);
      if (open !== undefined) open.inFlight -= 1;
      this.#lifecycle.returned(end);
      this.#options.onReturned?.(group, end);
      this.fill();
    }
  }
}
