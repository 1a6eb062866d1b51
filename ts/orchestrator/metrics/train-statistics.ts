/**
 * Statistics of the training rollouts of a step: `train/agg/...` over all environments and, where there are several, `train/<environment>/...`.
 *
 * The subset `all` is every group that ended since the last step and was not dropped for its age, including those that a gate
 * rejected; `effective` is what is in the batch. Comparing the two shows what gates and filters do to rewards and lengths.
 */
import type { EpisodeTrace } from "../../environments/index.ts";
import { compareTraces } from "../batch/comparisons.ts";
import type { Group } from "../scheduling/dispatcher.ts";
import { RolloutStatistics } from "./rollout-statistics.ts";
import { Pauses } from "../../async/yield.ts";

interface Subsets {
  readonly all: RolloutStatistics;
  readonly effective: RolloutStatistics;
}

const NOTHING: ReadonlySet<EpisodeTrace> = new Set();

export class TrainStatistics {
  readonly #environments = new Map<string, Subsets>();

  /** Adds a group that is in no batch. */
  addDropped(group: Group): void {
    this.#add(group, NOTHING, false);
  }

  /** Adds a cancelled group; its rollouts only count as cancelled. */
  addCancelled({ task }: Group): void {
    const { all } = this.#subsets(task.source);
    for (let sample = 0; sample < task.groupSize; sample++) all.add("cancelled/mean", 1);
  }

  /** Adds the groups of the batch, whose trained traces are `trained`; works in turns. */
  async addShipped(groups: readonly Group[], trained: ReadonlySet<EpisodeTrace>): Promise<void> {
    const pauses = new Pauses();
    for (const group of groups) {
      if (pauses.isDue) await pauses.next();
      this.#add(group, trained, true);
    }
  }

  /** `environments`: number of environments of the run. */
  metrics(environments: number): Record<string, number> {
    const agg = newSubsets();
    const values: Record<string, number> = {};
    for (const [name, own] of this.#environments) {
      agg.all.merge(own.all);
      agg.effective.merge(own.effective);
      if (environments > 1) Object.assign(values, metricsOf(name, own));
    }
    return Object.assign(values, metricsOf("agg", agg));
  }

  #add(group: Group, trained: ReadonlySet<EpisodeTrace>, isAdmitted: boolean): void {
    const { all, effective } = this.#subsets(group.task.source);
    const episodes = group.rollouts.map(({ episode }) => episode);
    const comparisons = compareTraces([group]);
    for (const { agent, rewards } of comparisons) all.addGroup(agent, rewards);
    all.addEpisodes(episodes);
    for (const episode of episodes) {
      all.add("cancelled/mean", 0);
      for (const trace of episode.traces) {
        all.add(`${trace.agent}/is_admitted/mean`, Number(isAdmitted));
        all.add(`${trace.agent}/is_trainable/mean`, Number(trained.has(trace)));
      }
    }
    const inBatch = episodes.filter(({ traces }) => traces.some((trace) => trained.has(trace)));
    if (inBatch.length === 0) return;
    for (const { agent, rewards } of comparisons) effective.addGroup(agent, rewards);
    effective.addEpisodes(inBatch, (trace) => trained.has(trace));
  }

  #subsets(environment: string): Subsets {
    const known = this.#environments.get(environment) ?? newSubsets();
    this.#environments.set(environment, known);
    return known;
  }
}

function newSubsets(): Subsets {
  return { all: new RolloutStatistics(), effective: new RolloutStatistics() };
}

function metricsOf(name: string, { all, effective }: Subsets): Record<string, number> {
  return { ...all.metrics(`train/${name}/all/`), ...effective.metrics(`train/${name}/effective/`) };
}
