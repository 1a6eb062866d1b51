/**
 * Which GPUs each vLLM of a run computes on: the last ones of the machine, because the ranks of a trainer take the first ones; the first one where it
 * takes turns with the trainer. GPUs are named as `CUDA_VISIBLE_DEVICES` names them.
 */
import { readdir } from "node:fs/promises";

import { PrlError } from "../../errors.ts";
import { isMissing } from "../../files/file-presence.ts";
import type { InferenceProcessConfig } from "../process-config.ts";

/** The driver has a folder for each GPU here; not on every system. */
const GPUS = "/proc/driver/nvidia/gpus";

/** The GPUs that this process may use; null where the system does not list them. */
export async function visibleGpus(
  env: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[] | null> {
  const named = env["CUDA_VISIBLE_DEVICES"];
  if (named !== undefined) {
    return named
      .split(",")
      .map((name) => name.trim())
      .filter((name) => name !== "");
  }
  try {
    const found = await readdir(GPUS);
    return found.length === 0 ? null : found.map((_, index) => String(index));
  } catch (cause) {
    if (isMissing(cause)) return null;
    throw new PrlError("PRL_IO", `cannot read ${GPUS}`, { cause });
  }
}

/**
 * The GPUs of server `index`; null: vLLM chooses.
 *
 * @throws PrlError `PRL_CONFIG_INVALID` when the servers need more than `visible`
 */
export function gpusOf(
  index: number,
  { replicas, vllm }: Pick<InferenceProcessConfig["inference"], "replicas" | "vllm">,
  visible: readonly string[] | null,
  isShared = false,
): string[] | null {
  const { tensor_parallel_size: tensor, data_parallel_size: data } = vllm;
  const each = tensor * data;
  const needed = replicas * each;
  if (visible === null && replicas === 1) return null;
  const all = visible ?? Array.from({ length: needed }, (_, gpu) => String(gpu));
  if (all.length < needed) {
    const sizes = `replicas ${replicas} × tensor_parallel_size ${tensor} × data_parallel_size ${data}`;
    const message = `inference: ${sizes} needs ${needed} GPUs, and ${all.length} can be used (CUDA_VISIBLE_DEVICES)`;
    throw new PrlError("PRL_CONFIG_INVALID", message);
  }
  if (isShared) return all.slice(0, 1);
  const first = all.length - needed + index * each;
  return all.slice(first, first + each);
}
