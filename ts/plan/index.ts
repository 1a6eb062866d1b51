/** Plans a run of a config: memory, times, traffic, processes. */
export type { PlanOptions } from "./assumptions.ts";
export { type Device, DEVICES } from "../models/index.ts";
export type { InferencePlan } from "./inference-plan.ts";
export { makePlan, type ModelPlan, type Plan, type PlanSurroundings, type ProcessPlan } from "./plan.ts";
export { type RunCosts, runCosts, type TrainedTokens } from "./run-costs.ts";
export type { BatchPlan, TimePlan } from "./step-plan.ts";
export { servingProblem, type SharingProblem, sharingProblem } from "./shared-layers.ts";
export type { TrainerPlan } from "./trainer-plan.ts";
export type { VersionPlan } from "./version-plan.ts";
export { type GpuShare, sharesGpu, shareText, startShare } from "./gpu-share.ts";
