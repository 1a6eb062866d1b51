/** Works out, before a run has a directory, how trainer and vLLM share one GPU, and refuses what does not fit. */
import { execFile } from "node:child_process";

import { placeOf, type Provenance, type RlConfig } from "../../config/index.ts";
import { messageOf, PrlError } from "../../errors.ts";
import { sharesGpu, shareText, startShare } from "../../plan/index.ts";

const ASK_MS = 20_000;
const MIB = 2 ** 20;

export interface SharedGpu {
  /** The block with the share of vLLM. */
  inference: RlConfig["inference"];
  /** Names the processes that share the GPU, in words; null: none do. */
  note: string | null;
}

/**
 * @throws PrlError `PRL_PLAN_UNFIT` when the parts do not fit the GPU; `PRL_CONFIG_INVALID` when its memory is not known, and for a vLLM on processors,
 *   which cannot sleep
 */
export async function checkGpuShare(
  config: RlConfig,
  {
    onGpus,
    provenance,
    signal,
  }: { onGpus: boolean; provenance: Provenance | undefined; signal?: AbortSignal | undefined },
): Promise<SharedGpu> {
  const { inference, deployment } = config;
  if (deployment.type !== "colocated" || inference.backend !== "vllm") return { inference, note: null };
  if (!onGpus) {
    const place = placeOf(["deployment", "type"], provenance);
    const message = 'a vLLM for processors cannot sleep: set inference.backend = "engine", or install vLLM for GPUs';
    throw new PrlError("PRL_CONFIG_INVALID", `${place}: ${message}`);
  }
  // An engine that trains leaves the GPU to vLLM.
  if (!sharesGpu(config)) return { inference, note: null };
  const memory = deployment.gpu_memory_bytes ?? (await firstGpuBytes(provenance));
  const share = await startShare(config, memory, signal === undefined ? {} : { signal });
  if (share === null) return { inference, note: null };
  const vllm = {
    ...inference.vllm,
    gpu_memory_utilization: inference.kv_cache_bytes === null ? share.utilization : null,
  };
  return { inference: { ...inference, vllm }, note: shareText(share) };
}

/** Memory of the first GPU that the run may use, which is the trainer's. */
async function firstGpuBytes(provenance: Provenance | undefined): Promise<number> {
  const visible = process.env["CUDA_VISIBLE_DEVICES"]?.split(",")[0]?.trim() ?? "0";
  const args = [`--id=${visible === "" ? "0" : visible}`, "--query-gpu=memory.total", "--format=csv,noheader,nounits"];
  const text = await new Promise<string>((resolve, reject) => {
    execFile("nvidia-smi", args, { timeout: ASK_MS, killSignal: "SIGKILL" }, (cause, stdout) => {
      if (cause === null) resolve(stdout);
      else reject(unknownMemory(provenance, messageOf(cause)));
    });
  });
  const mebibytes = Number(text.trim());
  if (Number.isFinite(mebibytes) && mebibytes > 0) return mebibytes * MIB;
  throw unknownMemory(provenance, `nvidia-smi says ${JSON.stringify(text.trim())}`);
}

function unknownMemory(provenance: Provenance | undefined, why: string): PrlError {
  const place = placeOf(["deployment", "gpu_memory_bytes"], provenance);
  const message = `is unset, and nvidia-smi does not say the memory of the GPU (${why}): set it`;
  return new PrlError("PRL_CONFIG_INVALID", `${place}: ${message}`);
}
