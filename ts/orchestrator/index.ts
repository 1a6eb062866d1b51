/** Scheduling of rollouts, advantages, batches, staleness, evaluations. */
export { connectEnvWorkers, type EnvWorkerConnection, type EnvWorkers } from "./env-workers/env-workers.ts";
export { remoteEnvWorkers } from "./env-workers/remote-env-workers.ts";
export { followEnvWorkers, readyEnvWorkers } from "./env-workers/env-worker-directory.ts";
export { EngineDirectory } from "./engines/engine-directory.ts";
export { EngineFleet, type EngineFleetOptions } from "./engines/engine-fleet.ts";
export type { PlacedEngine } from "./engines/engine-member.ts";
export type { Engine } from "./engines/engines.ts";
export { runEvaluations } from "./evaluation/run-evaluations.ts";
export { type OrchestratorJob } from "./orchestrator-parts.ts";
export { runOrchestrator } from "./run-orchestrator.ts";
export { readOrchestratorState } from "./checkpoint/resume.ts";
export { type OrchestratorSnapshot, readSnapshot } from "./checkpoint/snapshot.ts";
export { type LoggedLines, NO_LINES, readLoggedLines } from "./metrics/logged-lines.ts";
