/**
 * Environments: tasks, rollouts, rewards. Public as `prl-lm/environments`; "Exports" in README.md says what each name is for.
 *
 * Only what authors of environments and programs that run them need is here. Other parts of prl find the rest in `internal.ts`.
 */
export { z } from "zod";
export { defineEnvironment } from "./model/environment.ts";
export type {
  AgentOptions,
  AgentSeat,
  Demonstration,
  DemonstrationConversation,
  DemonstrationPair,
  DemonstrationsContext,
  Environment,
  EnvironmentDefinition,
  Rollout,
  RolloutContext,
  RolloutEnd,
  SampledTurn,
  SampleOptions,
  TasksContext,
  ValidateContext,
} from "./model/environment.ts";
export { type Limits, RolloutStop } from "./model/limits.ts";

export { endless } from "./model/tasks.ts";
export type { EndlessTasks, Task, TaskPage, TaskRows, TaskSource } from "./model/tasks.ts";
export { ofSplit, rows } from "../datasets/index.ts";
export type { DatasetReference, DataSource, RowsOptions, Split, Use } from "../datasets/index.ts";
export { createRng, type Rng } from "../random/rng.ts";
export { seed } from "../random/seed.ts";

export { singleTurn } from "./conversation/single-turn.ts";
export { multiTurn, type MultiTurnOptions, type Response } from "./conversation/multi-turn.ts";
export { type ContextEdit, pruning, summarizing, type SummarizingOptions } from "./conversation/context-editing.ts";
export { userModel, type UserModelOptions } from "./conversation/user-model.ts";
export {
  tool,
  toolSchemas,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolSource,
} from "./conversation/tool.ts";
export { toolUse, type ToolUseOptions } from "./conversation/tool-use.ts";
export { mcpTools, type McpAddress, type McpOptions, type McpProgram } from "./conversation/mcp-tools.ts";
export { agent, type AgentProgramOptions } from "./conversation/agent.ts";
export { InterceptionServer, type Interception, type InterceptionOptions } from "./interception/server.ts";
export type { InterceptionSession, SessionParts } from "./interception/session.ts";
export type { Message, Prompt, TextFormat, ToolCall } from "../message.ts";
export type { PolicyClient, PolicyCompletion, PolicyRequest, Sampling } from "./rollout/policy-client.ts";
export type { PolicyRenderer, PolicyTokenizer } from "./model/tokenizer.ts";
export type { Trace, TraceNode } from "./episode/trace.ts";
export type { RecordedTrace } from "./episode/recorded-trace.ts";

export { reward } from "./model/reward.ts";
export type {
  Reward,
  RewardContext,
  RewardFunction,
  RewardMap,
  RewardOptions,
  RewardValue,
  WeightedScore,
  WeightedScores,
} from "./model/reward.ts";
export { groupReward } from "./model/group-reward.ts";
export type {
  GroupReward,
  GroupRewardContext,
  GroupRewardFunction,
  GroupScores,
  TraceScores,
} from "./model/group-reward.ts";
export type { Judge, JudgeAccess, JudgeOptions, RubricQuestion } from "./judge/judge.ts";
export type { ReferenceQuestion } from "./judge/judge-reference.ts";
export type { RubricCriterion } from "./judge/judge-rubric.ts";

export { MODEL_PORT, OWN_SANDBOXES, SandboxSource } from "./sandboxes/sandboxes.ts";
export type { Requirements, SandboxAccess, SandboxRequirement, SandboxSettings } from "./sandboxes/sandboxes.ts";

export { endpointConfig, type EndpointConfig } from "./endpoint/endpoint-config.ts";
export { openEndpoint, type Endpoint, type EndpointApi, type EndpointOptions } from "./endpoint/endpoint.ts";
export type { Reply, ReplyClient, ReplyRequest } from "./rollout/reply-client.ts";

export { type EnvironmentReference, loadEnvironment } from "./model/load-environment.ts";
export type {
  ConfiguredEnvironment,
  Conversations,
  EndpointRolloutRequest,
  RolloutOrder,
  RolloutRequest,
  Score,
  ScoredReply,
} from "./model/configured-environment.ts";
export {
  type Episode,
  type EpisodeError,
  type EpisodeErrorClass,
  type EpisodeTrace,
  rewardOf,
} from "./episode/episode.ts";
export type { EpisodeFrame } from "./episode/episode-frame.ts";
export type { TraceColumns } from "./episode/trace-columns.ts";
export type { PartialRollout } from "./episode/partial-rollout.ts";
export { scoreGroup, type ScoredRollout } from "./model/score-group.ts";
export {
  validateEnvironment,
  type ValidateOptions,
  type ValidationCheck,
  type ValidationFailure,
  type ValidationReport,
} from "./validation/validate-environment.ts";
