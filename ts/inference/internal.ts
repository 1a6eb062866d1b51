/** What processes need of inference that serve no model themselves. Nothing of it is public. */
export { hostProblem } from "./control-guard.ts";
export { isWide } from "../loopback.ts";
export { checkCapacity } from "./process-config.ts";
export { gpusOf, visibleGpus } from "./vllm/gpus.ts";
export { VLLM_KEY } from "./vllm/vllm-key.ts";
export { isCpuVllm, newerVllmNote } from "./vllm/vllm-version.ts";
