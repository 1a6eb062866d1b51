/** Checks what the backend of the inference servers needs of the machine before a run has a directory. */
import { placeOf, type Provenance, reservedOnProcessors, type RlConfig } from "../../config/index.ts";
import { PrlError } from "../../errors.ts";
import { gpusOf, isCpuVllm, newerVllmNote, VLLM_KEY, visibleGpus } from "../../inference/internal.ts";
import { apiKeyFrom } from "../../inference-client/index.ts";
import { findInterpreter, probe } from "../../python/index.ts";

type Inference = RlConfig["inference"];

export interface CheckedInference {
  /** The block with the interpreter that the servers will use, so that a process of the run looks for none. */
  inference: Inference;
  /** The servers compute on GPUs, so that they need no share of the cores. */
  onGpus: boolean;
  /** About a vLLM that is newer than the client; null for none. */
  warning: string | null;
}

/**
 * @throws PrlError `PRL_PYTHON_MISSING` with the place of the key that asks for vLLM and the command that sets it up; `PRL_CONFIG_INVALID`
 *   for more GPUs than there are, for threads of a vLLM that computes on GPUs, and for an argument that the run sets; `PRL_INFERENCE_AUTH` for a key whose variable is not set
 */
export async function checkInferenceBackend(
  { inference, orchestrator }: RlConfig,
  provenance: Provenance | undefined,
): Promise<CheckedInference> {
  apiKeyFrom(orchestrator.client.api_key_var, VLLM_KEY);
  if (inference.backend === "engine") return { inference, onGpus: false, warning: null };
  const python = await interpreterOf(inference, provenance);
  const { vllm = null } = (await probe("vllm", python)).packages;
  const onGpus = !isCpuVllm(vllm ?? "");
  if (onGpus && inference.threads !== null) {
    const place = placeOf(["inference", "threads"], provenance);
    throw new PrlError(
      "PRL_CONFIG_INVALID",
      `${place}: vLLM ${vllm} computes on GPUs and reads no threads: leave them out`,
    );
  }
  if (onGpus) gpusOf(0, inference, await visibleGpus(process.env));
  else refuseReserved(inference, provenance);
  const note = newerVllmNote(vllm ?? "");
  const warning = note === null ? null : `${placeOf(["inference", "backend"], provenance)}: ${note}`;
  return { inference: { ...inference, python }, onGpus, warning };
}

/** The user's arguments come last on the command line of vLLM and would win over those of the run. */
function refuseReserved({ vllm }: Inference, provenance: Provenance | undefined): void {
  for (const [index, argument] of vllm.extra_args.entries()) {
    const advice = reservedOnProcessors(argument);
    if (advice === null) continue;
    const place = placeOf(["inference", "vllm", "extra_args", index], provenance);
    throw new PrlError("PRL_CONFIG_INVALID", `${place}: ${argument}: ${advice}`);
  }
}

async function interpreterOf({ python }: Inference, provenance: Provenance | undefined): Promise<string> {
  try {
    return await findInterpreter("vllm", python, "inference.python");
  } catch (error) {
    if (!(error instanceof PrlError) || error.code !== "PRL_PYTHON_MISSING") throw error;
    const place = placeOf(["inference", "backend"], provenance);
    throw new PrlError(error.code, `${place}: ${error.message}`, { cause: error.cause });
  }
}
