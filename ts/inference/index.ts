/** The inference server over the embedded engine, and the client that controls it. */

export { InferenceAdmin } from "./clients/embedded.ts";
export { VllmAdmin } from "./clients/vllm.ts";
export type { AdminDeadlines, ServedModel } from "./clients/control-calls.ts";
export type { EngineHealth, WeightVersion } from "./clients/embedded.ts";
export type { EngineLoad } from "./engine-load.ts";
export { hostProblem } from "./control-guard.ts";
export { createInferenceServer } from "./server.ts";
export type { InferenceServer, InferenceServerOptions } from "./server.ts";
export {
  checkCapacity,
  engineOptions,
  parseInferenceProcessConfig,
  readInferenceProcessConfig,
} from "./process-config.ts";
export type { InferenceProcessConfig } from "./process-config.ts";
