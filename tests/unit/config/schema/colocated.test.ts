/** `deployment.type = "colocated"`: the keys that it needs, and those that only it reads. */
import { expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";

const SOURCE = { env: { id: "reverse-text" } };
const config = (more: Record<string, unknown>) => {
  const { orchestrator = {}, ...rest } = more;
  return rlConfigSchema.safeParse({
    model: { name: "m" },
    orchestrator: { train: { source: [SOURCE] }, ...(orchestrator as object) },
    ...rest,
  });
};
const problemsOf = (more: Record<string, unknown>) =>
  (config(more).error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);
const TURNS = { deployment: { type: "colocated" } };
const ON_GPU = { ...TURNS, trainer: { backend: "torch" }, inference: { backend: "vllm" } };

test.each([
  ["the engine on processors", TURNS],
  ["PyTorch and vLLM", ON_GPU],
  ["an adapter, which PyTorch merges for vLLM", { ...ON_GPU, model: { name: "m", lora: { rank: 4 } } }],
  ["vLLM that drops its weights", { ...ON_GPU, deployment: { type: "colocated", sleep_level: 2 } }],
  ["a level of 0", { ...ON_GPU, max_async_level: 0 }],
])("takes %s", (_, more) => {
  expect(problemsOf(more)).toEqual([]);
});

test.each([
  [
    "a level above 1",
    { ...TURNS, max_async_level: 2, weight_broadcast: { keep: 4 } },
    "max_async_level: 2 is more than 1",
  ],
  [
    "servers that run already",
    { ...TURNS, orchestrator: { client: { base_url: ["http://127.0.0.1:8000"] } } },
    "orchestrator.client.base_url: names servers that run already, which take no turns",
  ],
  [
    "batches over the network",
    { ...TURNS, rollout_transport: { type: "grpc" } },
    'rollout_transport.type: deployment.type = "colocated" is of one machine',
  ],
  [
    "versions over the network",
    { ...TURNS, weight_broadcast: { type: "grpc" } },
    'weight_broadcast.type: deployment.type = "colocated" is of one machine',
  ],
  ["two ranks", { ...ON_GPU, trainer: { backend: "torch", ranks: 2 } }, "trainer.ranks: 2 ranks take as many GPUs"],
  [
    "two servers of vLLM",
    { ...ON_GPU, inference: { backend: "vllm", replicas: 2 } },
    "inference.replicas: the vLLM servers take 2 GPUs",
  ],
  [
    "an engine that is to drop its weights",
    { deployment: { type: "colocated", sleep_level: 2 } },
    "deployment.sleep_level: the embedded engine keeps its weights",
  ],
  [
    "an adapter of the engine for vLLM",
    { ...TURNS, inference: { backend: "vllm" }, model: { name: "m", lora: { rank: 4 } } },
    'set inference.vllm.adapter = "loaded"',
  ],
  [
    "a level of sleep without turns",
    { deployment: { sleep_level: 2 } },
    'deployment.sleep_level: is read by deployment.type = "colocated" only',
  ],
  [
    "a deadline without turns",
    { deployment: { turn_timeout_s: 5 } },
    'deployment.turn_timeout_s: is read by deployment.type = "colocated" only',
  ],
  [
    "memory without turns",
    { deployment: { gpu_memory_bytes: 5 } },
    'deployment.gpu_memory_bytes: is read by deployment.type = "colocated" only',
  ],
  [
    "offload without turns",
    { trainer: { backend: "torch", offload: "cache" } },
    'trainer.offload: is read by deployment.type = "colocated" only',
  ],
])("refuses %s", (_, more, problem) => {
  expect(problemsOf(more).join("\n")).toContain(problem);
});
