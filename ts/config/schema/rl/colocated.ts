/** The demands of `deployment.type = "colocated"` on other keys, and the keys that only it reads. */
import { type DeploymentBlock, deploymentBlock } from "../deployment.ts";
import type { Problem } from "../problem.ts";
import type { RlInput } from "./rl-keys.ts";

/** More batches cannot be sampled ahead: nothing is sampled while the trainer steps. */
const MOST_LEVEL = 1;
const OWN_KEYS = ["sleep_level", "turn_timeout_s", "gpu_memory_bytes"] as const;

export function* colocatedProblems(config: RlInput): Generator<Problem> {
  const { deployment, trainer } = config;
  if (deployment.type === "colocated") {
    yield* turnProblems(config);
    yield* gpuProblems(config);
    return;
  }
  const unread = 'is read by deployment.type = "colocated" only';
  const defaults: DeploymentBlock = deploymentBlock.parse({});
  for (const key of OWN_KEYS) {
    if (deployment[key] !== defaults[key]) yield { path: ["deployment", key], message: unread };
  }
  if (trainer.offload !== "all") yield { path: ["trainer", "offload"], message: unread };
}

/** Turns are those of one trainer and the servers that the run starts, through files of one machine. */
function* turnProblems(config: RlInput): Generator<Problem> {
  const { max_async_level: level, orchestrator, rollout_transport: batches, weight_broadcast: broadcast } = config;
  if (level > MOST_LEVEL) {
    const message = `${level} is more than ${MOST_LEVEL}: with deployment.type = "colocated" nothing is sampled while the trainer steps, so that more batches cannot be ahead`;
    yield { path: ["max_async_level"], message };
  }
  if (orchestrator.client.base_url.length > 0) {
    const message =
      'names servers that run already, which take no turns: leave it out, or set deployment.type = "single_node"';
    yield { path: ["orchestrator", "client", "base_url"], message };
  }
  for (const [key, { type }] of [["rollout_transport", batches] as const, ["weight_broadcast", broadcast] as const]) {
    if (type === "filesystem") continue;
    const message = `deployment.type = "colocated" is of one machine: set ${key}.type = "filesystem"`;
    yield { path: [key, "type"], message };
  }
}

/** One GPU has one rank of the trainer and one vLLM. */
function* gpuProblems({ deployment, trainer, inference }: RlInput): Generator<Problem> {
  if (trainer.ranks > 1) {
    const message = `${trainer.ranks} ranks take as many GPUs: deployment.type = "colocated" is for one`;
    yield { path: ["trainer", "ranks"], message };
  }
  if (inference.backend === "engine") {
    if (deployment.sleep_level === 1) return;
    const message = 'the embedded engine keeps its weights while it sleeps: set 1, or inference.backend = "vllm"';
    yield { path: ["deployment", "sleep_level"], message };
    return;
  }
  const { replicas, vllm } = inference;
  const gpus = replicas * vllm.tensor_parallel_size * vllm.data_parallel_size;
  if (gpus === 1) return;
  const message = `the vLLM servers take ${gpus} GPUs (replicas, vllm.tensor_parallel_size, vllm.data_parallel_size): deployment.type = "colocated" is for one`;
  yield { path: ["inference", "replicas"], message };
}
