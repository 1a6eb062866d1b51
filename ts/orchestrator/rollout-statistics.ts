/**
 * Statistics of rollouts under prime-rl's names, to be put behind `train/<environment>/<subset>/` or `eval/<environment>/all/`.
 *
 * Numbers of a trace come as `mean`, `max`, `min`, `p10` and `p90`, shares and an environment's own metrics as `mean`. What ended in an error
 * counts in `has_error` and `error/<code>` alone: nobody knows what it would have become. Keeps numbers, no episodes.
 */
import { type Episode, type EpisodeTrace, rewardOf } from "../environments/index.ts";
import { mean } from "./mean.ts";

/** Under which the rewards of episodes stand, so that no agent's own do. */
const EPISODES = "agent";
/** The framework's own times among an environment's metrics: they keep their names, and stand once for all environments. */
const TIMING = "timing/";

export class RolloutStatistics {
  readonly #distributions = new Map<string, number[]>();
  readonly #means = new Map<string, { sum: number; count: number }>();
  /** How often something happened, by what it is a share of. */
  readonly #counts = { episode: new Map<string, number>(), trace: new Map<string, number>() };
  #episodes = 0;
  #traces = 0;

  /**
   * A group's rewards, NaN of what failed: whether it was solved by none, by all or by some of its rollouts, and whether there is anything to
   * compare. A group that failed as a whole is none.
   */
  addGroup(rewards: readonly number[]): void {
    const scored = rewards.filter((reward) => !Number.isNaN(reward));
    if (scored.length === 0) return;
    const none = scored.every((reward) => reward === 0);
    const all = scored.every((reward) => reward >= 1);
    this.add("solved_none/mean", Number(none));
    this.add("solved_all/mean", Number(all));
    this.add("solved_some/mean", Number(!none && !all));
    this.add("zero_variance_groups/mean", Number(new Set(scored).size <= 1));
  }

  /** Episodes of one environment, of which those traces are looked at that `isMeant`. Where there are several agents, each has its own rewards too. */
  addEpisodes(episodes: readonly Episode[], isMeant: (trace: EpisodeTrace) => boolean = () => true): void {
    const byAgent = new Set(episodes.flatMap(({ traces }) => traces.map(({ agent }) => agent))).size > 1;
    for (const episode of episodes) {
      this.#episodes++;
      const reward = rewardOf(episode);
      const isError = Number.isNaN(reward);
      this.add("has_error/mean", Number(isError));
      if (isError) {
        for (const code of new Set(episode.errors.map((error) => error.code))) {
          increment(this.#counts.episode, `error/${code}`);
        }
        continue;
      }
      this.#spread(`${EPISODES}/reward`, reward);
      for (const trace of episode.traces.filter(isMeant)) this.#addTrace(trace, byAgent);
    }
  }

  /** One more value of a mean. */
  add(name: string, value: number): void {
    this.#addMean(name, value, 1);
  }

  /** Everything that was added to `other`. */
  merge(other: RolloutStatistics): void {
    this.#episodes += other.#episodes;
    this.#traces += other.#traces;
    for (const [name, numbers] of other.#distributions) for (const value of numbers) this.#spread(name, value);
    for (const [name, { sum, count }] of other.#means) this.#addMean(name, sum, count);
    for (const of of ["episode", "trace"] as const) {
      for (const [name, count] of other.#counts[of]) increment(this.#counts[of], name, count);
    }
  }

  #addTrace(trace: EpisodeTrace, byAgent: boolean): void {
    this.#traces++;
    const { usage, nodes, timing } = trace;
    const parents = new Set(nodes.map(({ parent }) => parent));
    if (byAgent && trace.agent !== EPISODES && trace.reward !== null)
      this.#spread(`${trace.agent}/reward`, trace.reward);
    this.#spread("num_total_tokens", usage.prompt_tokens + usage.completion_tokens);
    this.#spread("num_input_tokens", usage.prompt_tokens);
    this.#spread("num_output_tokens", usage.completion_tokens);
    this.#spread("num_turns", nodes.filter(({ sampled }) => sampled).length);
    this.#spread("num_branches", nodes.filter((_node, index) => !parents.has(index)).length);
    this.add("is_truncated/mean", Number(trace.is_truncated));
    this.add("is_completed/mean", Number(trace.is_completed));
    this.add("timing/agent/mean", timing.generation_ms / 1000);
    this.add("timing/scoring/mean", timing.scoring_ms / 1000);
    this.add("timing/total/mean", timing.total_ms / 1000);
    for (const [name, { score }] of Object.entries(trace.rewards)) this.add(`rewards/${name}/mean`, score);
    for (const [name, value] of Object.entries(trace.metrics)) {
      if (!name.startsWith(TIMING)) this.add(`metrics/${name}/mean`, value);
    }
    if (trace.stop_condition !== null) increment(this.#counts.trace, `stop_condition/${trace.stop_condition}`);
  }

  /** Every number under `prefix`; of what never came there is none. */
  metrics(prefix: string): Record<string, number> {
    const values: Record<string, number> = {};
    for (const [name, numbers] of this.#distributions) {
      const sorted = Float64Array.from(numbers).sort();
      values[`${prefix}${name}/mean`] = mean(numbers);
      values[`${prefix}${name}/min`] = sorted[0] ?? Number.NaN;
      values[`${prefix}${name}/p10`] = percentile(sorted, 0.1);
      values[`${prefix}${name}/p90`] = percentile(sorted, 0.9);
      values[`${prefix}${name}/max`] = sorted.at(-1) ?? Number.NaN;
    }
    for (const [name, { sum, count }] of this.#means) values[prefix + name] = sum / count;
    for (const [name, count] of this.#counts.episode) values[prefix + name] = count / this.#episodes;
    for (const [name, count] of this.#counts.trace) values[prefix + name] = count / this.#traces;
    return values;
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

/** Between the two nearest of the ascending `values`, as numpy's default; NaN of none. */
function percentile(values: Float64Array, q: number): number {
  const at = q * (values.length - 1);
  const below = values[Math.floor(at)] ?? Number.NaN;
  const above = values[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}
