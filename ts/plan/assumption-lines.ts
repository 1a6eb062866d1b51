/** The assumptions of a plan in words, with the option that changes each. */
import type { RlConfig } from "../config/index.ts";
import type { Assumptions } from "./assumptions.ts";
import type { InferencePlan } from "./inference-plan.ts";
import type { TrainerPlan } from "./trainer-plan.ts";
import { DEFAULT_SHARE } from "./vllm-memory.ts";

interface Parts {
  readonly trainer: TrainerPlan;
  readonly inference: InferencePlan;
  /** Tokens of the longest sequence. */
  readonly longest: number;
}

export function assumptionLines(
  config: RlConfig,
  assumptions: Assumptions,
  { trainer, inference, longest }: Parts,
): string[] {
  const { promptTokens, completionTokens, envSeconds, transfer } = assumptions;
  const onGpu = trainer.place === "gpu" || inference.place === "gpu";
  const most = config.orchestrator.train.sampling.max_completion_tokens;
  return [
    ...(onGpu ? gpuLines(config, assumptions, { trainer, inference }) : []),
    ...(trainer.place === "cpu" || inference.place === "cpu"
      ? ["times on processors are not estimated: prl rl --bench measures them"]
      : []),
    `a prompt has ${promptTokens} tokens and a completion ${completionTokens} on average, at most ${Math.min(most ?? longest, longest - promptTokens)} (--prompt-tokens, --completion-tokens)`,
    `a rollout spends ${envSeconds} s in its environment outside of sampling, and holds its sandbox as long as it is under way (--env-seconds)`,
    `weights travel at ${transfer / 1e9} GB/s (--transfer)`,
  ];
}

function gpuLines(
  config: RlConfig,
  assumptions: Assumptions,
  { trainer, inference }: Omit<Parts, "longest">,
): string[] {
  const { device, mfu, bandwidth, serverGpus } = assumptions;
  if (device === null) return [];
  const tera = (value: number): string => String(value / 1e12);
  const lines = [
    `the GPUs are ${device.name}: ${tera(device.bf16)} TFLOP/s in bfloat16, ${tera(device.f32)} in float32, ${device.bandwidth / 1e9} GB/s, ${(device.memory / 2 ** 30).toFixed(1)} GiB (--device)`,
  ];
  if (trainer.place === "gpu") {
    lines.push(
      `training and prompts reach ${mfu} of these speeds (--mfu); all tokens of completions train; in bfloat16 attention computes half of a sequence of mean length for each token, in float32 whole bins with masks`,
    );
  }
  if (inference.place === "gpu") {
    const share = config.inference.vllm.gpu_memory_utilization ?? DEFAULT_SHARE;
    lines.push(
      `decoding reaches ${bandwidth} of the memory's bandwidth (--bandwidth); vLLM takes ${share} of a GPU, and 1.5 GiB of that for CUDA and its graphs`,
    );
    if (!inference.is_started)
      lines.push(
        `each server of orchestrator.client.base_url has ${serverGpus} GPU${serverGpus === 1 ? "" : "s"} (--server-gpus), with the settings of vLLM's defaults`,
      );
    if (config.inference.vllm.extra_args.length > 0) lines.push("inference.vllm.extra_args is not read");
  }
  return lines;
}
