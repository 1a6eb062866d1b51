/**
 * `defineEnvironment`: the definition of an environment, with types that flow from config and task rows to rollout and
 * rewards.
 *
 * This file has only definitions and their checks; `configured-environment.ts` runs them.
 */
import type { Split } from "../../datasets/index.ts";
import { z } from "zod";

import { PrlError } from "../../errors.ts";
import { callback, checkOptions, only, table } from "../../options.ts";
import { argumentProblems } from "./argument-problems.ts";
import { type ConfiguredEnvironment, configureEnvironment } from "./configured-environment.ts";
import type { EndpointConfig } from "../endpoint/endpoint-config.ts";
import type { JudgeOptions } from "../judge/judge.ts";
import type { Limits } from "./limits.ts";
import type { PolicyClient, PolicyCompletion, Sampling } from "../rollout/policy-client.ts";
import type { Message, Prompt, TextFormat } from "../../message.ts";
import type { ParsedToolCall, ReplyDelta } from "../../renderers/index.ts";
import type { ReplyClient } from "../rollout/reply-client.ts";
import { checkRewards, type RewardMap, rewardWeights } from "./reward.ts";
import type { Rng } from "../../random/rng.ts";
import {
  combinedRequirements,
  OWN_SANDBOXES,
  type Requirements,
  type SandboxAccess,
  type SandboxSource,
} from "../sandboxes/sandboxes.ts";
import type { TaskRows } from "./tasks.ts";
import type { Trace } from "../episode/trace.ts";
import type { PolicyTokenizer } from "./tokenizer.ts";

export interface TasksContext<Config> {
  readonly config: Config;
  /** Random numbers seeded for this run, environment and split; tasks must not use others. */
  readonly rng: Rng;
  readonly split: Split;
  /** Counts a data row that gives no task; readers of the tasks get the count. */
  readonly leaveOut: () => void;
}

export interface RolloutContext<Row, Config = unknown, Agent extends string = string> extends SandboxAccess {
  readonly task: Row;
  readonly config: Config;
  /**
   * One model call: the prompt becomes tokens (a text as it is, messages by the chat template, extending the tokens of
   * earlier turns where that is exact), the completion joins the trace. The call is made by the first agent.
   */
  readonly sample: AgentSeat["sample"];
  /** Number of tokens of a new prompt, as the policy would see it. PRL_ENVIRONMENT_UNSUPPORTED behind an endpoint. */
  readonly countTokens: (prompt: Prompt, options?: SampleOptions) => Promise<number>;
  /** Trace of the first agent. */
  readonly trace: Trace;
  /**
   * One of the environment's `agents`, with its own trace; equal name and index give the same seat. Index 0, 1, ... are several seats
   * at the same time, such as the attempts of one solver. Throws PRL_ENVIRONMENT_FAILED for a name that the environment does not have.
   */
  readonly agent: (name: Agent, index?: number) => AgentSeat<Agent>;
  /** Takes and returns token ids, without any record in the trace. */
  readonly client: PolicyClient;
  readonly tokenizer: PolicyTokenizer;
  readonly sampling: Sampling;
  /** Seed of this rollout: the only randomness that it may use. */
  readonly seed: number;
  /** Aborted at the rollout's deadline or when it is cancelled. */
  readonly signal: AbortSignal;
}

/** An agent's place in an episode: it makes model calls, and has its own trace and reward. */
export interface AgentSeat<Agent extends string = string> {
  readonly name: Agent;
  readonly trace: Trace;
  readonly sample: (prompt: Prompt, options?: SampleOptions) => Promise<SampledTurn>;
}

/** Settings of one agent. */
export interface AgentOptions {
  /** Whether its tokens train. Default true, false behind an endpoint. */
  readonly trains?: boolean;
  /** A model that plays this agent instead of the policy: a frozen opponent, a helper. */
  readonly endpoint?: EndpointConfig | ReplyClient | null;
}

export interface SampleOptions {
  /** JSON schemas of functions that the policy may call, in the shape of the OpenAI API. */
  readonly tools?: readonly Readonly<Record<string, unknown>>[];
  /** Limit of this completion, where it is less than the rollout's limit. */
  readonly maxCompletionTokens?: number;
  /** Texts that end the reply and are not part of it; their tokens were sampled and train. */
  readonly stop?: readonly string[];
  /** The policy has to call a function: any, or the one of this name. The beginning of a call is put before the sampled tokens. */
  readonly toolChoice?: "required" | { readonly name: string };
  /** The beginning of the reply: it is part of the message, and of the prompt, which does not train. */
  readonly begun?: string;
  /**
   * The reply has to be JSON of this JSON Schema: tokens that cannot come get no probability. Log-probabilities are those among the others, so the
   * importance ratio of such a token in training is the share of probability that they had. Not with `toolChoice` or `begun`.
   */
  readonly jsonSchema?: object | boolean;
  /** The same for a text that is no JSON. Not with `jsonSchema`, and not behind an endpoint. */
  readonly textFormat?: TextFormat;
  /** Called with the text of the reply while it is sampled, as far as it is certain; without tool calls. */
  readonly onDelta?: (delta: ReplyDelta) => void;
}

export interface SampledTurn extends PolicyCompletion {
  /** The completion without special tokens. */
  readonly text: string;
  /** The completion as a message, to append to the prompt's messages for the next turn. */
  readonly message: Message;
  /** Every attempt to call a tool, also malformed ones. */
  readonly toolCalls: readonly ParsedToolCall[];
  /** Null when an endpoint does not say. */
  readonly usage: { readonly promptTokens: number; readonly completionTokens: number } | null;
}

/** Why a rollout ended, other than that the policy was done or out of tokens. A stop is not an error: it is scored. */
export interface RolloutEnd {
  stopCondition?: string;
  /** Numbers to record in addition to the environment's metrics. */
  metrics?: Readonly<Record<string, number>>;
  /** Other facts, as JSON: `trace.info` for rewards, and in the record. */
  info?: Readonly<Record<string, unknown>>;
}

export interface Rollout<Row, Config = unknown, Agent extends string = string> {
  (context: RolloutContext<Row, Config, Agent>): Promise<RolloutEnd | void>;
  /** Requirements in addition to those of its environment. */
  readonly requires?: Requirements;
}

/**
 * An example to learn from without sampling: a pair of texts, to whose completion the trainer adds the end-of-sequence token,
 * or a conversation for the model's chat template, whose assistant messages are learnt.
 */
export type Demonstration = DemonstrationPair | DemonstrationConversation;

export interface DemonstrationPair {
  prompt: string;
  completion: string;
}

export interface DemonstrationConversation {
  messages: readonly Message[];
  /** The functions that its assistant may call, as `toolSchemas` describes them. */
  tools?: readonly Readonly<Record<string, unknown>>[];
}

export interface DemonstrationsContext<Config> {
  readonly config: Config;
  readonly seed: number;
  /** Random numbers seeded with `seed`. */
  readonly rng: Rng;
}

export interface ValidateContext<Row, Config> extends SandboxAccess {
  readonly task: Row;
  readonly config: Config;
  /** The weighted reward of a reply of the first agent, without sampling, as a group of one. */
  readonly score: (reply: string) => Promise<number>;
  /** The weighted reward of a whole conversation of the first agent, without sampling. */
  readonly scoreMessages: (messages: readonly Message[]) => Promise<number>;
  /** The weighted rewards of a whole episode, by agent and trace, without sampling. */
  readonly scoreAgents: (
    conversations: Readonly<Record<string, readonly (readonly Message[])[]>>,
  ) => Promise<Record<string, number[]>>;
}

export interface EnvironmentDefinition<Config, Row extends object, Agent extends string = string> {
  /** Lower-case words with hyphens. */
  readonly name: string;
  readonly version: string;
  readonly tags?: readonly string[];
  /** The needs of the environment; they are checked before the run. */
  readonly requires?: Requirements;
  /** Arguments of the environment, `args` in the config file. */
  readonly config: z.ZodType<Config>;
  /** The task rows of a split: JSON objects in an array, iterable or generator; `endless(...)` when they never end. */
  readonly tasks: (context: TasksContext<Config>) => TaskRows<Row>;
  /** Stable name of a task within its split. Default: the hash of its row. */
  readonly key?: (row: Row, index: number) => string;
  /**
   * A key that is equal for equal tasks, for `validate`: no task may come twice or in both splits. Default: the prompt's text without case,
   * white space and punctuation, or the row's JSON without answers and the order of lists. Give it where the default does not fit.
   */
  readonly contentKey?: (row: Row) => string;
  /**
   * The agents of an episode; the rollout reaches them by `agent(name)`, and each has its own trace, reward and advantage.
   * Default: the policy alone, as `"agent"`.
   */
  readonly agents?: readonly Agent[];
  /** Settings of agents that differ from the default: the policy plays, and its tokens train. */
  readonly seats?: (context: { config: Config }) => Readonly<Partial<Record<Agent, AgentOptions>>>;
  readonly rollout: Rollout<Row, Config, Agent>;
  /** Limits at which a rollout stops; see `Limits` for the names. Default: only the deadline, which is an error. */
  readonly limits?: Limits | ((context: { config: Config }) => Limits);
  /** The model that judges replies for `judge` of rewards; null: no judge. */
  readonly judge?: (context: { config: Config }) => JudgeOptions | null;
  /** Rewards of each trace, or of a whole group of rollouts (`groupReward`). */
  readonly rewards: RewardMap<Row, Config, Agent>;
  /** Numbers that are recorded and never trained on. */
  readonly metrics?: RewardMap<Row, Config, Agent>;
  /** An endless stream of pairs or conversations to learn the task from. It has no task of either split. */
  readonly demonstrations?: (context: DemonstrationsContext<Config>) => Iterable<Demonstration>;
  /** Throws when the task's gold answer does not get the full reward. */
  readonly validate?: (context: ValidateContext<Row, Config>) => Promise<void>;
}

/** An environment as its module exports it: the definition's types are hidden inside, so it can be loaded by name. */
export interface Environment {
  readonly name: string;
  readonly version: string;
  readonly tags: readonly string[];
  readonly config: z.ZodType;
  /** Weight of each reward. */
  readonly rewards: Readonly<Record<string, number>>;
  /** Names of the metrics. */
  readonly metrics: readonly string[];
  /** Whether it can give demonstrations. */
  readonly demonstrates: boolean;
  /** Whether it checks its gold answers. */
  readonly validates: boolean;
  readonly requires: Requirements;
  /**
   * Fills and checks its arguments. `sandboxes`: the source of the sandboxes that it requires, by default a daemon of this process.
   * Throws PRL_CONFIG_INVALID naming the key.
   */
  configure(args?: unknown, services?: { sandboxes?: SandboxSource }): ConfiguredEnvironment;
}

const NAME = /^[a-z0-9]+(-[a-z0-9]+)*$/u;
const ENVIRONMENT = Symbol.for("prl.environment");

const servicesSchema = only<{ sandboxes?: SandboxSource }>({ sandboxes: z.unknown().optional() });
/** The values are checked one by one, with messages that name the environment. */
const definitionSchema = only<EnvironmentDefinition<unknown, never>>({
  name: z.unknown(),
  version: z.unknown(),
  tags: z.array(z.string()).optional(),
  requires: table.optional(),
  config: z.unknown(),
  tasks: z.unknown(),
  key: callback.optional(),
  contentKey: callback.optional(),
  agents: z.array(z.string()).optional(),
  seats: callback.optional(),
  rollout: z.unknown(),
  limits: z.union([table, callback], "must be an object or a function").optional(),
  judge: callback.optional(),
  rewards: z.unknown(),
  metrics: table.optional(),
  demonstrations: callback.optional(),
  validate: callback.optional(),
});

/** Checks a definition and makes it an environment. Throws PRL_ENVIRONMENT_INVALID. */
export function defineEnvironment<Config, Row extends object, Agent extends string = string>(
  definition: EnvironmentDefinition<Config, Row, Agent>,
): Environment {
  checkOptions("PRL_ENVIRONMENT_INVALID", `environment "${definition.name}"`, definitionSchema, definition);
  checkDefinition(definition);
  const { name, version, tags = [], config } = definition;
  const requires = combinedRequirements(definition.rollout.requires, definition.requires);
  const environment: Environment = {
    name,
    version,
    tags,
    config,
    rewards: rewardWeights(definition.rewards),
    metrics: Object.keys(definition.metrics ?? {}),
    demonstrates: definition.demonstrations !== undefined,
    validates: definition.validate !== undefined,
    requires,
    configure(args = {}, services = {}) {
      checkOptions("PRL_ENVIRONMENT_INVALID", `configure of environment "${name}"`, servicesSchema, services);
      const { sandboxes = OWN_SANDBOXES } = services;
      const parsed = config.safeParse(args);
      if (!parsed.success) {
        throw new PrlError(
          "PRL_CONFIG_INVALID",
          `arguments of environment "${name}": ${argumentProblems(config, parsed.error)}`,
        );
      }
      return configureEnvironment({ ...definition, requires }, parsed.data, sandboxes);
    },
  };
  return Object.assign(environment, { [ENVIRONMENT]: true });
}

/** Whether a module's export came from `defineEnvironment`, of this copy of the package or another. */
export function isEnvironment(value: unknown): value is Environment {
  return typeof value === "object" && value !== null && ENVIRONMENT in value;
}

function checkDefinition<Config, Row extends object, Agent extends string>(
  definition: EnvironmentDefinition<Config, Row, Agent>,
): void {
  const { name, version, tasks, rollout, agents, rewards, metrics = {}, requires = {} } = definition;
  const fail = (problem: string): never => {
    throw new PrlError("PRL_ENVIRONMENT_INVALID", `environment "${name}": ${problem}`);
  };
  if (typeof name !== "string" || !NAME.test(name)) fail("its name must be lower-case words with hyphens between");
  if (typeof version !== "string" || version === "") fail("it has no version");
  if (!(definition.config instanceof z.ZodType)) fail("its config is no zod schema");
  if (typeof tasks !== "function") fail("its tasks are no function");
  if (typeof rollout !== "function") fail("its rollout is no function; singleTurn() is one");
  if (agents !== undefined && (agents.length === 0 || new Set(agents).size < agents.length))
    fail("its agents are none, or two of one name");
  if (typeof rewards !== "object" || rewards === null) fail("it has no rewards; give at least one");
  checkRewards(name, rewards, metrics);
  const { sandbox, ...unknown } = requires;
  const strange = Object.keys(unknown)[0];
  if (strange !== undefined) fail(`it requires "${strange}", which is not known; there is: sandbox`);
  if (sandbox !== undefined && sandbox !== true && sandbox !== "pool" && typeof sandbox !== "object")
    fail('requires.sandbox is true, "pool" or a description of a sandbox');
}
