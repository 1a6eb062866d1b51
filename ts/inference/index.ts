/** The inference server over the embedded engine. */
export { MOST_ADAPTERS } from "./adapters.ts";
export { hostProblem } from "./control-guard.ts";
export { samplingDefaults } from "./generation-config.ts";
export { isWide } from "../loopback.ts";
export { createInferenceServer } from "./server.ts";
export type { InferenceServer, InferenceServerOptions } from "./server.ts";
export { engineOptions, parseInferenceProcessConfig, readInferenceProcessConfig } from "./process-config.ts";
export type { InferenceProcessConfig } from "./process-config.ts";
export type { ServeVllmOptions, VllmServer } from "./vllm/serve-vllm.ts";

/** Loads what starts and asks vLLM, which an embedded engine does without. */
export async function loadVllm(): Promise<typeof import("./vllm/serve-vllm.ts")> {
  return import("./vllm/serve-vllm.ts");
}
