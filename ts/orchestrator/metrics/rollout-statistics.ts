/**
 * Statistics of rollouts under prime-rl's names, to be put behind `train/<environment>/<subset>/` or `eval/<environment>/<subset>/`.
 *
 * Statistics of traces are named after their agent, `<agent>/reward/mean`; tokens, turns and branches exist for whole episodes, too. Numbers come as
 * `mean`, `max`, `min`, `p10` and `p90`, booleans as `mean`. An episode that ended in an error counts in `has_error` and `error/<code>` alone,
 * because its result is unknown. This class keeps numbers, no episodes.
 */
import { type Episode, type EpisodeTrace, rewardOf } from "../../environments/records.ts";
import { quantileOfSorted } from "../../algorithms/internal.ts";

/** Name for the rewards of episodes: that of the single agent in most environments; with several agents the mean of those that train. */
const EPISODES = "agent";
/** Prefix of times that the framework measures: they keep their names, and are logged once for all environments. */
const TIMING = "timing/";

export class RolloutStatistics {
  readonly #distributions = new Map<string, number[]>();
  readonly #means = new Map<string, { sum: number; count: number }>();
  /** Episodes by the code of an error. */
  readonly #errors = new Map<string, number>();
  /** Traces by agent and why they ended. */
  readonly #stops = new Map<string, Map<string, number>>();

  /**
   * Adds an agent's rewards that are compared (NaN: failed): whether none, all or some of the rollouts solved the task, and whether
   * the rewards differ. A group that failed as a whole does not count.
   */
  addGroup(agent: string, rewards: readonly number[]): void {
    const scored = rewards.filter((reward) => !Number.isNaN(reward));
    if (scored.length === 0) return;
    const none = scored.every((reward) => reward === 0);
    const all = scored.every((reward) => reward >= 1);
    this.add(`${agent}/solved_none`, Number(none));
    this.add(`${agent}/solved_all`, Number(all));
    this.add(`${agent}/solved_some`, Number(!none && !all));
    this.add(`${agent}/zero_variance_groups/mean`, Number(new Set(scored).size <= 1));
  }

  /** Adds episodes of one environment; only traces for which `isMeant` is true count. */
  addEpisodes(episodes: readonly Episode[], isMeant: (trace: EpisodeTrace) => boolean = () => true): void {
    for (const episode of episodes) {
      const reward = rewardOf(episode);
      const isError = Number.isNaN(reward);
      this.add("has_error/mean", Number(isError));
      if (isError) {
        for (const code of new Set(episode.errors.map((error) => error.code))) increment(this.#errors, code);
        continue;
      }
      this.#spread(`${EPISODES}/reward`, reward);
      const sums = new Map<string, number>();
      for (const trace of episode.traces.filter(isMeant)) {
        const sizes = sizesOf(trace);
        for (const [name, value] of sizes) sums.set(name, (sums.get(name) ?? 0) + value);
        this.#addTrace(trace, sizes);
      }
      for (const [name, sum] of sums) this.#spread(name, sum);
    }
  }

  /** Adds one more value of a mean. */
  add(name: string, value: number): void {
    this.#addMean(name, value, 1);
  }

  /** Adds everything that was added to `other`. */
  merge(other: RolloutStatistics): void {
    for (const [name, numbers] of other.#distributions) for (const value of numbers) this.#spread(name, value);
    for (const [name, { sum, count }] of other.#means) this.#addMean(name, sum, count);
    for (const [code, count] of other.#errors) increment(this.#errors, code, count);
    for (const [agent, stops] of other.#stops) {
      for (const [stop, count] of stops) increment(this.#stopsOf(agent), stop, count);
    }
  }

  #addTrace(trace: EpisodeTrace, sizes: readonly (readonly [string, number])[]): void {
    const { agent, timing, stop_condition: stop } = trace;
    const spread = (name: string, value: number): void => this.#spread(`${agent}/${name}`, value);
    if (agent !== EPISODES && trace.reward !== null) spread("reward", trace.reward);
    for (const [name, value] of sizes) spread(name, value);
    this.add(`${agent}/is_truncated/mean`, Number(trace.is_truncated));
    this.add(`${agent}/is_completed/mean`, Number(trace.is_completed));
    spread("timing/agent", timing.generation_ms / 1000);
    if (timing.model_ms !== undefined) {
      spread("timing/agent/model", timing.model_ms / 1000);
      spread("timing/agent/harness", (timing.generation_ms - timing.model_ms) / 1000);
    }
    spread("timing/scoring", timing.scoring_ms / 1000);
    spread("timing/total", timing.total_ms / 1000);
    for (const [name, { score }] of Object.entries(trace.rewards)) spread(`rewards/${name}`, score);
    for (const [name, value] of Object.entries(trace.metrics)) {
      if (!name.startsWith(TIMING)) spread(`metrics/${name}`, value);
    }
    if (stop !== null) increment(this.#stopsOf(agent), stop);
  }

  /** Every number under `prefix`; statistics without a value are left out. */
  metrics(prefix: string): Record<string, number> {
    const values: Record<string, number> = {};
    for (const [name, numbers] of this.#distributions) {
      const sorted = Float64Array.from(numbers).sort();
      values[`${prefix}${name}/mean`] = mean(numbers);
      values[`${prefix}${name}/min`] = sorted[0] ?? Number.NaN;
      values[`${prefix}${name}/p10`] = quantileOfSorted(sorted, 0.1);
      values[`${prefix}${name}/p90`] = quantileOfSorted(sorted, 0.9);
      values[`${prefix}${name}/max`] = sorted.at(-1) ?? Number.NaN;
    }
    for (const [name, { sum, count }] of this.#means) values[prefix + name] = sum / count;
    for (const [code, count] of this.#errors) values[`${prefix}error/${code}`] = count;
    for (const [agent, stops] of this.#stops) {
      const total = [...stops.values()].reduce((sum, count) => sum + count, 0);
      for (const [stop, count] of stops) values[`${prefix}${agent}/stop_condition/${stop}`] = count / total;
    }
    return values;
  }

  #stopsOf(agent: string): Map<string, number> {
    const known = this.#stops.get(agent) ?? new Map<string, number>();
    this.#stops.set(agent, known);
    return known;
  }

  #addMean(name: string, sum: number, count: number): void {
    const known = this.#means.get(name);
    if (known === undefined) this.#means.set(name, { sum, count });
    else {
      known.sum += sum;
      known.count += count;
    }
  }

  #spread(name: string, value: number): void {
    const known = this.#distributions.get(name);
    if (known === undefined) this.#distributions.set(name, [value]);
    else known.push(value);
  }
}

function increment(counts: Map<string, number>, name: string, by = 1): void {
  counts.set(name, (counts.get(name) ?? 0) + by);
}

/** The sizes of a trace that add up over an episode. */
function sizesOf({ usage, nodes }: EpisodeTrace): readonly (readonly [string, number])[] {
  const parents = new Set(nodes.map(({ parent }) => parent));
  return [
    ["num_total_tokens", usage.prompt_tokens + usage.completion_tokens],
    ["num_input_tokens", usage.prompt_tokens],
    ["num_output_tokens", usage.completion_tokens],
    ["num_turns", nodes.filter(({ sampled }) => sampled).length],
    ["num_branches", nodes.filter((_node, index) => !parents.has(index)).length],
  ];
}

/** NaN for an empty list; the metrics file records it as NaN. */
export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
