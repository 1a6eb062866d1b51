/**
 * Environments: tasks, rollouts, rewards, and the processes that run them. Public as `prl-lm/environments`.
 *
 * Exports for authors come first (`z` is zod, for `config`), those for the orchestrator and the command line follow.
 */
export { z } from "zod";
export { defineEnvironment, isEnvironment } from "./model/environment.ts";
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
export type { Split } from "../datasets/index.ts";
export {
  OWN_SANDBOXES,
  MODEL_PORT,
  type Requirements,
  type SandboxAccess,
  type SandboxRequirement,
  type SandboxSettings,
  SandboxSource,
} from "./sandboxes/sandboxes.ts";
export { untilAborted } from "./model/reward.ts";
export type { Judge, JudgeAccess, JudgeOptions, RubricQuestion } from "./judge/judge.ts";
export type { ReferenceQuestion } from "./judge/judge-reference.ts";
export type { RubricCriterion } from "./judge/judge-rubric.ts";
export { type Limits, RolloutStop } from "./model/limits.ts";
export { checkSandboxes, daemonSettings, sandboxSource } from "./sandboxes/sandbox-config.ts";
export { reward } from "./model/reward.ts";
export type {
  Reward,
  RewardContext,
  RewardFunction,
  RewardMap,
  RewardOptions,
  RewardValue,
  WeightedScore,
} from "./model/reward.ts";
export { groupReward, groupScoresSchema, withGroupScores } from "./model/group-reward.ts";
export type {
  GroupReward,
  GroupRewardContext,
  GroupRewardFunction,
  GroupScores,
  TraceScores,
} from "./model/group-reward.ts";
export { RecordedTrace } from "./episode/recorded-trace.ts";
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
export { mcpTools, type McpAddress, type McpOptions, type McpProgram } from "./conversation/mcp-tools.ts";
export { toolUse, type ToolUseOptions } from "./conversation/tool-use.ts";
export { scoreGroup, type ScoredRollout } from "./model/score-group.ts";
export { endless, occurrences, TaskReader } from "./model/tasks.ts";
export { taskHash } from "../datasets/index.ts";
export type { EndlessTasks, Task, TaskPage, TaskRows, TaskSource } from "./model/tasks.ts";
export { LinkedAbort } from "../async/linked-abort.ts";
export { createRng, type Rng } from "../random/rng.ts";
export { seed, turnSeed } from "../random/seed.ts";
export type { Message, Prompt, ToolCall } from "../message.ts";
export type { PolicyClient, PolicyCompletion, PolicyRequest, Sampling } from "./rollout/policy-client.ts";
export type { PolicyRenderer, PolicyTokenizer } from "./model/tokenizer.ts";
export type { Reply, ReplyClient, ReplyRequest } from "./rollout/reply-client.ts";
export { agent, type AgentProgramOptions } from "./conversation/agent.ts";
export { InterceptionServer, type Interception, type InterceptionOptions } from "./interception/server.ts";
export type { InterceptionSession, SessionParts } from "./interception/session.ts";
export { endpointConfig, type EndpointConfig } from "./endpoint/endpoint-config.ts";
export { openEndpoint, type Endpoint, type EndpointOptions } from "./endpoint/endpoint.ts";
export { TraceGraph, truncateTurn } from "./episode/trace.ts";
export type { PreparedTurn, Trace, TraceNode, TraceSample, Turn } from "./episode/trace.ts";

export {
  environmentReference,
  isBuiltin,
  loadEnvironment,
  locateEnvironment,
  type EnvironmentOrigin,
  type EnvironmentReference,
  type LocatedEnvironment,
} from "./model/load-environment.ts";
export {
  ENVIRONMENT_KEYWORD,
  environmentPackages,
  packageIn,
  parsePackageId,
  type EnvironmentPackage,
} from "./model/environment-package.ts";
export { placedRows, rows, sourceFiles, type DataSource, type PlacedRow, type RowsOptions } from "../datasets/index.ts";
export type { DatasetReference } from "../datasets/index.ts";
export { ofSplit, type Use } from "../datasets/index.ts";
export { BUILTIN } from "./builtin/index.ts";
export {
  validateEnvironment,
  type ValidationCheck,
  type ValidateOptions,
  type ValidationFailure,
  type ValidationReport,
} from "./validation/validate-environment.ts";
export { countTasks, type TaskCount } from "./model/count-tasks.ts";
export type {
  ConfiguredEnvironment,
  Conversations,
  EndpointRolloutRequest,
  RolloutOrder,
  RolloutRequest,
  Score,
  ScoredReply,
} from "./model/configured-environment.ts";
export { episodeSchema, ERROR_CLASSES, isRetryable, rewardOf, toEpisodeError } from "./episode/episode.ts";
export type { Episode, EpisodeError, EpisodeErrorClass, EpisodeTrace } from "./episode/episode.ts";
export {
  decodeEpisode,
  decodeEpisodeFrame,
  encodeEpisode,
  encodeTraceColumns,
  EPISODE_CONTENT_TYPE,
  type EpisodeFrame,
  type ReceivedEpisode,
} from "./episode/episode-frame.ts";
export { type PartialRollout, partialOf } from "./episode/partial-rollout.ts";
export { UNSAMPLED_VERSION, versionRange, type TraceColumns } from "./episode/trace-columns.ts";
export { startEnvWorker, type EnvWorker } from "./worker/server.ts";
export { readEnvWorkerConfig, type EnvWorkerConfig } from "./worker/config.ts";
export { failedEpisode, runRequestSchema, type RunRequest, type ScoreGroupRequest } from "./worker/protocol.ts";
