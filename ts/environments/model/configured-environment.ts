/**
 * An environment with its arguments filled in: gives tasks and demonstrations, runs and scores rollouts.
 *
 * A rollout never rejects: its errors are in its episode, with a class that names the part at fault. This file knows no HTTP
 * and no process.
 */
import { setMaxListeners } from "node:events";

import { PrlError } from "../../errors.ts";
import { contentKeyOf } from "./content-key.ts";
import type { Demonstration, EnvironmentDefinition, RolloutContext, RolloutEnd } from "./environment.ts";
import type { Split } from "../../datasets/index.ts";
import { type Episode, type EpisodeError, toEpisodeError } from "../episode/episode.ts";
import type { EpisodeFrame } from "../episode/episode-frame.ts";
import {
  type GroupScores,
  hasGroupRewards,
  scoreGroupRewards,
  sumOf,
  tracesByAgent,
  withGroupScores,
} from "./group-reward.ts";
import { EndpointJudge, type JudgeSource, NO_JUDGE } from "../judge/judge.ts";
import { JudgeUsage } from "../judge/judge-usage.ts";
import { checkLimits, type Limits, RolloutStop, TurnLimits } from "./limits.ts";
import { LinkedAbort } from "../../async/linked-abort.ts";
import type { Message } from "../../message.ts";
import type { PartialRollout } from "../episode/partial-rollout.ts";
import type { PolicyClient, Sampling } from "../rollout/policy-client.ts";
import type { ReplyClient } from "../rollout/reply-client.ts";
import { NO_CLIENT, NO_TOKENIZER } from "../rollout/reply-sampler.ts";
import { RecordedTrace } from "../episode/recorded-trace.ts";
import { type RewardContext, scoreAll, type UnjudgedContext, untilAborted, type WeightedScores } from "./reward.ts";
import { startClock, toFrame } from "../episode/rollout-record.ts";
import { createRng } from "../../random/rng.ts";
import { type Requirements, RolloutSandboxes, type SandboxAccess, type SandboxSource } from "../sandboxes/sandboxes.ts";
import { type AgentRole, agentRoles, Seats, SOLE_AGENT } from "../rollout/seats.ts";
import { seed as deriveSeed } from "../../random/seed.ts";
import { type Task, TaskReader, type TaskSource } from "./tasks.ts";
import type { PolicyRenderer, PolicyTokenizer } from "./tokenizer.ts";
import { type Trace, TraceGraph } from "../episode/trace.ts";

/** Time that a stopped rollout has to end its programs in the sandbox; longer than a daemon's confirmation may take. */
const STOPPED_MS = 12_000;

/** One rollout to run, for any kind of policy. */
export interface RolloutOrder {
  episodeId: string;
  groupId: string;
  /** Name of the source that the task came from. */
  source: string;
  task: Task;
  sampling: Sampling;
  seed: number;
  run: Episode["run"];
  /** The episode holds the turns also when the rollout is cancelled: the complete ones, and the tokens of the one under way. */
  keepsPartial?: boolean;
  /** Aborted with a PrlError as reason at the deadline or on cancel; the episode then carries that error. */
  signal: AbortSignal;
}

/** A rollout of a policy that takes and gives token ids. */
export interface RolloutRequest extends RolloutOrder {
  client: PolicyClient;
  tokenizer: PolicyTokenizer;
  renderer: PolicyRenderer;
  /** Turns of the first agent in an earlier rollout of the task and sample, to continue from. */
  partial?: PartialRollout;
}

/** A rollout of a policy that takes and gives messages: the trace has no tokens and cannot train. */
export interface EndpointRolloutRequest extends RolloutOrder {
  endpoint: ReplyClient;
}

export interface Score {
  reward: number;
  rewards: WeightedScores;
  metrics: Record<string, number>;
}

/** The conversations of an existing episode, by agent. */
export type Conversations = Readonly<Record<string, readonly (readonly Message[])[]>>;

export interface ConfiguredEnvironment {
  readonly name: string;
  readonly version: string;
  readonly tags: readonly string[];
  readonly requires: Requirements;
  /** The agents of an episode; `score` is about the first one. */
  readonly agents: readonly string[];
  /** Whether it has a check of its gold answers. */
  readonly validates: boolean;
  /**
   * A reader of the split's tasks for a run's seed. The same for every source of this environment with these arguments.
   */
  tasks(split: Split, runSeed: number): TaskSource;
  /** Equal for equal tasks: the definition's `contentKey`, or the text of the prompt. */
  contentKey(task: Task): string;
  /**
   * The endless stream of demonstrations for a run's seed. Throws PRL_ENVIRONMENT_UNSUPPORTED when the environment has
   * none.
   */
  demonstrations(runSeed: number): Iterable<Demonstration>;
  run(request: RolloutRequest | EndpointRolloutRequest): Promise<EpisodeFrame>;
  /** Whether some of its rewards or metrics compare the rollouts of a group: `scoreGroup` has to follow the last of them. */
  readonly scoresGroups: boolean;
  /** The scores of group rewards and group metrics. Never rejects. */
  scoreGroup(task: Task, episodes: readonly Episode[], signal: AbortSignal): Promise<GroupScores>;
  /**
   * The first agent's score of a conversation, without sampling and as a group of one; a text stands for the only reply. Rejects as a
   * reward does.
   */
  score(task: Task, reply: string | readonly Message[]): Promise<Score>;
  /** An episode of these conversations, scored without sampling and without group rewards. Rejects as a reward does. */
  scoreConversations(task: Task, conversations: Conversations): Promise<Episode>;
  /**
   * Scores a recorded and completed episode again: rewards and metrics of each trace are computed anew, metrics that the rollout
   * itself recorded stay. `scoreGroup` computes those of a group. Rejects as a reward does, and with PRL_ENVIRONMENT_UNSUPPORTED where
   * one asks for the rollout's sandbox.
   */
  rescore(episode: Episode, signal: AbortSignal): Promise<Episode>;
  /**
   * Runs the environment's own check of a task's gold answer; does nothing when it has none (`validates`). Returns the replies that the
   * check scored, in order.
   */
  validate(task: Task): Promise<readonly ScoredReply[]>;
}

/** A reply that an environment's own check scored. */
export interface ScoredReply {
  readonly reply: string | readonly Message[];
  readonly reward: number;
}

/** @param config what the definition's schema gave for the arguments. */
export function configureEnvironment<Config, Row extends object, Agent extends string>(
  definition: EnvironmentDefinition<Config, Row, Agent>,
  config: Config,
  source: SandboxSource,
): ConfiguredEnvironment {
  const { name, version, tags = [], rewards, metrics = {} } = definition;
  const roles = agentRoles(definition, config);
  const agents = roles.map((role) => role.name);
  const { limits: bounds = {} } = definition;
  const judged = definition.judge?.({ config }) ?? null;
  const judges = judged === null ? NO_JUDGE : new EndpointJudge(judged);
  const limits = checkLimits(name, typeof bounds === "function" ? bounds({ config }) : bounds);
  /**
   * Here a row that came over the wire gets its type back: this environment made it, and its hash was
   * checked.
   */
  const rowOf = (task: Task): Row => task.data as Row;
  const scoresGroups = hasGroupRewards({ ...rewards, ...metrics });
  /** Gives sandboxes to code outside of a rollout; they are made at the first request. */
  const withSandboxes = async <Result>(work: (access: SandboxAccess) => Promise<Result>): Promise<Result> => {
    const sandboxes = new RolloutSandboxes(source, definition);
    try {
      return await work(sandboxes.access);
    } finally {
      await sandboxes.close();
    }
  };
  const scoreGroup = (task: Task, episodes: readonly Episode[], signal: AbortSignal): Promise<GroupScores> =>
    withSandboxes((access) =>
      scoreGroupRewards(definition, { task: rowOf(task), config, signal, judges, ...access }, agents, episodes),
    );

  const scoreConversations = async (task: Task, conversations: Conversations): Promise<Episode> => {
    const { signal } = new AbortController();
    const clock = startClock();
    const seats = roles.flatMap((role) =>
      (conversations[role.name] ?? []).map((messages) => ({ role, trace: TraceGraph.ofMessages(messages) })),
    );
    const scores = await withSandboxes((access) =>
      scoreTraces(definition, { task: rowOf(task), config, signal, judges, ...access }, agents, seats),
    );
    const order = { episodeId: "0", groupId: "0", source: name, task, run: { type: "eval", step: 0 } } as const;
    return toFrame(definition, order, seats, { clock, errors: [], end: {}, scores }).episode;
  };
  const rescore = async (episode: Episode, signal: AbortSignal): Promise<Episode> => {
    const sandbox = async (): Promise<never> => {
      const message = `environment "${name}": what the rollout left in its sandbox is gone, its traces cannot be scored again`;
      throw new PrlError("PRL_ENVIRONMENT_UNSUPPORTED", message);
    };
    const seats = episode.traces.map((record) => {
      const role = roles.find((one) => one.name === record.agent);
      if (role !== undefined) return { role, trace: new RecordedTrace(record, 0) };
      const message = `environment "${name}" has no agent "${record.agent}" any more: ${agents.join(", ")}`;
      throw new PrlError("PRL_ENVIRONMENT_INVALID", message);
    });
    const usage = new JudgeUsage();
    const common = { task: rowOf(episode.task), config, signal, judges, usage };
    const scores = await withSandboxes((access) =>
      scoreTraces(definition, { ...common, ...access, sandbox }, agents, seats),
    );
    const traces = episode.traces.map((trace, index) => {
      const { metrics: measured = {}, ...score } = scores[index] ?? { reward: Number.NaN, rewards: {} };
      return { ...trace, ...score, metrics: { ...trace.metrics, ...usage.metrics, ...measured }, is_completed: true };
    });
    return { ...episode, ok: true, errors: [], traces };
  };
  const scoreAlone = async (task: Task, conversations: Conversations): Promise<Episode> => {
    const episode = await scoreConversations(task, conversations);
    if (!scoresGroups) return episode;
    const scores = await scoreGroup(task, [episode], new AbortController().signal);
    if (scores.error !== null) throw new PrlError("PRL_ENVIRONMENT_FAILED", scores.error.message);
    return withGroupScores([episode], scores)[0] ?? episode;
  };
  const score = async (task: Task, reply: string | readonly Message[]): Promise<Score> => {
    const messages: readonly Message[] = typeof reply === "string" ? [{ role: "assistant", content: reply }] : reply;
    const [trace] = (await scoreAlone(task, { [agents[0] ?? SOLE_AGENT]: [messages] })).traces;
    return { reward: trace?.reward ?? Number.NaN, rewards: trace?.rewards ?? {}, metrics: trace?.metrics ?? {} };
  };
  return {
    name,
    version,
    tags,
    requires: definition.requires ?? {},
    agents,
    validates: definition.validate !== undefined,
    tasks(split, runSeed) {
      const rngSeed = deriveSeed(runSeed, "tasks", name, split, 0, 0, 0);
      const open = (leaveOut: () => void) => definition.tasks({ config, rng: createRng(rngSeed), split, leaveOut });
      return new TaskReader<Row>(open, definition.key);
    },
    contentKey(task) {
      const row = rowOf(task);
      return definition.contentKey?.(row) ?? contentKeyOf(row);
    },
    demonstrations(runSeed) {
      if (definition.demonstrations === undefined) {
        throw new PrlError(
          "PRL_ENVIRONMENT_UNSUPPORTED",
          `environment "${name}" gives no demonstrations to learn from`,
        );
      }
      const seed = deriveSeed(runSeed, "demonstrations", name, "", 0, 0, 0);
      return definition.demonstrations({ config, seed, rng: createRng(seed) });
    },
    async run(request) {
      const sandboxes = new RolloutSandboxes(source, definition);
      sandboxes.request();
      try {
        return await runRollout(definition, config, { roles, limits, judges }, rowOf(request.task), request, sandboxes);
      } finally {
        await sandboxes.close();
      }
    },
    scoresGroups,
    scoreGroup,
    score,
    scoreConversations,
    rescore,
    async validate(task) {
      const scored: ScoredReply[] = [];
      const total = async (reply: string | readonly Message[]): Promise<number> => {
        const { reward } = await score(task, reply);
        scored.push({ reply, reward });
        return reward;
      };
      const scoreAgents = async (conversations: Conversations): Promise<Record<string, number[]>> => {
        const traces = tracesByAgent(agents, (await scoreAlone(task, conversations)).traces);
        const values = (agent: Agent): number[] => traces[agent].map(({ reward }) => reward ?? Number.NaN);
        return Object.fromEntries(agents.map((agent) => [agent, values(agent)]));
      };
      const { validate } = definition;
      if (validate === undefined) return scored;
      const parts = { task: rowOf(task), config, score: total, scoreMessages: total, scoreAgents };
      await withSandboxes((access) => validate({ ...parts, ...access }));
      return scored;
    },
  };
}

async function runRollout<Config, Row extends object, Agent extends string>(
  definition: EnvironmentDefinition<Config, Row, Agent>,
  config: Config,
  { roles, limits, judges }: { roles: readonly AgentRole<Agent>[]; limits: Limits; judges: JudgeSource },
  task: Row,
  request: RolloutRequest | EndpointRolloutRequest,
  sandboxes: RolloutSandboxes,
): Promise<EpisodeFrame> {
  const time = new LinkedAbort(request.signal);
  const { signal } = time;
  const stop = (reason: RolloutStop): void => time.abort(reason);
  const { timeMs } = limits;
  if (timeMs !== undefined) time.abortAfter(timeMs, () => new RolloutStop("max_time"));
  // Every agent, tool and reward listens to the signal.
  setMaxListeners(0, request.signal, signal);
  const seats = new Seats(roles, { ...request, signal }, new TurnLimits(limits, stop));
  const { first } = seats;
  const clock = startClock();
  const errors: EpisodeError[] = [];
  let end: RolloutEnd = {};
  let scores: Score[] | null = null;
  const usage = new JudgeUsage();
  try {
    const context: RolloutContext<Row, Config, Agent> = {
      task,
      config,
      sample: first.sample,
      countTokens: first.sampler.countTokens,
      trace: first.trace,
      agent: (name, index) => seats.seat(name, index),
      client: "endpoint" in request ? NO_CLIENT : request.client,
      tokenizer: "endpoint" in request ? NO_TOKENIZER : request.tokenizer,
      sampling: request.sampling,
      seed: request.seed,
      signal,
      ...sandboxes.access,
    };
    const rollout = (async () => definition.rollout(context))();
    end = await endOf(
      untilAborted(() => rollout, signal),
      request.signal,
    );
    // Programs in its sandbox have to end before anything there is scored.
    if (signal.aborted && sandboxes.required) end = { ...(await lateEndOf(rollout, request.signal)), ...end };
    time.release();
    for (const { trace } of seats.spoken) trace.info = end.info ?? {};
    clock.generated = performance.now();
    if (seats.spoken.length === 0 && end.stopCondition === "max_time")
      throw new PrlError("PRL_ENVIRONMENT_TIMEOUT", `the rollout made no model call within its ${timeMs} ms`);
    if (seats.spoken.length === 0)
      throw new PrlError("PRL_ENVIRONMENT_FAILED", "the rollout ended without a model call");
    const agents = roles.map((role) => role.name);
    const common = { task, config, signal: request.signal, judges, usage, ...sandboxes.access };
    scores = await scoreTraces(definition, common, agents, seats.spoken);
    clock.scored = performance.now();
    if (sandboxes.required)
      end = { ...end, metrics: { ...end.metrics, "timing/sandbox_wait": sandboxes.waitedSeconds } };
  } catch (error) {
    errors.push(toEpisodeError(seats.blame(error)));
    // Waits for the engine's answer to the call that was cut.
    if (request.keepsPartial === true && request.signal.aborted) await seats.settled();
  }
  time.release();
  end = { ...end, metrics: { ...end.metrics, ...usage.metrics } };
  return toFrame(definition, request, seats.spoken, { clock, errors, end, scores });
}

/** How a rollout ended; a thrown stop is a normal end, unless the rollout was cancelled meanwhile. */
async function endOf(rollout: Promise<RolloutEnd | void>, cancelled: AbortSignal): Promise<RolloutEnd> {
  try {
    return (await rollout) ?? {};
  } catch (error) {
    cancelled.throwIfAborted();
    if (error instanceof RolloutStop) return { stopCondition: error.stopCondition };
    throw error;
  }
}

/** The end that a stopped rollout still reports. Rejects when its sandbox failed, or when it is cancelled. */
async function lateEndOf(rollout: Promise<RolloutEnd | void>, cancelled: AbortSignal): Promise<RolloutEnd> {
  const time = new LinkedAbort(cancelled).abortAfter(STOPPED_MS, () => new RolloutStop("late"));
  try {
    return (await untilAborted(() => rollout, time.signal)) ?? {};
  } catch (error) {
    cancelled.throwIfAborted();
    if (toEpisodeError(error).class === "infra") throw error;
    return {};
  } finally {
    time.release();
  }
}

/** The score of each trace, in their order. */
async function scoreTraces<Config, Row extends object, Agent extends string>(
  definition: EnvironmentDefinition<Config, Row, Agent>,
  context: Omit<UnjudgedContext<RewardContext<Row, Config, Agent>>, "trace" | "agent" | "traces">,
  agents: readonly Agent[],
  seats: readonly { readonly role: AgentRole<Agent>; readonly trace: Trace }[],
): Promise<Score[]> {
  const of = (agent: Agent): Trace[] => seats.filter(({ role }) => role.name === agent).map(({ trace }) => trace);
  // The record has all of `agents`, also those that said nothing.
  const traces = Object.fromEntries(agents.map((agent) => [agent, of(agent)])) as Record<Agent, Trace[]>;
  return Promise.all(
    seats.map(async ({ role, trace }) => {
      const own = { ...context, trace, traces, agent: role.name };
      const [rewards, metrics] = await Promise.all([
        scoreAll(definition.rewards, own, 1),
        scoreAll(definition.metrics ?? {}, own, 0),
      ]);
      const numbers = Object.entries(metrics).map(([name, { score }]) => [name, score] as const);
      return { reward: sumOf(rewards), rewards, metrics: Object.fromEntries(numbers) };
    }),
  );
}
