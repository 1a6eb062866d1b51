/** Keys of `[inference]` that its backend does not read, or cannot do. */
import type { z } from "zod";

import type { Problem } from "../problem.ts";
import type { weightBroadcastBlock } from "../transports.ts";
import { type inferenceBlock, MOST_WAITING } from "./inference.ts";
import { ownArgument } from "./own-arguments.ts";
import { type VllmBlock, vllmBlock } from "./vllm.ts";

type Inference = z.output<typeof inferenceBlock>;

interface Surroundings {
  model: { lora: unknown };
  trainer: { backend: "engine" | "torch" };
  weight_broadcast: z.output<typeof weightBroadcastBlock>;
  orchestrator: { client: { base_url: readonly string[] } };
}

const LOOPBACK = "127.0.0.1";

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
  { model, trainer, weight_broadcast: broadcast, orchestrator }: Surroundings,
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
  if (model.lora !== null && trainer.backend === "engine") {
    const message =
      'backend = "vllm" gets whole models, and the engine publishes adapters (model.lora): set trainer.backend = "torch", which merges them, or backend = "engine"';
    yield { path: ["inference", "backend"], message };
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
    const advice = ownArgument(argument);
    if (advice !== null) yield { path: ["inference", "vllm", "extra_args", index], message: `${argument}: ${advice}` };
  }
}

/** Whether versions of an adapter are published merged into the model: vLLM takes no adapters from us. */
export function mergesAdapter({
  model,
  inference,
}: {
  model: { lora: unknown };
  inference: Pick<Inference, "backend">;
}): boolean {
  return model.lora !== null && inference.backend === "vllm";
}
