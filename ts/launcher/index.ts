/** The launcher: run directories, caches, child processes and their supervision, whole runs. */
export { ensureBaseModel } from "./models/base-model.ts";
export type {
  EnvWorkerChildConfig,
  InferenceChildConfig,
  OrchestratorChildConfig,
  SandboxdChildConfig,
  SftChildConfig,
  TrainerChildConfig,
} from "./processes/child-configs.ts";
export { evaluate, type EvalSummary, type EvaluateRunOptions } from "./run/evaluate.ts";
export { prepareRl, prepareSft } from "./run/prepare.ts";
export { throughItsEnd } from "./standalone/run-standalone.ts";
export { rl, sft } from "./run/run-handle.ts";
export type { Run, RunOptions } from "./run/run-handle.ts";
export type { EvaluationSummary, RunSummary } from "./run/summary.ts";
export { checkCode } from "./checks/code-check.ts";
export { type CodeAnswer, type CodeQuestion } from "./checks/user-code.ts";
export { type BaseModel } from "./models/base-model.ts";
export { rlChildConfigs, writeConfig } from "./processes/child-configs.ts";
export { withThreads } from "./processes/cores.ts";
export { type RunBase } from "./processes/rl-processes.ts";
export { ensureWarmStart } from "./processes/warm-start.ts";
export { warmStartConfig } from "./run/prepare.ts";
export { runReport } from "./run/report.ts";
export { type ResumeRequest, checkpointRoot } from "./run/resume-run.ts";
export { SUMMARY_FILE } from "./run/run-session.ts";
export { type StandaloneResume, type ResumablePart, resumeStandalone } from "./standalone/resume-standalone.ts";
