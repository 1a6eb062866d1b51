/** Checks `[deployment]`, whose numbers of GPUs no backend reads yet. */
import type { RlConfig } from "../../config/index.ts";

/** A note about requested GPUs, which are not used; null when none are requested. */
export function deploymentNote({
  deployment,
  inference,
}: {
  deployment: RlConfig["deployment"];
  inference: Pick<RlConfig["inference"], "backend">;
}): string | null {
  const { num_train_gpus: train, num_infer_gpus: infer } = deployment;
  const asked = [
    ...((train ?? 0) > 0 ? [`${train} for the trainer`] : []),
    ...((infer ?? 0) > 0 ? [`${infer} for inference`] : []),
  ];
  if (asked.length === 0) return null;
  const start = `[deployment] asks for GPUs (${asked.join(", ")})`;
  if (inference.backend === "engine") return `${start}: the embedded engine computes on the CPU and uses none of them`;
  return `${start}, which is not read: inference.replicas and the sizes of inference.vllm say how many vLLM takes`;
}
