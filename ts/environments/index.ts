/**
 * Environments: tasks, rollouts, rewards, and the processes that run them. Public as `prl-lm/environments`.
 *
 * What authors use comes first (`z` is zod, for `config`); below it is what the orchestrator and the command line use.
 */
export { z } from "zod";
export { defineEnvironment, isEnvironment } from "./environment.ts";
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
  Split,
  TasksContext,
  ValidateContext,
} from "./environment.ts";
export {
  OWN_SANDBOXES,
  MODEL_PORT,
  type Requirements,
  type SandboxAccess,
  type SandboxRequirement,
  type SandboxSettings,
  SandboxSource,
} from "./sandboxes.ts";
export { untilAborted } from "./reward.ts";
export type { Judge, JudgeAccess, JudgeOptions, RubricQuestion } from "./judge.ts";
export type { ReferenceQuestion } from "./judge-reference.ts";
export type { RubricCriterion } from "./judge-rubric.ts";
export { type Limits, RolloutStop } from "./limits.ts";
export { checkSandboxes, daemonSettings, sandboxSource } from "./sandbox-config.ts";
export { reward } from "./reward.ts";
export type {
  Reward,
  RewardContext,
  RewardFunction,
  RewardMap,
  RewardOptions,
  RewardValue,
  WeightedScore,
} from "./reward.ts";
export { groupReward, groupScoresSchema, withGroupScores } from "./group-reward.ts";
export type { GroupReward, GroupRewardContext, GroupRewardFunction, GroupScores, TraceScores } from "./group-reward.ts";
export { RecordedTrace } from "./recorded-trace.ts";
export { singleTurn } from "./single-turn.ts";
export { multiTurn, type MultiTurnOptions, type Response } from "./multi-turn.ts";
export { type ContextEdit, pruning, summarizing, type SummarizingOptions } from "./context-editing.ts";
export { userModel, type UserModelOptions } from "./user-model.ts";
export { tool, toolSchemas, type Tool, type ToolContext, type ToolDefinition, type ToolSource } from "./tool.ts";
export { mcpTools, type McpAddress, type McpOptions, type McpProgram } from "./mcp-tools.ts";
export { toolUse, type ToolUseOptions } from "./tool-use.ts";
export { scoreGroup, type ScoredRollout } from "./score-group.ts";
export { endless, occurrences, taskHash, TaskReader } from "./tasks.ts";
export type { EndlessTasks, Task, TaskPage, TaskRows, TaskSource } from "./tasks.ts";
export { fairTurn } from "./fair-turn.ts";
export { LinkedAbort } from "./linked-abort.ts";
export { createRng, type Rng } from "./rng.ts";
export { seed, turnSeed } from "./seed.ts";
export type { Message, Prompt, ToolCall } from "./message.ts";
export type { PolicyClient, PolicyCompletion, PolicyRequest, Sampling } from "./policy-client.ts";
export type { PolicyRenderer, PolicyTokenizer } from "./tokenizer.ts";
export type { Reply, ReplyClient, ReplyRequest } from "./reply-client.ts";
export { agent, type AgentProgramOptions } from "./agent.ts";
export { InterceptionServer, type Interception, type InterceptionOptions } from "./interception/server.ts";
export type { InterceptionSession, SessionParts } from "./interception/session.ts";
export { endpointConfig, type EndpointConfig } from "./endpoint/endpoint-config.ts";
export { openEndpoint, type Endpoint, type EndpointOptions } from "./endpoint/endpoint.ts";
export { TraceGraph, truncateTurn } from "./trace.ts";
export type { PreparedTurn, Trace, TraceNode, TraceSample, Turn } from "./trace.ts";

export {
  environmentReference,
  isBuiltin,
  loadEnvironment,
  locateEnvironment,
  type EnvironmentOrigin,
  type EnvironmentReference,
  type LocatedEnvironment,
} from "./load-environment.ts";
export {
  ENVIRONMENT_KEYWORD,
  environmentPackages,
  packageIn,
  parsePackageId,
  type EnvironmentPackage,
} from "./environment-package.ts";
export { placedRows, rows, sourceFiles, type DataSource, type PlacedRow, type RowsOptions } from "./data/rows.ts";
export type { DatasetReference } from "./data/dataset.ts";
export { ofSplit, type Use } from "./builtin/split.ts";
export { BUILTIN } from "./builtin/index.ts";
export {
  validateEnvironment,
  type ValidationCheck,
  type ValidateOptions,
  type ValidationFailure,
  type ValidationReport,
} from "./validate-environment.ts";
export { countTasks, type TaskCount } from "./count-tasks.ts";
export type {
  ConfiguredEnvironment,
  Conversations,
  EndpointRolloutRequest,
  RolloutOrder,
  RolloutRequest,
  Score,
  ScoredReply,
} from "./configured-environment.ts";
export { episodeSchema, ERROR_CLASSES, isRetryable, rewardOf, toEpisodeError } from "./episode.ts";
export type { Episode, EpisodeError, EpisodeErrorClass, EpisodeTrace } from "./episode.ts";
export {
  decodeEpisode,
  decodeEpisodeFrame,
  encodeEpisode,
  encodeTraceColumns,
  EPISODE_CONTENT_TYPE,
  type EpisodeFrame,
  type ReceivedEpisode,
} from "./episode-frame.ts";
export { type PartialRollout, partialOf } from "./partial-rollout.ts";
export { UNSAMPLED_VERSION, versionRange, type TraceColumns } from "./trace-columns.ts";
export { startEnvWorker, type EnvWorker } from "./worker/server.ts";
export { readEnvWorkerConfig, type EnvWorkerConfig } from "./worker/config.ts";
export { failedEpisode, runRequestSchema, type RunRequest, type ScoreGroupRequest } from "./worker/protocol.ts";
