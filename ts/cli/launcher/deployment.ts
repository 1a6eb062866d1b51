/** What becomes of `[deployment]`: it binds engines that compute on GPUs, and there is none among them yet. */
import type { RlConfig } from "../../config/index.ts";

/** What to tell of GPUs that were asked for and are not used; null when none were. */
export function deploymentNote({ deployment }: Pick<RlConfig, "deployment">): string | null {
  const { num_train_gpus: trainer, num_infer_gpus: inference } = deployment;
  const asked = [
    ...((trainer ?? 0) > 0 ? [`${trainer} for the trainer`] : []),
    ...((inference ?? 0) > 0 ? [`${inference} for inference`] : []),
  ];
  if (asked.length === 0) return null;
  return `[deployment] asks for GPUs (${asked.join(", ")}): the embedded engine computes on the CPU and uses none of them`;
}
