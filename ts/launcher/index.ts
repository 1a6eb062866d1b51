/** The launcher: run directories, caches, child processes and their supervision, whole runs. */
export type { CodeAnswer, CodeQuestion } from "./checks/user-code.ts";
export { ensureBaseModel } from "./models/base-model.ts";
export { prepareRl, prepareSft } from "./run/prepare.ts";
export { rl, sft } from "./run/run-handle.ts";
export type { Run, RunOptions } from "./run/run-handle.ts";
export { runReport } from "./run/report.ts";
export type { ResumeRequest } from "./run/resume-run.ts";
export type { EvaluationSummary, RunSummary } from "./run/summary.ts";
export { prepareStandalone, type StandalonePart } from "./standalone/prepare-standalone.ts";
export { throughItsEnd } from "./standalone/run-standalone.ts";
export { cancelRunJob, hasLiveJob, readRunJob, type JobEnd, type RunJob } from "./slurm/run-job.ts";
export { appliedRun, type AppliedRun, deployRun } from "./kubernetes/deploy-run.ts";
export { deleteRun, followRunLogs, runObjects } from "./kubernetes/run-objects.ts";
export { submitRun, type SubmittedRun } from "./slurm/submit-run.ts";
export { askHost } from "./ssh/ask-host.ts";
export { type Frame, PROTOCOL, type SurveyOrder, TIME } from "./ssh/host-protocol.ts";
export { launchSsh } from "./ssh/launch-ssh.ts";
export { serveOrder } from "./ssh/on-host/serve-order.ts";
