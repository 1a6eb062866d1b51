/**
 * prl: reinforcement-learning post-training for language models.
 *
 * `rl` and `sft` run what the commands of the same names run; `loadConfig` reads their configs. The parts below have entry points of
 * their own: `prl/engine`, `prl/tokenizer`, `prl/algorithms`, `prl/packing`, `prl/weights`, `prl/environments`.
 */
export { rl, sft } from "./cli/launcher/index.ts";
export type { EvaluationSummary, Run, RunOptions, RunSummary } from "./cli/launcher/index.ts";
export { loadConfig } from "./config/index.ts";
export type {
  ConfigKind,
  ConfigOf,
  LoadedConfig,
  LoadOptions,
  Overrides,
  RlConfig,
  SftConfig,
} from "./config/index.ts";
export { loadEnvironment } from "./environments/index.ts";
export { ERROR_CODES, PrlError } from "./errors.ts";
export type { ErrorCode } from "./errors.ts";
export type { EvaluationReport, RlStep, RunEvent, RunPhase, SftStep } from "./monitors/index.ts";
