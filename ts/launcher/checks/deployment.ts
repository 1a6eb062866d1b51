/** Checks `[deployment]`, which is for engines that compute on GPUs; there is no such engine yet. */
import type { RlConfig } from "../../config/index.ts";

/** A note about requested GPUs, which are not used; null when none are requested. */
export function deploymentNote({ deployment }: Pick<RlConfig, "deployment">): string | null {
  const { num_train_gpus: trainer, num_infer_gpus: inference } = deployment;
  const asked = [
    ...((trainer ?? 0) > 0 ? [`${trainer} for the trainer`] : []),
    ...((inference ?? 0) > 0 ? [`${inference} for inference`] : []),
  ];
  if (asked.length === 0) return null;
  return `[deployment] asks for GPUs (${asked.join(", ")}): the embedded engine computes on the CPU and uses none of them`;
}
