/** Config: schemas, loading, flags, user modules, environment variables, paths. */
export type { Origin, Provenance } from "./config-tree.ts";
export { describeOrigin, originIn, placeOf } from "./config-tree.ts";
export { checkEnvironmentVariables, ENVIRONMENT_VARIABLES, type Environment } from "./environment-variables.ts";
export {
  parseConfigArguments,
  type ConfigArguments,
  type ConfigSource,
  type OptionSpec,
  type Override,
} from "./reading/flags.ts";
export { configJsonSchema } from "./json-schema.ts";
export { formatFlag, formatPath, type KeyPath } from "./keys/key-path.ts";
export { describeKeys, describeSchema, type KeyDescription } from "./keys/key-docs.ts";
export { loadConfig, type LoadedConfig, type LoadOptions, type Overrides } from "./load.ts";
export { isHost } from "./host.ts";
export { cacheDir } from "../files/cache-dir.ts";
export { algoBlock, type AlgoBlock, needsGroups, type TeacherBlock } from "./schema/orchestrator/algo.ts";
export { allSources, type WorkerSource } from "./schema/orchestrator/all-sources.ts";
export { curriculumBlock, type CurriculumBlock } from "./schema/orchestrator/curriculum.ts";
export {
  allRolloutsElsewhere,
  ownEnvWorkers,
  type RemoteEnvWorkersBlock,
} from "./schema/orchestrator/remote-env-workers.ts";
export { filterName, type FilterBlock } from "./schema/orchestrator/filters.ts";
export { sandboxBlock, type SandboxConfig } from "./schema/sandbox.ts";
export type { MonitorsBlock } from "./schema/monitors.ts";
export { evaluationRun } from "./schema/sft/sft-evaluation.ts";
export { demonstrators } from "./schema/sft/sft-data.ts";
export { lossOptions, referenceOf, START_REFERENCE } from "./schema/trainer/loss.ts";
export { batchRanks, binRanks } from "./schema/trainer/backend.ts";
export { loadedRank, mergesAdapter } from "./schema/inference/backend.ts";
export { reservedOnProcessors } from "./schema/inference/reserved-arguments.ts";
export { type FakeData, optimOptions } from "./schema/trainer/trainer.ts";
export type { LoraBlock } from "./schema/trainer/lora.ts";
export { rolloutTransportBlock, weightBroadcastBlock } from "./schema/transports.ts";
export {
  type ConfigKind,
  type ConfigOf,
  type EvalConfig,
  type RlConfig,
  type SftConfig,
  withDefaults,
} from "./schema/index.ts";
export { endpointsFileSchema, type EndpointEntry } from "./schema/eval.ts";
export { parseProcessConfig, readChildConfig, readProcessConfig } from "./process-config.ts";
export type { ChildConfigs } from "./schema/process-configs.ts";
export { inferenceBlock } from "./schema/inference/inference.ts";
export { readConfigFile } from "./reading/read-file.ts";
export { checkSettings } from "./problems.ts";
export { nearest } from "./keys/suggest.ts";
export { importUserModule } from "./import-user-module.ts";
export { tomlWithOrigins } from "./write-toml.ts";
export { isDataPath } from "./reading/layer.ts";
export { readHostsFile, type ReadHosts } from "./reading/hosts-file.ts";
export { type Host, HOST_ROLES, type HostRole, type HostsFile, hostsFileSchema } from "./schema/clusters/hosts.ts";
