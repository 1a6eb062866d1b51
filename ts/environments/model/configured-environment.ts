/**
 * An environment with its arguments filled in: gives tasks and demonstrations, runs and scores rollouts.
 *
 * A rollout never rejects: its errors are in its episode, with a class that names the part at fault. This file knows no HTTP
 * and no process.
 */
import { PrlError } from "../../errors.ts";
import { contentKeyOf } from "./content-key.ts";
import type { Demonstration, EnvironmentDefinition } from "./environment.ts";
import { EnvironmentScorer } from "./environment-scorer.ts";
import type { Split } from "../../datasets/index.ts";
import type { Episode } from "../episode/episode.ts";
import type { EpisodeFrame } from "../episode/episode-frame.ts";
import { type GroupScores, hasGroupRewards } from "./group-reward.ts";
import { EndpointJudge, type JudgeSource, NO_JUDGE } from "../judge/judge.ts";
import { checkLimits, type Limits } from "./limits.ts";
import type { Message } from "../../message.ts";
import type { PartialRollout } from "../episode/partial-rollout.ts";
import type { PolicyClient, Sampling } from "../rollout/policy-client.ts";
import type { ReplyClient } from "../rollout/reply-client.ts";
import type { WeightedScores } from "./reward.ts";
import { createRng } from "../../random/rng.ts";
import { type Requirements, RolloutSandboxes, type SandboxSource } from "../sandboxes/sandboxes.ts";
import { type AgentRole, agentRoles } from "../rollout/seats.ts";
import { runRollout } from "../rollout/run-rollout.ts";
import { seed as deriveSeed } from "../../random/seed.ts";
import { type Task, TaskReader, type TaskSource } from "./tasks.ts";
import type { PolicyRenderer, PolicyTokenizer } from "./tokenizer.ts";

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

/** An environment's definition, and what its arguments make of it. */
export interface EnvironmentParts<Config, Row extends object, Agent extends string> {
  readonly definition: EnvironmentDefinition<Config, Row, Agent>;
  readonly config: Config;
  readonly source: SandboxSource;
  readonly roles: readonly AgentRole<Agent>[];
  readonly limits: Limits;
  readonly judges: JudgeSource;
  /** Gives a row that came over the wire its type back: the environment made it, and its hash was checked. */
  readonly rowOf: (task: Task) => Row;
}

/** @param config what the definition's schema gave for the arguments. */
export function configureEnvironment<Config, Row extends object, Agent extends string>(
  definition: EnvironmentDefinition<Config, Row, Agent>,
  config: Config,
  source: SandboxSource,
): ConfiguredEnvironment {
  const { name, version, tags = [], requires = {}, validate, rewards, metrics = {} } = definition;
  const parts = partsOf(definition, config, source);
  const scorer = new EnvironmentScorer(parts);
  return {
    name,
    version,
    tags,
    requires,
    agents: scorer.agents,
    validates: validate !== undefined,
    scoresGroups: hasGroupRewards({ ...rewards, ...metrics }),
    tasks(split, runSeed) {
      const rngSeed = deriveSeed(runSeed, "tasks", name, split, 0, 0, 0);
      const open = (leaveOut: () => void) => definition.tasks({ config, rng: createRng(rngSeed), split, leaveOut });
      return new TaskReader<Row>(open, definition.key);
    },
    contentKey(task) {
      const row = parts.rowOf(task);
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
        return await runRollout(parts, request, sandboxes);
      } finally {
        await sandboxes.close();
      }
    },
    scoreGroup: (task, episodes, signal) => scorer.scoreGroup(task, episodes, signal),
    score: (task, reply) => scorer.score(task, reply),
    scoreConversations: (task, conversations) => scorer.scoreConversations(task, conversations),
    rescore: (episode, signal) => scorer.rescore(episode, signal),
    validate: (task) => scorer.validate(task),
  };
}

function partsOf<Config, Row extends object, Agent extends string>(
  definition: EnvironmentDefinition<Config, Row, Agent>,
  config: Config,
  source: SandboxSource,
): EnvironmentParts<Config, Row, Agent> {
  const roles = agentRoles(definition, config);
  const judged = definition.judge?.({ config }) ?? null;
  const judges = judged === null ? NO_JUDGE : new EndpointJudge(judged);
  const { limits: bounds = {} } = definition;
  const limits = checkLimits(definition.name, typeof bounds === "function" ? bounds({ config }) : bounds);
  return { definition, config, source, roles, limits, judges, rowOf: (task) => task.data as Row };
}
