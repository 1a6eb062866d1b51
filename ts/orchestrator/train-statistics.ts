/**
 * Statistics of the training rollouts of a step: `train/agg/...` over all environments and, where there are several, `train/<environment>/...`.
 *
 * The subset `all` is every group that came to its end since the last step and was not dropped for its age, those that a gate rejected
 * included; `effective` is what is in the batch. Comparing the two shows what gates and filters do to rewards and lengths.
 */
import type { EpisodeTrace } from "../environments/index.ts";
import { compareTraces } from "./comparisons.ts";
import type { Group } from "./dispatcher.ts";
import { RolloutStatistics } from "./rollout-statistics.ts";

const NOTHING: ReadonlySet<EpisodeTrace> = new Set();

export class TrainStatistics {
  /** By `<environment>/<subset>`. */
  readonly #sets = new Map<string, RolloutStatistics>();

  /** A group that no batch will have. */
  addDropped(group: Group): void {
    this.#add(group, NOTHING, false);
  }

  /** A group of the batch, which has the traces `trained`. */
  addShipped(group: Group, trained: ReadonlySet<EpisodeTrace>): void {
    this.#add(group, trained, true);
  }

  /** `environments`: of the run. */
  metrics(environments: number): Record<string, number> {
    const names = [...this.#sets.keys()].filter((name) => environments > 1 || name.startsWith("agg/"));
    return Object.assign({}, ...names.map((name) => this.#sets.get(name)?.metrics(`train/${name}/`))) as Record<
      string,
      number
    >;
  }

  #add(group: Group, trained: ReadonlySet<EpisodeTrace>, isAdmitted: boolean): void {
    const episodes = group.rollouts.map(({ episode }) => episode);
    const comparisons = compareTraces([group]).map(({ rewards }) => rewards);
    const effective = episodes.filter(({ traces }) => traces.some((trace) => trained.has(trace)));
    for (const environment of ["agg", group.task.source]) {
      const all = this.#set(`${environment}/all`);
      for (const rewards of comparisons) all.addGroup(rewards);
      all.addEpisodes(episodes);
      for (const episode of episodes) {
        all.add("is_admitted/mean", Number(isAdmitted));
        for (const trace of episode.traces) all.add("is_trainable/mean", Number(trained.has(trace)));
      }
      if (effective.length === 0) continue;
      const own = this.#set(`${environment}/effective`);
      for (const rewards of comparisons) own.addGroup(rewards);
      own.addEpisodes(effective, (trace) => trained.has(trace));
    }
  }

  #set(name: string): RolloutStatistics {
    const known = this.#sets.get(name) ?? new RolloutStatistics();
    this.#sets.set(name, known);
    return known;
  }
}
