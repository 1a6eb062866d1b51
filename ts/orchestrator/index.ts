/** Scheduling of rollouts, advantages, batches, staleness, evaluations. */
export { connectEnvWorkers, type EnvWorkerConnection, type EnvWorkers } from "./env-workers.ts";
export { followEnvWorkers, readyEnvWorkers } from "./env-worker-directory.ts";
export { EngineDirectory } from "./engine-directory.ts";
export { EngineFleet, type EngineFleetOptions } from "./engine-fleet.ts";
export type { PlacedEngine } from "./engine-member.ts";
export type { Engine } from "./engines.ts";
export { runEvaluations } from "./run-evaluations.ts";
export { runOrchestrator, type OrchestratorJob } from "./run-orchestrator.ts";
export { meanInterval, passAtK, passHatK, type MeanInterval } from "./algorithms/index.ts";
export { passCurves, type PassCurve, type PassRate } from "./algorithms/statistics/pass-curves.ts";
export { readOrchestratorState } from "./resume.ts";
