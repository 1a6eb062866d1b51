/** Keys of `[inference]` that its backend does not read, or cannot do. */
import type { z } from "zod";

import type { Problem } from "../problem.ts";
import type { LoraBlock } from "../trainer/lora.ts";
import type { weightBroadcastBlock } from "../transports.ts";
import { type inferenceBlock, MOST_WAITING } from "./inference.ts";
import { reservedArgument } from "./reserved-arguments.ts";
import { type VllmBlock, vllmBlock } from "./vllm.ts";

type Inference = z.output<typeof inferenceBlock>;

interface Surroundings {
  model: { lora: LoraBlock | null };
  deployment: { sleep_level: number };
  trainer: { backend: "engine" | "torch" };
  weight_broadcast: z.output<typeof weightBroadcastBlock>;
  orchestrator: { client: { base_url: readonly string[] } };
}

const LOOPBACK = "127.0.0.1";
const ADAPTER = ["inference", "vllm", "adapter"];
/** The largest value of its `--max-lora-rank`. */
const MOST_VLLM_RANK = 512;

export function* inferenceProblems(inference: Inference, surroundings: Surroundings): Generator<Problem> {
  if (inference.backend === "engine") yield* engineProblems(inference);
  else yield* vllmProblems(inference, surroundings);
}

function* engineProblems({ python, vllm }: Inference): Generator<Problem> {
  const unread = 'is not read by backend = "engine": set inference.backend = "vllm"';
  if (python !== null) yield { path: ["inference", "python"], message: unread };
  const defaults = vllmBlock.parse({});
  for (const key of Object.keys(defaults) as (keyof VllmBlock)[]) {
    if (JSON.stringify(vllm[key]) === JSON.stringify(defaults[key])) continue;
    yield { path: ["inference", "vllm", key], message: unread };
  }
}

function* vllmProblems(
  { kv_cache_bytes: kvBytes, max_waiting: waiting, server, vllm }: Inference,
  { model, trainer, deployment, weight_broadcast: broadcast, orchestrator }: Surroundings,
): Generator<Problem> {
  if (kvBytes !== null && vllm.gpu_memory_utilization !== null) {
    const message = "says how large the KV cache is, and inference.vllm.gpu_memory_utilization too: give one of them";
    yield { path: ["inference", "kv_cache_bytes"], message };
  }
  if (waiting !== MOST_WAITING) {
    yield {
      path: ["inference", "max_waiting"],
      message: 'is not read by backend = "vllm", where any number of samples may wait',
    };
  }
  if (server.host !== LOOPBACK) {
    const message = `${server.host}: the control routes of vLLM ask for no key, so that it listens on ${LOOPBACK} only`;
    yield { path: ["inference", "server", "host"], message };
  }
  if (model.lora === null) {
    if (vllm.adapter !== "merged") yield { path: ADAPTER, message: "is for a run with [model.lora]" };
  } else if (vllm.adapter === "merged") {
    if (trainer.backend === "engine") {
      const message =
        '"merged" needs trainer.backend = "torch", and the engine publishes adapters: set inference.vllm.adapter = "loaded"';
      yield { path: ADAPTER, message };
    }
  } else {
    yield* loadedProblems(model.lora, deployment);
  }
  if (broadcast.type === "grpc") {
    const message = 'backend = "vllm" loads weights from folders: set weight_broadcast.type = "filesystem"';
    yield { path: ["inference", "backend"], message };
  }
  if (orchestrator.client.base_url.length > 0) {
    const message = 'names servers that run already, and inference.backend = "vllm" starts them: give one of the two';
    yield { path: ["orchestrator", "client", "base_url"], message };
  }
  for (const [index, argument] of vllm.extra_args.entries()) {
    const advice = reservedArgument(argument);
    if (advice !== null) yield { path: ["inference", "vllm", "extra_args", index], message: `${argument}: ${advice}` };
  }
}

function* loadedProblems({ rank }: LoraBlock, { sleep_level: level }: Surroundings["deployment"]): Generator<Problem> {
  if (rank > MOST_VLLM_RANK) {
    const message = `vLLM loads adapters up to rank ${MOST_VLLM_RANK}, and model.lora.rank is ${rank}: use "merged"`;
    yield { path: ADAPTER, message };
  }
  if (level > 1) {
    const message =
      '"loaded" needs the model itself after each turn, and deployment.sleep_level = 2 drops it: use level 1';
    yield { path: ADAPTER, message };
  }
}

interface SampledByVllm {
  model: { lora: LoraBlock | null };
  inference: { backend: Inference["backend"]; vllm: Pick<VllmBlock, "adapter"> };
}

/** Whether versions of an adapter are published merged into the model. */
export function mergesAdapter({ model, inference }: SampledByVllm): boolean {
  return model.lora !== null && inference.backend === "vllm" && inference.vllm.adapter === "merged";
}

/** Rank of the adapters that vLLM loads beside the model; null: it gets whole models. */
export function loadedRank({ model, inference }: SampledByVllm): number | null {
  if (inference.backend !== "vllm" || inference.vllm.adapter !== "loaded") return null;
  return model.lora?.rank ?? null;
}
