/**
 * Scores conversations and recorded episodes without a rollout: for group rewards, for the check of gold answers, for replies given as text, and
 * for episodes whose rewards are computed anew.
 */
import { PrlError } from "../../errors.ts";
import type { Message } from "../../message.ts";
import type { Episode } from "../episode/episode.ts";
import { RecordedTrace } from "../episode/recorded-trace.ts";
import { startClock, toFrame } from "../episode/rollout-record.ts";
import { TraceGraph } from "../episode/trace.ts";
import { JudgeUsage } from "../judge/judge-usage.ts";
import { SOLE_AGENT } from "../rollout/seats.ts";
import { RolloutSandboxes, type SandboxAccess } from "../sandboxes/sandboxes.ts";
import type { Conversations, EnvironmentParts, Score, ScoredReply } from "./configured-environment.ts";
import {
  type GroupScores,
  hasGroupRewards,
  scoreGroupRewards,
  tracesByAgent,
  withGroupScores,
} from "./group-reward.ts";
import { scoreTraces } from "./score-traces.ts";
import type { Task } from "./tasks.ts";

export class EnvironmentScorer<Config, Row extends object, Agent extends string> {
  readonly #parts: EnvironmentParts<Config, Row, Agent>;
  /** The agents of an episode, in their order. */
  readonly agents: readonly Agent[];

  constructor(parts: EnvironmentParts<Config, Row, Agent>) {
    this.#parts = parts;
    this.agents = parts.roles.map((role) => role.name);
  }

  /** See `ConfiguredEnvironment.scoreGroup`. */
  scoreGroup(task: Task, episodes: readonly Episode[], signal: AbortSignal): Promise<GroupScores> {
    const { definition } = this.#parts;
    return this.#withSandboxes((access) =>
      scoreGroupRewards(definition, { ...this.#common(task, signal), ...access }, this.agents, episodes),
    );
  }

  /** See `ConfiguredEnvironment.scoreConversations`. */
  async scoreConversations(task: Task, conversations: Conversations): Promise<Episode> {
    const { definition, roles } = this.#parts;
    const { signal } = new AbortController();
    const clock = startClock();
    const seats = roles.flatMap((role) =>
      (conversations[role.name] ?? []).map((messages) => ({ role, trace: TraceGraph.ofMessages(messages) })),
    );
    const scores = await this.#withSandboxes((access) =>
      scoreTraces(definition, { ...this.#common(task, signal), ...access }, this.agents, seats),
    );
    const order = {
      episodeId: "0",
      groupId: "0",
      source: definition.name,
      task,
      run: { type: "eval", step: 0 },
    } as const;
    return toFrame(definition, order, seats, { clock, errors: [], end: {}, scores }).episode;
  }

  /** See `ConfiguredEnvironment.rescore`. */
  async rescore(episode: Episode, signal: AbortSignal): Promise<Episode> {
    const { definition, roles } = this.#parts;
    const { name } = definition;
    const sandbox = async (): Promise<never> => {
      const message = `environment "${name}": what the rollout left in its sandbox is gone, its traces cannot be scored again`;
      throw new PrlError("PRL_ENVIRONMENT_UNSUPPORTED", message);
    };
    const seats = episode.traces.map((record) => {
      const role = roles.find((one) => one.name === record.agent);
      if (role !== undefined) return { role, trace: new RecordedTrace(record, 0) };
      const message = `environment "${name}" has no agent "${record.agent}" any more: ${this.agents.join(", ")}`;
      throw new PrlError("PRL_ENVIRONMENT_INVALID", message);
    });
    const usage = new JudgeUsage();
    const common = { ...this.#common(episode.task, signal), usage };
    const scores = await this.#withSandboxes((access) =>
      scoreTraces(definition, { ...common, ...access, sandbox }, this.agents, seats),
    );
    const traces = episode.traces.map((trace, index) => {
      const { metrics: measured = {}, ...score } = scores[index] ?? { reward: Number.NaN, rewards: {} };
      return { ...trace, ...score, metrics: { ...trace.metrics, ...usage.metrics, ...measured }, is_completed: true };
    });
    return { ...episode, ok: true, errors: [], traces };
  }

  /** See `ConfiguredEnvironment.score`. */
  async score(task: Task, reply: string | readonly Message[]): Promise<Score> {
    const messages: readonly Message[] = typeof reply === "string" ? [{ role: "assistant", content: reply }] : reply;
    const [trace] = (await this.#scoreAlone(task, { [this.agents[0] ?? SOLE_AGENT]: [messages] })).traces;
    return { reward: trace?.reward ?? Number.NaN, rewards: trace?.rewards ?? {}, metrics: trace?.metrics ?? {} };
  }

  /** See `ConfiguredEnvironment.validate`. */
  async validate(task: Task): Promise<readonly ScoredReply[]> {
    const { definition, config, rowOf } = this.#parts;
    const { validate } = definition;
    const scored: ScoredReply[] = [];
    if (validate === undefined) return scored;
    const total = async (reply: string | readonly Message[]): Promise<number> => {
      const { reward } = await this.score(task, reply);
      scored.push({ reply, reward });
      return reward;
    };
    const scoreAgents = async (conversations: Conversations): Promise<Record<string, number[]>> => {
      const traces = tracesByAgent(this.agents, (await this.#scoreAlone(task, conversations)).traces);
      const values = (agent: Agent): number[] => traces[agent].map(({ reward }) => reward ?? Number.NaN);
      return Object.fromEntries(this.agents.map((agent) => [agent, values(agent)]));
    };
    const parts = { task: rowOf(task), config, score: total, scoreMessages: total, scoreAgents };
    await this.#withSandboxes((access) => validate({ ...parts, ...access }));
    return scored;
  }

  /** Scores an episode as a group of one. */
  async #scoreAlone(task: Task, conversations: Conversations): Promise<Episode> {
    const { rewards, metrics = {} } = this.#parts.definition;
    const episode = await this.scoreConversations(task, conversations);
    if (!hasGroupRewards({ ...rewards, ...metrics })) return episode;
    const scores = await this.scoreGroup(task, [episode], new AbortController().signal);
    if (scores.error !== null) throw new PrlError("PRL_ENVIRONMENT_FAILED", scores.error.message);
    return withGroupScores([episode], scores)[0] ?? episode;
  }

  #common(task: Task, signal: AbortSignal) {
    const { config, judges, rowOf } = this.#parts;
    return { task: rowOf(task), config, signal, judges };
  }

  /** Gives sandboxes to code outside of a rollout; they are made at the first request. */
  async #withSandboxes<Result>(work: (access: SandboxAccess) => Promise<Result>): Promise<Result> {
    const sandboxes = new RolloutSandboxes(this.#parts.source, this.#parts.definition);
    try {
      return await work(sandboxes.access);
    } finally {
      await sandboxes.close();
    }
  }
}
