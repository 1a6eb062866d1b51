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
} from "./flags.ts";
export { configJsonSchema } from "./json-schema.ts";
export { formatFlag, formatPath, type KeyPath } from "./key-path.ts";
export { describeKeys, describeSchema, type KeyDescription } from "./key-docs.ts";
export { loadConfig, type LoadedConfig, type LoadOptions, type Overrides } from "./load.ts";
export { isHost } from "./host.ts";
export { cacheDir } from "./paths.ts";
export { type AlgoBlock, needsGroups, type TeacherBlock } from "./schema/algo.ts";
export type { CurriculumBlock } from "./schema/curriculum.ts";
export { filterName, type FilterBlock } from "./schema/filters.ts";
export { sandboxBlock, type SandboxConfig } from "./schema/sandbox.ts";
export type { MonitorsBlock } from "./schema/monitors.ts";
export { evaluationRun } from "./schema/sft-evaluation.ts";
export { demonstrators } from "./schema/sft-data.ts";
export { lossOptions, referenceOf, START_REFERENCE } from "./schema/loss.ts";
export { type FakeData, optimOptions } from "./schema/trainer.ts";
export { rolloutTransportBlock, weightBroadcastBlock } from "./schema/transports.ts";
export type { ConfigKind, ConfigOf, EvalConfig, RlConfig, SftConfig } from "./schema/index.ts";
export { endpointsFileSchema, type EndpointEntry } from "./schema/eval.ts";
export { readConfigFile } from "./read-file.ts";
export { checkSettings } from "./problems.ts";
export { nearest } from "./suggest.ts";
export { importUserModule } from "./import-user-module.ts";
export { tomlWithOrigins } from "./write-toml.ts";
export { isDataPath } from "./layer.ts";
