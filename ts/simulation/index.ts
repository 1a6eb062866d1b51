/** Simulated runs of the orchestrator: where a config saturates. */
export { type Curve, simulate, type SimulatedPoint, type SimulationOptions } from "./curve.ts";
export { type MeasuredCosts, parseMeasuredCosts } from "./measured-costs.ts";
export type { RunMeasures } from "./run-measures.ts";
export type { Limit, Loads } from "./saturation.ts";
