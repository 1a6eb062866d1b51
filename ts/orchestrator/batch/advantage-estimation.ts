/**
 * Computes the advantages of a batch: with each source's estimator, over the comparisons of that source.
 *
 * Estimators that look at the whole batch (`grpo` with `std = "batch"`, `reinforce_pp`, `gdpo`) see their own source's part of it: rewards
 * of two environments have no common scale. This object keeps the averages of `rae`, by source and agent.
 */
import type { AlgoBlock } from "../../config/index.ts";
import type { EpisodeTrace } from "../../environments/index.ts";
import { PrlError } from "../../errors.ts";
import {
  customAdvantages,
  loadAdvantages,
  type Advantage,
  AgentBaselines,
  type UserFunction,
} from "../../algorithms/internal.ts";
import { advantages, type AdvantageParams } from "../../algorithms/index.ts";
import type { Comparison, Member } from "./comparisons.ts";
import type { Group } from "../scheduling/dispatcher.ts";
import { Pauses } from "../../async/yield.ts";

/** Algorithms without advantages: their signal is in other streams of the loss. */
const WITHOUT_ADVANTAGES: ReadonlySet<AlgoBlock["type"]> = new Set(["opd", "opsd", "sft"]);

/** Averages of `rae` by source and agent, as a checkpoint holds them. */
export type BaselineState = Record<string, Record<string, number>>;

export class AdvantageEstimation {
  readonly #algos: ReadonlyMap<string, AlgoBlock>;
  /** Custom functions by source. */
  readonly #custom = new Map<string, UserFunction>();
  readonly #baselines = new Map<string, AgentBaselines>();

  /** `sources`: training sources with their algorithms. */
  constructor(sources: readonly { name: string; algo: AlgoBlock }[], state: BaselineState = {}) {
    this.#algos = new Map(sources.map(({ name, algo }) => [name, algo]));
    for (const [name, start] of Object.entries(state)) {
      const algo = this.#algos.get(name);
      if (algo?.type === "rae") this.#baselines.set(name, new AgentBaselines(algo.decay, start));
    }
  }

  /** Loads the custom functions. Errors: those of `UserFunction.load`. */
  async load(): Promise<void> {
    for (const [source, { path, deadline_s }] of this.#algos) {
      if (path !== null) this.#custom.set(source, await loadAdvantages(path, deadline_s));
    }
  }

  get state(): BaselineState {
    return Object.fromEntries([...this.#baselines].map(([name, baselines]) => [name, baselines.toJSON()]));
  }

  /** Advantages in the shape of the comparisons' rewards. Moves the averages of `rae`. */
  async advantages(comparisons: readonly Comparison[], groups: readonly Group[]): Promise<Advantage[][]> {
    const result: Advantage[][] = comparisons.map(() => []);
    for (const [source, algo] of this.#algos) {
      const own = [...comparisons.entries()].filter(([, { members }]) => sourceOf(members, groups) === source);
      const estimated = await this.#estimate(
        source,
        algo,
        own.map(([, comparison]) => comparison),
        groups,
      );
      own.forEach(([index], i) => (result[index] = estimated[i] ?? []));
    }
    return result;
  }

  async #estimate(
    source: string,
    algo: AlgoBlock,
    comparisons: readonly Comparison[],
    groups: readonly Group[],
  ): Promise<Advantage[][]> {
    if (WITHOUT_ADVANTAGES.has(algo.type)) return comparisons.map(({ rewards }) => rewards.map(() => 0));
    if (algo.type === "custom") {
      const estimated: Advantage[][] = [];
      const pauses = new Pauses();
      for (const comparison of comparisons) {
        if (pauses.isDue) await pauses.next();
        estimated.push(this.#ask(source, comparison, groups));
      }
      return estimated;
    }
    if (algo.type === "rae") return comparisons.map((comparison) => this.#observe(source, algo, comparison));
    const { eps, std, unbiased, singleton, length_penalty, overlong } = algo;
    const traces = comparisons.map(({ members }) => members.map((member) => traceOf(member, groups)));
    const column = (value: (trace: EpisodeTrace) => number) =>
      traces.map((row) => row.map((trace) => (trace === undefined ? 0 : value(trace))));
    const params: AdvantageParams = {
      std,
      unbiased,
      singleton,
      length_penalty,
      overlong,
      ...(eps !== null && { eps }),
      lengths: column(({ usage }) => usage.completion_tokens),
      input_tokens: column(({ usage }) => usage.prompt_tokens),
      turns: column(({ nodes }) => nodes.filter(({ sampled }) => sampled).length),
      // Where an agent has several traces in an episode, the comparisons are already within the episode.
      ...(algo.type === "hierarchical_grpo" && { subgroups: traces.map((row) => row.map(() => null)) }),
      ...(algo.type === "gdpo" && componentsOf(traces)),
    };
    return advantages(
      // ECHO's cross-entropy is a separate stream; its advantages are those of `grpo`.
      algo.type === "echo" ? "grpo" : algo.type,
      comparisons.map(({ rewards }) => rewards),
      params,
    );
  }

  /** Asks the custom function. It does not see rollouts without a reward; these get 0. */
  #ask(source: string, { agent, rewards, members }: Comparison, groups: readonly Group[]): Advantage[] {
    const compute = this.#custom.get(source);
    if (compute === undefined) throw new PrlError("PRL_USER_MODULE", `${source}: its advantages are not loaded`);
    const shown = members.flatMap((member, index) => {
      const trace = traceOf(member, groups);
      const samples = groups[member.group]?.rollouts[member.rollout]?.samples ?? null;
      const reward = rewards[index] ?? Number.NaN;
      if (Number.isNaN(reward) || trace === undefined || samples === null) return [];
      return [{ index, reward, trace, columns: () => samples.columnsOf(member.trace) }];
    });
    const result: Advantage[] = rewards.map(() => 0);
    const task = groups[members[0]?.group ?? -1]?.task.task;
    if (shown.length === 0 || task === undefined) return result;
    const rollouts = shown.map(({ index: _index, ...rollout }) => rollout);
    const group = { env: source, task: { key: task.key, data: task.data }, agent, rollouts };
    customAdvantages(compute, group).forEach((value, i) => (result[shown[i]?.index ?? 0] = value));
    return result;
  }

  #observe(source: string, { decay }: AlgoBlock, { agent, rewards }: Comparison): number[] {
    const baselines = this.#baselines.get(source) ?? new AgentBaselines(decay, 0);
    this.#baselines.set(source, baselines);
    return rewards.map((reward) => (Number.isNaN(reward) ? 0 : baselines.observe(agent, reward)));
  }
}

function sourceOf(members: readonly Member[], groups: readonly Group[]): string | undefined {
  return groups[members[0]?.group ?? -1]?.task.source;
}

function traceOf({ group, rollout, trace }: Member, groups: readonly Group[]): EpisodeTrace | undefined {
  return groups[group]?.rollouts[rollout]?.episode.traces[trace];
}

/** Scores by reward name and their weights; a failed rollout has none, and no reward either. */
function componentsOf(
  traces: (EpisodeTrace | undefined)[][],
): Pick<AdvantageParams, "components" | "component_weights"> {
  const rewards = traces.flat().flatMap((trace) => Object.entries(trace?.rewards ?? {}));
  const weights = Object.fromEntries(rewards.map(([name, { weight }]) => [name, weight]));
  const scores = (name: string) => traces.map((row) => row.map((trace) => trace?.rewards[name]?.score ?? Number.NaN));
  return {
    components: Object.fromEntries(Object.keys(weights).map((name) => [name, scores(name)])),
    component_weights: weights,
  };
}
