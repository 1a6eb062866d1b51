/**
 * The state of every group and rollout, from its opening to its end: the one place that knows the allowed transitions.
 *
 *     sampling ─▶ scoring ─▶ completed ─▶ assembled ─▶ shipped
 *         └──────────┴───────────┴────────────┴─────▶ dropped (reason)
 *
 * A group is sampling while one of its rollouts is under way, scoring while its rollouts are compared, completed while it waits for a batch,
 * assembled while it is part of a batch that is not with the trainer yet. It ends once, shipped or dropped; any other transition is a fault of this program
 * and throws. A rollout is dispatched once, tried again any number of times, and returned once, also when its group was dropped before.
 * This class knows nothing of rewards, versions or batch sizes.
 */
import { PrlError } from "../../errors.ts";

export type LiveState = "sampling" | "scoring" | "completed" | "assembled";
export type GroupState = LiveState | "shipped" | "dropped";

/**
 * - `stale`: too old for the batch being collected.
 * - `errored`: none of its rollouts has a reward.
 * - `rejected`: a gate of its source's curriculum kept it out.
 * - `empty`: its batch had nothing to train on.
 * - `tail`: it was sampled beyond its batch when that was shipped; its task comes back with what was sampled.
 * - `surplus`: it was under way or waiting when the run needed no more.
 */
export const DROP_REASONS = ["stale", "errored", "rejected", "empty", "tail", "surplus"] as const;
export type DropReason = (typeof DROP_REASONS)[number];

/** How a rollout came back. */
export type RolloutEnd = "ok" | "errored" | "cancelled";

const NEXT: Record<GroupState, readonly GroupState[]> = {
  sampling: ["scoring", "dropped"],
  scoring: ["completed", "dropped"],
  completed: ["assembled", "dropped"],
  assembled: ["shipped", "dropped"],
  shipped: [],
  dropped: [],
};

export class Lifecycle {
  /** Groups that have not ended, by index. */
  readonly #live = new Map<number, LiveState>();
  readonly #groups: Record<GroupState, number> = {
    sampling: 0,
    scoring: 0,
    completed: 0,
    assembled: 0,
    shipped: 0,
    dropped: 0,
  };
  readonly #dropped: Record<DropReason, number> = { stale: 0, errored: 0, rejected: 0, empty: 0, tail: 0, surplus: 0 };
  readonly #returned: Record<RolloutEnd, number> = { ok: 0, errored: 0, cancelled: 0 };
  #dispatched = 0;
  #retried = 0;

  /** Groups in each state; ended groups are counted since the start of this process. */
  get groups(): Readonly<Record<GroupState, number>> {
    return this.#groups;
  }

  get dropped(): Readonly<Record<DropReason, number>> {
    return this.#dropped;
  }

  /** Rollouts since the start of this process. */
  get rollouts(): { dispatched: number; retried: number; returned: Readonly<Record<RolloutEnd, number>> } {
    return { dispatched: this.#dispatched, retried: this.#retried, returned: this.#returned };
  }

  /** Rollouts that have not come back, those of dropped groups included. */
  get inFlight(): number {
    const { ok, errored, cancelled } = this.#returned;
    return this.#dispatched - ok - errored - cancelled;
  }

  /** Groups that may still be completed. */
  get open(): number {
    return this.#groups.sampling + this.#groups.scoring;
  }

  /** Metrics under `dispatcher/`: what is under way now, and what has happened since the start of this process. */
  metrics(): Record<string, number> {
    const { sampling, scoring, completed } = this.#groups;
    const values: Record<string, number> = {
      "dispatcher/inflight/train": this.inFlight,
      "dispatcher/sampling_groups": sampling,
      "dispatcher/scoring_groups": scoring,
      "dispatcher/queued_groups": completed,
      "dispatcher/rollouts/dispatched": this.#dispatched,
      "dispatcher/rollouts/retried": this.#retried,
    };
    for (const [end, count] of Object.entries(this.#returned)) values[`dispatcher/rollouts/${end}`] = count;
    for (const reason of DROP_REASONS) values[`dispatcher/dropped/${reason}`] = this.#dropped[reason];
    return values;
  }

  stateOf(group: number): GroupState | undefined {
    return this.#live.get(group);
  }

  /** A group with this many rollouts begins. */
  dispatch(group: number, rollouts: number): void {
    if (this.#live.has(group)) throw fault(group, this.#live.get(group), "sampling");
    this.#live.set(group, "sampling");
    this.#groups.sampling++;
    this.#dispatched += rollouts;
  }

  move(group: number, to: Exclude<GroupState, "sampling" | "dropped">): void {
    this.#step(group, to);
  }

  drop(group: number, reason: DropReason): void {
    this.#step(group, "dropped");
    this.#dropped[reason]++;
  }

  retried(): void {
    this.#retried++;
  }

  returned(end: RolloutEnd): void {
    if (this.inFlight === 0) throw new PrlError("PRL_ORCHESTRATOR_FAULT", "a rollout came back that was not under way");
    this.#returned[end]++;
  }

  #step(group: number, to: GroupState): void {
    const from = this.#live.get(group);
    if (from === undefined || !NEXT[from].includes(to)) throw fault(group, from, to);
    this.#groups[from]--;
    this.#groups[to]++;
    if (to === "shipped" || to === "dropped") this.#live.delete(group);
    else if (to !== "sampling") this.#live.set(group, to);
  }
}

function fault(group: number, from: GroupState | undefined, to: GroupState): PrlError {
  const where = from ?? "not under way";
  return new PrlError("PRL_ORCHESTRATOR_FAULT", `group ${group} is ${where} and cannot become ${to}`);
}
