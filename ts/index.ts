/**
 * prl: reinforcement-learning post-training for language models.
 *
 * `rl`, `sft` and `evaluate` do the same as the commands `prl rl`, `sft` and `eval`; `loadConfig` reads their configs. The parts below have
 * their own entry points: `prl-lm/engine`, `prl-lm/tokenizer`, `prl-lm/algorithms`, `prl-lm/packing`, `prl-lm/weights`,
 * `prl-lm/environments`.
 */
export { rl, sft } from "./launcher/index.ts";
export { evaluate, type EvalSummary, type EvaluateRunOptions } from "./launcher/evaluations.ts";
export type { EvaluationSummary, Run, RunOptions, RunSummary } from "./launcher/index.ts";
export { loadConfig } from "./config/index.ts";
export type {
  ConfigKind,
  ConfigOf,
  ConfigSource,
  EvalConfig,
  KeyPath,
  LoadedConfig,
  LoadOptions,
  Origin,
  Override,
  Overrides,
  Provenance,
  RlConfig,
  SftConfig,
} from "./config/index.ts";
export { loadEnvironment } from "./environments/index.ts";
export { ERROR_CODES, PrlError } from "./errors.ts";
export type { ErrorCode, ErrorDescription } from "./errors.ts";
export type { EvaluationProgress, EvaluationReport as EvalReport } from "./evals/index.ts";
export type { EvaluationReport, RlStep, RunEvent, RunLoad, RunPhase, SftStep } from "./monitors/index.ts";
