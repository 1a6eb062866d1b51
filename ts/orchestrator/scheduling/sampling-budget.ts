/**
 * How much may be sampled and what makes a batch: the rules for opening and shipping of ARCHITECTURE.md ("Steps, versions and
 * staleness") as one sum.
 *
 * Sizes are in units: rollouts, or tokens where the batch is counted in tokens. A group counts from its opening until it is dropped or its batch
 * is shipped; a shipped batch counts as exactly one batch, so what it had beyond that is taken from the next. One more group may be opened
 * while the sum of what counts is below
 *
 *     (version + level + 1) * batch + (oversampling - 1) * batch        the second part only while step - 1 - version <= level
 *
 * which is AReaL's admission rule (arXiv:2505.24298, eta = level), and batch `step` may be assembled when `version >= step - 1 - level`. Without
 * oversampling and in rollouts the second follows from the first.
 *
 * The tokens of a group are known when it has ended; until then it counts as many as rollouts have had lately, and before the first one ended
 * as many as fit into a sequence. At level 0 only contents, never timing, decide what is opened: groups are opened in rounds, whose size is
 * decided while no group is under way. This class knows groups by index only, and nothing of tasks, rewards or time.
 */
import type { RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";

export interface SamplingBudgetOptions {
  unit: "rollouts" | "tokens";
  /** Units of a batch. */
  batchSize: number;
  level: number;
  /** Number of batches of the run; Infinity: no end. */
  maxSteps: number;
  /** At least 1. */
  oversampling: number;
  /** A batch that is shipped cancels what was sampled beyond it: the second part of the sum then counts only from a new version to the next batch. */
  cancelsTails?: boolean;
  /** Tokens that a rollout counts as while nothing is known about lengths. */
  mostTokens: number;
}

/** Sums that expected lengths are computed from, as a checkpoint holds them. */
export interface SamplingBudgetState {
  units: number;
  rollouts: number;
}

export class SamplingBudget {
  readonly #options: SamplingBudgetOptions;
  /** Units of each group that counts. */
  readonly #counted = new Map<number, number>();
  #total = 0;
  #version: number;
  /** Batches with the trainer. */
  #shipped: number;
  /** A batch was shipped since the version came, and its tails were cancelled. */
  #isAssembled = false;
  /** Groups that have not ended. */
  #open = 0;
  /** Sums up to the newest batch, halved with each batch, and those since, which are whole numbers: their order has no influence. */
  #seen: SamplingBudgetState;
  #recent: SamplingBudgetState = { units: 0, rollouts: 0 };
  /** Share of the sums that each ended group has, while it waits for a batch or its batch is ahead of the version. */
  readonly #shares = new Map<number, SamplingBudgetState & { batch?: number }>();
  /** Units that a rollout is expected to have. */
  #expected: number;
  /** By tokens at level 0: rollouts that are still to be opened before anything else is decided. */
  #planned = 0;

  /** `version`: that the engines sample with; `shipped`: batches with the trainer. */
  constructor(
    options: SamplingBudgetOptions,
    version: number,
    state: SamplingBudgetState = { units: 0, rollouts: 0 },
    shipped: number = version,
  ) {
    this.#options = options;
    this.#version = version;
    this.#shipped = shipped;
    this.#seen = state;
    this.#expected = this.#estimate();
  }

  /**
   * The sums as they were after the batch of this step, without the groups that a run which continues from there samples again: those that
   * wait, and those of later batches.
   */
  stateAfter(step: number): SamplingBudgetState {
    let { units, rollouts } = this.#sums;
    for (const share of this.#shares.values()) {
      if (share.batch !== undefined && share.batch <= step) continue;
      units -= share.units;
      rollouts -= share.rollouts;
    }
    const halved = 2 ** (this.#shipped - step);
    return { units: Math.max(0, units * halved), rollouts: Math.max(0, rollouts * halved) };
  }

  /** Units that count, without the batches that are with the trainer. */
  get held(): number {
    return this.#total;
  }

  get unit(): SamplingBudgetOptions["unit"] {
    return this.#options.unit;
  }

  get batchSize(): number {
    return this.#options.batchSize;
  }

  /** Version that the engines sample with. */
  set version(version: number) {
    this.#version = version;
    this.#isAssembled = false;
    for (const [group, { batch = Infinity }] of this.#shares) if (batch <= version) this.#shares.delete(group);
  }

  /** Whether enough would count without the group. Where tails are cancelled, the group is then a tail. */
  isExcess(group: number): boolean {
    return this.#room() + (this.#counted.get(group) ?? 0) <= 0;
  }

  /** Whether one more group may be opened. */
  mayOpen(): boolean {
    if (!this.#inRounds) return this.#room() > 0;
    if (this.#planned <= 0 && this.#open === 0) {
      this.#expected = this.#estimate();
      this.#planned = Math.ceil(this.#room() / this.#expected);
    }
    return this.#planned > 0;
  }

  /** Whether a batch assembled now is fresh enough: the ship gate. */
  mayAssemble(): boolean {
    return this.#shipped - this.#version <= this.#options.level;
  }

  /** How many of these sizes, from the front, make a batch; undefined when all of them do not. */
  batchOf(units: readonly number[]): number | undefined {
    let sum = 0;
    const last = units.findIndex((size) => (sum += size) >= this.#options.batchSize);
    return last === -1 ? undefined : last + 1;
  }

  /** Units of a batch that these rollouts and tokens make; rollouts without tokens count as expected, so that batches fill. */
  sizeOf(rollouts: number, tokens: number): number {
    return this.#options.unit === "rollouts" || tokens === 0 ? rollouts * this.#expected : tokens;
  }

  opened(group: number, rollouts: number): void {
    this.#open++;
    this.#planned -= rollouts;
    this.#count(group, rollouts * this.#expected);
  }

  /** All rollouts of the group have come back, `rollouts` of them with tokens; together they make `units`. The group still counts. */
  ended(group: number, units: number, rollouts: number): void {
    this.#open--;
    this.#count(group, units);
    if (rollouts > 0) {
      this.#recent = sumOf(this.#recent, { units, rollouts });
      this.#shares.set(group, { units, rollouts });
    }
    if (!this.#inRounds) this.#expected = this.#estimate();
  }

  /** The group does not count any more; `wasOpen`: it had not ended. */
  dropped(group: number, wasOpen: boolean): void {
    if (wasOpen) this.#open--;
    this.#forget(group);
    this.#shares.delete(group);
  }

  /**
   * These groups make one batch, which is with the trainer, or becomes visible to it next. Expected lengths follow the policy: older batches count less and
   * less.
   */
  shipped(groups: readonly number[]): void {
    this.#shipped++;
    for (const group of groups) {
      this.#forget(group);
      const share = this.#shares.get(group);
      if (share !== undefined) share.batch = this.#shipped;
    }
    this.#seen = halfOf(this.#sums);
    this.#recent = { units: 0, rollouts: 0 };
    for (const [group, share] of this.#shares) this.#shares.set(group, { ...share, ...halfOf(share) });
    this.#isAssembled = this.#options.cancelsTails ?? false;
  }

  /** A round is planned from contents alone, whatever the timing and `max_inflight`. */
  get #inRounds(): boolean {
    return this.#options.unit === "tokens" && this.#options.level === 0;
  }

  get #sums(): SamplingBudgetState {
    return sumOf(this.#seen, this.#recent);
  }

  #room(): number {
    const { batchSize, level, maxSteps, oversampling } = this.#options;
    const batches = Math.min(this.#version + level + 1, maxSteps) - this.#shipped;
    const extra = this.mayAssemble() && !this.#isAssembled ? Math.ceil((oversampling - 1) * batchSize) : 0;
    return batches * batchSize + extra - this.#total;
  }

  /** Expected units of one rollout. They are whole numbers, because sums of those do not depend on their order. */
  #estimate(): number {
    if (this.#options.unit === "rollouts") return 1;
    const { units, rollouts } = this.#sums;
    return rollouts === 0 ? this.#options.mostTokens : Math.max(1, Math.ceil(units / rollouts));
  }

  #count(group: number, units: number): void {
    this.#total += units - (this.#counted.get(group) ?? 0);
    this.#counted.set(group, units);
  }

  #forget(group: number): void {
    this.#total -= this.#counted.get(group) ?? 0;
    this.#counted.delete(group);
  }
}

function sumOf(a: SamplingBudgetState, b: SamplingBudgetState): SamplingBudgetState {
  return { units: a.units + b.units, rollouts: a.rollouts + b.rollouts };
}

function halfOf({ units, rollouts }: SamplingBudgetState): SamplingBudgetState {
  return { units: units / 2, rollouts: rollouts / 2 };
}

/** Reads the options from a run's config. */
export function samplingBudgetOptions({
  max_async_level: level,
  max_steps: maxSteps,
  seq_len,
  orchestrator,
}: RlConfig): SamplingBudgetOptions {
  const { batch_size: rollouts, token_batch_size: tokens, oversampling, recycle } = orchestrator;
  const batchSize = tokens ?? rollouts;
  if (batchSize === null) throw new PrlError("PRL_CONFIG_INVALID", "orchestrator.batch_size is missing");
  const unit = tokens === null ? ("rollouts" as const) : ("tokens" as const);
  const cancelsTails = recycle === "tails";
  return { unit, batchSize, level, maxSteps: maxSteps ?? Infinity, oversampling, cancelsTails, mostTokens: seq_len };
}
