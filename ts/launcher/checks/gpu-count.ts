/** Checks that ranks of a torch trainer and vLLM servers find enough GPUs on this machine, before a run has a directory. */
import { placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { probe } from "../../python/index.ts";

interface Found {
  /** The servers compute on GPUs. */
  readonly onGpus: boolean;
  /** GPUs that this process may use; null where the system does not list them. */
  readonly visible: readonly string[] | null;
}

/**
 * Parts that take turns on one GPU need no check here. A torch without support of CUDA computes on processors, whatever GPUs there are.
 *
 * @throws PrlError `PRL_CONFIG_INVALID` with the numbers of GPUs that are there and that each part needs
 */
export async function checkGpuCount(
  { trainer, inference, deployment }: RlConfig,
  { onGpus, visible }: Found,
  provenance: Provenance | undefined,
): Promise<void> {
  const { backend, python, ranks } = trainer;
  if (backend === "engine" || python === null || deployment.type === "colocated") return;
  const { tensor_parallel_size: tensor, data_parallel_size: data } = inference.vllm;
  const served = onGpus ? inference.replicas * tensor * data : 0;
  const there = visible?.length ?? 0;
  if (there === 0 || ranks + served <= there) return;
  const { torch = null } = (await probe("torch", python)).packages;
  if (torch?.endsWith("+cpu") === true) return;
  const servers = served === 0 ? "" : ` and the inference servers ${served}, ${ranks + served} together`;
  const advice =
    served === 0
      ? "use fewer ranks"
      : 'use fewer ranks, replicas or a smaller tensor_parallel_size, or let them take turns on one GPU (deployment.type = "colocated")';
  throw new PrlError(
    "PRL_CONFIG_INVALID",
    `${placeOf(["trainer", "ranks"], provenance)}: the trainer needs ${ranks} GPUs${servers}, and ${there} can be used (CUDA_VISIBLE_DEVICES): ${advice}`,
  );
}
