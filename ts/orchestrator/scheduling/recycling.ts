/**
 * Tasks whose group was cancelled, and what its rollouts had sampled: a later group of the task continues from there.
 *
 * A cancelled group is known here from its cancellation on (`cancelled`), and can be begun again when its last rollout has come back (`returned`). A
 * rollout is used again with all its turns, and only if its oldest token is fresh enough when the group begins (`next`);
 * the others are sampled afresh. A task comes back at most `MOST_TIMES` times. The oldest recycled token decides how old the group
 * is. A checkpoint has the tasks and not the tokens: what an attempt sampled in rollouts under way is lost when the attempt ends.
 * This class knows tasks, rollouts and versions, and nothing of engines or batches.
 */
import type { PartialRollout } from "../../environments/index.ts";
import { partialOf, type ReceivedEpisode } from "../../environments/records.ts";
import type { Group } from "./dispatcher.ts";
import type { TrainTask } from "./tasks.ts";

/** The earlier rollouts that a group continues from. */
export interface Origin {
  /** Index of the first group of the task. */
  readonly firstIndex: number;
  /** Lowest version of a recycled token; Infinity: no token is recycled. */
  readonly oldestVersion: number;
  /** Which try of the task this is, from 1. */
  readonly times: number;
  /** Rollouts by sample; null: this sample is sampled afresh. */
  readonly rollouts: readonly (ReceivedEpisode | null)[];
}

interface Waiting {
  readonly task: TrainTask;
  readonly firstIndex: number;
  readonly times: number;
  /** Null until all have come back. */
  rollouts: readonly (ReceivedEpisode | null)[] | null;
}

const MOST_TIMES = 4;

export class Recycling {
  readonly #waiting = new Map<number, Waiting>();
  readonly #origins = new WeakMap<TrainTask, Origin>();
  readonly #counts = { groups: 0, exhausted: 0, rollouts: 0, tokens: 0, afresh: 0 };

  /** A group was cancelled: its task will come back. */
  cancelled({ index, task }: Pick<Group, "index" | "task">): void {
    const { firstIndex = index, times = 0 } = this.#origins.get(task) ?? {};
    if (times >= MOST_TIMES) this.#counts.exhausted += 1;
    else this.#waiting.set(index, { task, firstIndex, times: times + 1, rollouts: null });
  }

  /** All rollouts of a cancelled group have come back; `[]`: they failed. A rollout without tokens leaves those that it continued from. */
  returned({ index, task }: Pick<Group, "index" | "task">, rollouts: readonly ReceivedEpisode[]): void {
    const waiting = this.#waiting.get(index);
    if (waiting === undefined) return;
    const before = this.#origins.get(task)?.rollouts;
    waiting.rollouts = Array.from({ length: task.groupSize }, (_, sample) => {
      const own = rollouts[sample];
      return own !== undefined && versionOf(own) !== null ? own : (before?.[sample] ?? null);
    });
  }

  /** Takes the task that was begun first among those that can be begun again; tokens of versions before `oldest` are not used. */
  next(oldest: number): TrainTask | undefined {
    let found: [number, Waiting] | undefined;
    for (const entry of this.#waiting) {
      if (entry[1].rollouts !== null && (found === undefined || entry[1].firstIndex < found[1].firstIndex))
        found = entry;
    }
    if (found === undefined) return undefined;
    const [index, { task, firstIndex, times, rollouts }] = found;
    this.#waiting.delete(index);
    const isFresh = (rollout: ReceivedEpisode | null) => rollout !== null && (versionOf(rollout) ?? -1) >= oldest;
    const kept = Array.from({ length: task.groupSize }, (_, i) => rollouts?.[i] ?? null).map((one) =>
      isFresh(one) ? one : null,
    );
    const used = kept.filter((rollout) => rollout !== null);
    const oldestVersion = Math.min(Infinity, ...used.flatMap((rollout) => versionOf(rollout) ?? []));
    this.#counts.groups += 1;
    this.#counts.rollouts += used.length;
    this.#counts.afresh += kept.length - used.length;
    const again = { ...task };
    this.#origins.set(again, { firstIndex, times, oldestVersion, rollouts: kept });
    return again;
  }

  /** Undefined for a task that is begun for the first time. */
  originOf(task: TrainTask): Origin | undefined {
    return this.#origins.get(task);
  }

  /** Gives the tokens that a rollout of a group continues from. */
  partial(task: TrainTask, sample: number): PartialRollout | undefined {
    const { episode, samples = null } = this.#origins.get(task)?.rollouts[sample] ?? {};
    if (episode === undefined || samples === null) return undefined;
    return partialOf(episode.traces, samples.columns()) ?? undefined;
  }

  /** A group has been completed: counts the recycled tokens that its workers used. */
  completed(rollouts: readonly ReceivedEpisode[]): void {
    for (const { episode } of rollouts)
      for (const { metrics } of episode.traces) this.#counts.tokens += metrics["recycled_tokens"] ?? 0;
  }

  /** Tasks that will come back, in the order of their groups, for a checkpoint. */
  get pending(): { index: number; task: TrainTask }[] {
    return [...this.#waiting].map(([index, { task }]) => ({ index, task }));
  }

  /** Counts since the start of this process. */
  metrics(): Record<string, number> {
    const { groups, exhausted, rollouts, tokens, afresh } = this.#counts;
    return {
      "dispatcher/recycled/groups": groups,
      "dispatcher/recycled/groups_given_up": exhausted,
      "dispatcher/recycled/rollouts": rollouts,
      "dispatcher/recycled/rollouts_afresh": afresh,
      "dispatcher/recycled/tokens_saved": tokens,
    };
  }
}

/** Lowest version of a token of the rollout; null when no group can continue from it. */
function versionOf({ episode, samples }: ReceivedEpisode): number | null {
  const [trace, ...others] = episode.traces;
  if (samples === null || others.length > 0 || trace?.turns === undefined || trace.turns.length === 0) return null;
  return trace.policy?.start ?? null;
}
