/** The parts of the orchestrator, for a simulation that drives them in virtual time. */
export type { EngineAdmin } from "./engines/engines.ts";
export { routedWorkers } from "./engines/routed-workers.ts";
export { lostRollout } from "./env-workers/env-workers.ts";
export { connectParts, type OrchestratorParts } from "./orchestrator-parts.ts";
export type { GroupState } from "./scheduling/lifecycle.ts";
export { GpuTurns } from "./engines/gpu-turns.ts";
export { putToSleep } from "./engines/engines.ts";
