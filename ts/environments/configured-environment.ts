/**
 * An environment with its arguments filled in: gives tasks and demonstrations, runs and scores rollouts.
 *
 * A rollout never rejects: what goes wrong is in its episode, with the class that says who is to blame. Knows no HTTP
 * and no process.
 */
import { randomUUID } from "node:crypto";

import { PrlError } from "../errors.ts";
import type { Demonstration, EnvironmentDefinition, RolloutContext, RolloutEnd, Split } from "./environment.ts";
import { type Episode, type EpisodeError, type EpisodeTrace, toEpisodeError } from "./episode.ts";
import type { EpisodeFrame } from "./episode-frame.ts";
import type { Message } from "./message.ts";
import type { PolicyClient, Sampling } from "./policy-client.ts";
import type { ReplyClient } from "./reply-client.ts";
import { createReplySampler, NO_CLIENT, NO_TOKENIZER } from "./reply-sampler.ts";
import { type RewardContext, scoreAll, untilAborted } from "./reward.ts";
import { createRng } from "./rng.ts";
import { seed as deriveSeed } from "./seed.ts";
import { type Task, TaskReader, type TaskSource } from "./tasks.ts";
import { createSampler } from "./sampler.ts";
import { RolloutSandboxes, type SandboxAccess, type SandboxSource } from "./sandboxes.ts";
import type { PolicyRenderer, PolicyTokenizer } from "./tokenizer.ts";
import { TraceGraph } from "./trace.ts";
import { versionRange } from "./trace-columns.ts";

/** One rollout to run, whoever the policy is. */
export interface RolloutOrder {
  episodeId: string;
  groupId: string;
  /** Name of the source that the task came from. */
  source: string;
  task: Task;
  sampling: Sampling;
  seed: number;
  run: Episode["run"];
  /** Aborted with a PrlError as reason at the deadline or on cancel; the episode then carries that error. */
  signal: AbortSignal;
}

/** With a policy that takes and gives token ids. */
export interface RolloutRequest extends RolloutOrder {
  client: PolicyClient;
  tokenizer: PolicyTokenizer;
  renderer: PolicyRenderer;
}

/** With a policy that takes and gives messages: the trace has no tokens and cannot train. */
export interface EndpointRolloutRequest extends RolloutOrder {
  endpoint: ReplyClient;
}

export interface Score {
  reward: number;
  rewards: Record<string, { score: number; weight: number }>;
  metrics: Record<string, number>;
}

export interface ConfiguredEnvironment {
  readonly name: string;
  readonly version: string;
  readonly tags: readonly string[];
  /**
   * A reader of the split's tasks for a run's seed. The same for every source of this environment with these arguments.
   */
  tasks(split: Split, runSeed: number): TaskSource;
  /**
   * The endless stream of demonstrations for a run's seed. Throws PRL_ENVIRONMENT_UNSUPPORTED when the environment has
   * none.
   */
  demonstrations(runSeed: number): Iterable<Demonstration>;
  run(request: RolloutRequest | EndpointRolloutRequest): Promise<EpisodeFrame>;
  /** Scores a conversation without sampling; a text is the only reply. Rejects as a reward does. */
  score(task: Task, reply: string | readonly Message[]): Promise<Score>;
  /**
   * Runs the environment's own check of a task's gold answer; nothing when it has none. Gives what the check had scored, in its order.
   */
  validate(task: Task): Promise<readonly ScoredReply[]>;
}

/** A reply that an environment's own check had scored. */
export interface ScoredReply {
  readonly reply: string | readonly Message[];
  readonly reward: number;
}

/** @param config what the definition's schema gave for the arguments. */
export function configureEnvironment<Config, Row extends object>(
  definition: EnvironmentDefinition<Config, Row>,
  config: Config,
  source: SandboxSource,
): ConfiguredEnvironment {
  const { name, version, tags = [] } = definition;
  /**
   * The border where a row that came over the wire gets its type back: this environment made it, and its hash was
   * checked.
   */
  const rowOf = (task: Task): Row => task.data as Row;
  const score = async (task: Task, reply: string | readonly Message[]): Promise<Score> => {
    const trace = TraceGraph.ofMessages(typeof reply === "string" ? [{ role: "assistant", content: reply }] : reply);
    const { signal } = new AbortController();
    return withSandboxes((access) => scoreTrace(definition, { task: rowOf(task), config, trace, signal, ...access }));
  };
  /** For what asks for sandboxes outside of a rollout: made when they are asked for. */
  const withSandboxes = async <Result>(work: (access: SandboxAccess) => Promise<Result>): Promise<Result> => {
    const sandboxes = new RolloutSandboxes(source, definition);
    try {
      return await work(sandboxes.access);
    } finally {
      await sandboxes.close();
    }
  };
  return {
    name,
    version,
    tags,
    tasks(split, runSeed) {
      const rngSeed = deriveSeed(runSeed, "tasks", name, split, 0, 0, 0);
      return new TaskReader<Row>(() => definition.tasks({ config, rng: createRng(rngSeed), split }), definition.key);
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
        return await runRollout(definition, config, rowOf(request.task), request, sandboxes);
      } finally {
        await sandboxes.close();
      }
    },
    score,
    async validate(task) {
      const scored: ScoredReply[] = [];
      const total = async (reply: string | readonly Message[]): Promise<number> => {
        const { reward } = await score(task, reply);
        scored.push({ reply, reward });
        return reward;
      };
      const { validate } = definition;
      if (validate === undefined) return scored;
      const parts = { task: rowOf(task), config, score: total, scoreMessages: total };
      await withSandboxes((access) => validate({ ...parts, ...access }));
      return scored;
    },
  };
}

async function runRollout<Config, Row extends object>(
  definition: EnvironmentDefinition<Config, Row>,
  config: Config,
  task: Row,
  request: RolloutRequest | EndpointRolloutRequest,
  sandboxes: RolloutSandboxes,
): Promise<EpisodeFrame> {
  const { signal } = request;
  const trace = new TraceGraph();
  const clock = { start: Date.now() / 1000, begun: performance.now(), generated: 0, scored: 0 };
  const errors: EpisodeError[] = [];
  let end: RolloutEnd = {};
  let score: Score | null = null;
  const sampler = "endpoint" in request ? createReplySampler(request, trace) : createSampler(request, trace);
  try {
    const context: RolloutContext<Row, Config> = {
      task,
      config,
      sample: sampler.sample,
      countTokens: sampler.countTokens,
      trace,
      client: "endpoint" in request ? NO_CLIENT : request.client,
      tokenizer: "endpoint" in request ? NO_TOKENIZER : request.tokenizer,
      sampling: request.sampling,
      seed: request.seed,
      signal,
      ...sandboxes.access,
    };
    end = (await untilAborted(async () => definition.rollout(context), signal)) ?? {};
    clock.generated = performance.now();
    if (trace.nodes.length === 0)
      throw new PrlError("PRL_ENVIRONMENT_FAILED", "the rollout ended without a model call");
    score = await scoreTrace(definition, { task, config, trace, signal, ...sandboxes.access });
    clock.scored = performance.now();
    // Turns that could not extend the tokens of the one before: never hidden, and no noise where there are none.
    const rerendered = sampler.rerendered();
    if (rerendered > 0) end = { ...end, metrics: { ...end.metrics, rerendered_turns: rerendered } };
    if (sandboxes.required)
      end = { ...end, metrics: { ...end.metrics, "timing/sandbox_wait": sandboxes.waitedSeconds } };
  } catch (error) {
    errors.push(toEpisodeError(sampler.blame(error)));
  }
  return toFrame(definition, request, trace, { clock, errors, end, score });
}

async function scoreTrace<Config, Row extends object>(
  definition: EnvironmentDefinition<Config, Row>,
  context: RewardContext<Row, Config>,
): Promise<Score> {
  const [rewards, metrics] = await Promise.all([
    scoreAll(definition.rewards, context, 1),
    scoreAll(definition.metrics ?? {}, context, 0),
  ]);
  return {
    reward: Object.values(rewards).reduce((sum, { score, weight }) => sum + score * weight, 0),
    rewards,
    metrics: Object.fromEntries(Object.entries(metrics).map(([name, { score }]) => [name, score])),
  };
}

interface Outcome {
  clock: { start: number; begun: number; generated: number; scored: number };
  errors: EpisodeError[];
  end: RolloutEnd;
  score: Score | null;
}

function toFrame(
  definition: { readonly name: string },
  { episodeId, groupId, source, task, run }: RolloutOrder,
  trace: TraceGraph,
  { clock, errors, end, score }: Outcome,
): EpisodeFrame {
  const now = performance.now();
  const generated = clock.generated || now;
  const columns = trace.columns();
  const policy = versionRange(columns);
  const record: EpisodeTrace | null =
    trace.turns === 0
      ? null
      : {
          id: randomUUID(),
          nodes: trace.nodes.map(({ parent, message, sampled }) => ({ parent, message, sampled })),
          rewards: score?.rewards ?? {},
          reward: score?.reward ?? null,
          metrics: score === null ? {} : { ...end.metrics, ...score.metrics },
          stop_condition:
            score === null ? null : (end.stopCondition ?? (trace.truncated ? "max_output_tokens" : "agent_completed")),
          is_completed: score !== null,
          is_truncated: trace.truncated,
          usage: { prompt_tokens: trace.promptTokens, completion_tokens: trace.completionTokens },
          timing: {
            start: clock.start,
            generation_ms: generated - clock.begun,
            scoring_ms: (clock.scored || now) - generated,
            total_ms: now - clock.begun,
          },
          policy,
        };
  const episode: Episode = {
    id: episodeId,
    env: { id: definition.name, name: source },
    task: { key: task.key, hash: task.hash, data: task.data },
    group: { id: groupId },
    run,
    ok: errors.length === 0,
    errors,
    traces: record === null ? [] : [record],
  };
  return { episode, columns: record === null ? [] : [columns] };
}
