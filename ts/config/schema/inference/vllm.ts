/** `[inference.vllm]`: how the run starts `vllm serve`. What the run sets itself is not an option here, and is refused in `extra_args`. */
import { z } from "zod";

import { apiKeyVariable, MOST_PROCESSES, seconds } from "../fields.ts";

export const vllmBlock = z
  .strictObject({
    tensor_parallel_size: z
      .int()
      .positive()
      .max(MOST_PROCESSES)
      .default(1)
      .describe("GPUs that each layer is cut over"),
    data_parallel_size: z
      .int()
      .positive()
      .max(MOST_PROCESSES)
      .default(1)
      .describe("Copies of the model in each server, behind one address"),
    enable_expert_parallel: z
      .boolean()
      .default(false)
      .describe("Place whole experts on GPUs, in place of parts of each"),
    quantization: z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe("Quantization of the weights on loading, by vLLM's name (fp8, ...); unset: none"),
    gpu_memory_utilization: z
      .number()
      .positive()
      .max(1)
      .nullable()
      .default(null)
      .describe("Share of the GPU's memory for weights and KV cache; unset: vLLM's default"),
    enforce_eager: z
      .boolean()
      .nullable()
      .default(null)
      .describe("Do not compile the model; unset: true on a processor, false on a GPU"),
    adapter: z
      .enum(["merged", "loaded"])
      .default("merged")
      .describe(
        "How versions of [model.lora] get there: merged into the whole model, by a trainer that is torch, or as adapters that vLLM loads beside the model",
      ),
    api_key_var: apiKeyVariable.describe(
      "Environment variable with the key that requests for samples have to show; unset: none is wanted",
    ),
    start_timeout_s: seconds()
      .default(600)
      .describe("Longest time until a server answers (seconds); then the run ends"),
    extra_args: z
      .array(z.string().min(1))
      .default([])
      .describe('Further arguments of `vllm serve`, such as ["--kv-cache-dtype", "fp8"]'),
  })
  .prefault({})
  .describe("vllm: the arguments of `vllm serve`");
export type VllmBlock = z.output<typeof vllmBlock>;
