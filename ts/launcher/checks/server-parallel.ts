/** Checks that the GPUs of a vLLM server can share the model, before a run has a directory. */
import { placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { describeModel } from "../../models/index.ts";
import { servingProblem } from "../../plan/index.ts";

/** Errors: PRL_CONFIG_INVALID, with the place of the key; those of `describeModel`. */
export async function checkServerParallel(
  { inference, model }: { inference: RlConfig["inference"]; model: string },
  provenance: Provenance | undefined,
): Promise<void> {
  const { backend, vllm } = inference;
  if (backend === "engine" || vllm.tensor_parallel_size === 1) return;
  const { shape } = await describeModel(model);
  const found = servingProblem(shape, vllm.tensor_parallel_size);
  if (found === null) return;
  const place = placeOf(["inference", "vllm", "tensor_parallel_size"], provenance);
  throw new PrlError("PRL_CONFIG_INVALID", `${place}: ${model}: ${found}`);
}
