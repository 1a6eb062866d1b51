/** The launcher: run directories, caches, child processes and their supervision, whole runs. */
export { ensureBaseModel } from "./base-model.ts";
export type {
  EnvWorkerChildConfig,
  InferenceChildConfig,
  OrchestratorChildConfig,
  SandboxdChildConfig,
  SftChildConfig,
  TrainerChildConfig,
} from "./child-configs.ts";
export { evaluate, type EvalSummary, type EvaluateRunOptions } from "./evaluate.ts";
export { prepareRl, prepareSft } from "./prepare.ts";
export { throughItsEnd } from "./run-by-hand.ts";
export { rl, sft } from "./run-handle.ts";
export type { Run, RunOptions } from "./run-handle.ts";
export { processStart, releaseLock, takeLock } from "./run-lock.ts";
export { selfCommand } from "./self-command.ts";
export { progressView, resumeRequest, RUN_OPTIONS, showRun } from "./show-run.ts";
export type { EvaluationSummary, RunSummary } from "./summary.ts";
