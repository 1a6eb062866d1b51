/** The assumptions of a plan where neither the config nor the model's shape gives a number. Each can be set, and each is printed. */
import type { RlConfig } from "../config/index.ts";
import { PrlError } from "../errors.ts";
import { DEFAULT_DEVICE, type Device, DEVICES } from "../models/index.ts";

export interface PlanOptions {
  /** `id` of a device of the table, or cpu. */
  readonly device?: string;
  /** Share of the device's speed that training and prompts reach. */
  readonly mfu?: number;
  /** Share of the memory's bandwidth that decoding reaches. */
  readonly bandwidth?: number;
  /** Mean tokens of a prompt. */
  readonly promptTokens?: number;
  /** Mean tokens of a completion. */
  readonly completionTokens?: number;
  /** Seconds of a rollout in its environment, outside of sampling. */
  readonly envSeconds?: number;
  /** Bytes per second at which weights travel. */
  readonly transfer?: number;
  /** GPUs of each server of `orchestrator.client.base_url`. */
  readonly serverGpus?: number;
}

export interface Assumptions extends Required<Omit<PlanOptions, "device">> {
  /** Null: processors. */
  readonly device: Device | null;
  /** Share of a full version's bytes that a sparse one has. */
  readonly sparse: number;
}

/** In place of a device: torch and vLLM compute on processors. */
const PROCESSORS = "cpu";
const MFU = 0.4;
const BANDWIDTH = 0.6;
const PROMPT_TOKENS = 512;
const LONGEST_PROMPT_SHARE = 4;
const ENV_SECONDS = 1;
/** Local disks read and write about as fast; a network of 10 Gbit/s. */
const DISK = 2e9;
const NETWORK = 1.25e9;
/** Measured up to these learning rates on a model of 12 million parameters (crates/weights/README.md, "Benchmarks"). */
const SPARSE: readonly (readonly [number, number])[] = [
  [1e-6, 0.0115],
  [1e-5, 0.0495],
  [1e-4, 0.155],
];

/** `longest`: tokens of the longest sequence. Errors: PRL_CLI_USAGE for a device that the table does not have, and for lengths that do not fit. */
export function assumptionsFor(config: RlConfig, options: PlanOptions, longest: number): Assumptions {
  const { orchestrator, weight_broadcast: broadcast, trainer } = config;
  const promptTokens = options.promptTokens ?? Math.min(PROMPT_TOKENS, Math.floor(longest / LONGEST_PROMPT_SHARE));
  const most = Math.min(orchestrator.train.sampling.max_completion_tokens ?? longest, longest - promptTokens);
  const id = options.device ?? DEFAULT_DEVICE;
  const device = DEVICES.find((one) => one.id === id) ?? null;
  if (device === null && id !== PROCESSORS) {
    throw new PrlError(
      "PRL_CLI_USAGE",
      `--device: there is no ${JSON.stringify(id)}: use ${DEVICES.map((one) => one.id).join(", ")} or ${PROCESSORS}`,
    );
  }
  if (promptTokens + (options.completionTokens ?? 1) > longest) {
    const sum = `${promptTokens} tokens of prompt and ${options.completionTokens ?? 1} of completion`;
    throw new PrlError(
      "PRL_CLI_USAGE",
      `--prompt-tokens, --completion-tokens: ${sum} are more than a sequence may have, ${longest} (seq_len, inference.max_model_len, the model)`,
    );
  }
  return {
    device,
    mfu: options.mfu ?? MFU,
    bandwidth: options.bandwidth ?? BANDWIDTH,
    promptTokens,
    completionTokens: options.completionTokens ?? Math.max(1, Math.floor(most / 2)),
    envSeconds: options.envSeconds ?? ENV_SECONDS,
    transfer: options.transfer ?? (broadcast.type === "grpc" ? NETWORK : DISK),
    serverGpus: options.serverGpus ?? 1,
    sparse: SPARSE.find(([rate]) => trainer.optim.lr <= rate)?.[1] ?? 1,
  };
}
