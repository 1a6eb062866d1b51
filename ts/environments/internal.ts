/** Exports of `ts/environments` for other parts of prl. They are not public. */
export { isEnvironment } from "./model/environment.ts";
export {
  environmentReference,
  isBuiltin,
  locateEnvironment,
  type EnvironmentOrigin,
  type LocatedEnvironment,
} from "./model/load-environment.ts";
export {
  ENVIRONMENT_API,
  ENVIRONMENT_KEYWORD,
  environmentPackages,
  type EnvironmentPackage,
  manifestOf,
  packageIn,
  packageSeenFrom,
  parsePackageId,
  sourceOf,
} from "./packages/environment-package.ts";
export { contentDigest } from "./packages/content-digest.ts";
export {
  describeInstalled,
  LOCK_FILE,
  type Locked,
  lockDifference,
  lockDocument,
  lockedIn,
  projectOf,
  readLock,
  writeLock,
} from "./packages/environments-lock.ts";
export { type Hub, type HubOptions, type Publishers, readHub, startHub } from "./packages/hub/server.ts";
export { writeSite } from "./packages/hub/page/site.ts";
export { conversationsHtml, type ShownConversation } from "./packages/hub/page/conversation.ts";
export { type FoundPackage, searchHub } from "./packages/hub/search.ts";
export { logIn } from "./packages/hub/log-in.ts";
export { needsLines, packageNeeds, type PackageNeeds } from "./packages/needs.ts";
export { npm, npmJson, type NpmOptions, registryArguments } from "./packages/npm.ts";
export { npmrcPath, setNpmrc, tokenFor, tokenKey } from "./packages/npmrc.ts";
export { checkPackage, PACKAGE_CHECKS, packageProblem, publishProblem } from "./packages/package-checks.ts";
export {
  LONGEST_REPORT_TEXT,
  MOST_REPORTED,
  type PackageReport,
  packageReport,
  reportCounts,
} from "./packages/package-report.ts";
export { GATE_CHECKS, runGate } from "./gate/gate.ts";
export type { Attempt, CheckRow } from "./gate/gate-report.ts";
export { validationRows } from "./gate/validation-rows.ts";
export { inspectEnvironment } from "./validation/validate-environment.ts";
export { CHECKS as VALIDATION_CHECKS } from "./validation/report.ts";
export { type StagedPackage, withStaged } from "./packages/staging.ts";
export {
  checkCode,
  keyOf,
  type CodeCheck,
  type EnvironmentBlock,
  type EnvironmentFacts,
} from "./validation/check-code.ts";
export { type AnyBenchmark, type Mode, protocolOf } from "./benchmarks/benchmark.ts";
export { benchmarkId, isBenchmarkId } from "./benchmarks/benchmark-id.ts";
export { BENCHMARKS, findBenchmark, findSuite, SUITES } from "./benchmarks/index.ts";
export { BUILTIN } from "./builtin/index.ts";
export { CATALOGUE_CATEGORIES, catalogueRows } from "./catalogue/index.ts";
export { drawInstance } from "./catalogue/drawn.ts";
export { idOf, type PlacedRow } from "./catalogue/row-environment.ts";
export { type Category, LEVELS } from "./catalogue/row.ts";
export { countTasks, type TaskCount } from "./model/count-tasks.ts";
export { occurrences, TaskReader } from "./model/tasks.ts";
export { checkSandboxes, daemonSettings, sandboxSource } from "./sandboxes/sandbox-config.ts";
export { groupScoresSchema, withGroupScores } from "./model/group-reward.ts";
export { episodeSchema, ERROR_CLASSES, isRetryable, toEpisodeError } from "./episode/episode.ts";
export {
  decodeEpisode,
  decodeEpisodeFrame,
  encodeEpisode,
  encodeTraceColumns,
  EPISODE_CONTENT_TYPE,
  type ReceivedEpisode,
} from "./episode/episode-frame.ts";
export { partialOf } from "./episode/partial-rollout.ts";
export { TraceGraph, truncateTurn, type PreparedTurn, type TraceSample, type Turn } from "./episode/trace.ts";
export { UNSAMPLED_VERSION, versionRange } from "./episode/trace-columns.ts";
export { startEnvWorker, type EnvWorker } from "./worker/server.ts";
export { readEnvWorkerConfig, type EnvWorkerConfig } from "./worker/config.ts";
export { failedEpisode, runRequestSchema, type RunRequest, type ScoreGroupRequest } from "./worker/protocol.ts";
