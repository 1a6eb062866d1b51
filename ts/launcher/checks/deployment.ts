/** Checks `[deployment]`, whose numbers of GPUs no backend reads. */
import type { RlConfig } from "../../config/index.ts";

/** A note about requested GPUs, with the keys that are read in their place; null when none are requested. */
export function deploymentNote({
  deployment,
  trainer,
  inference,
}: {
  deployment: Pick<RlConfig["deployment"], "num_train_gpus" | "num_infer_gpus">;
  trainer: Pick<RlConfig["trainer"], "backend">;
  inference: Pick<RlConfig["inference"], "backend">;
}): string | null {
  const train = deployment.num_train_gpus ?? 0;
  const infer = deployment.num_infer_gpus ?? 0;
  const training =
    trainer.backend === "torch" ? "trainer.ranks says how many PyTorch takes" : "the engine trains on the CPU";
  const sampling =
    inference.backend === "vllm"
      ? "inference.replicas and the sizes of inference.vllm say how many vLLM takes"
      : "the engine samples on the CPU";
  const parts = [
    ...(train > 0 ? [{ asked: `${train} for the trainer`, instead: training }] : []),
    ...(infer > 0 ? [{ asked: `${infer} for inference`, instead: sampling }] : []),
  ];
  if (parts.length === 0) return null;
  const asked = parts.map((part) => part.asked).join(", ");
  return `[deployment] asks for GPUs (${asked}), which is not read: ${parts.map(({ instead }) => instead).join(", ")}`;
}
