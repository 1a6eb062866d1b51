/** The command line of `vllm serve` for a config. */
import { expect, test } from "vitest";

import { reservedArgument, reservedOnProcessors } from "../../../ts/config/schema/inference/reserved-arguments.ts";
import { parseInferenceProcessConfig } from "../../../ts/inference/index.ts";
import { gpusOf } from "../../../ts/inference/vllm/gpus.ts";
import { serveCommand } from "../../../ts/inference/vllm/serve-command.ts";

const SETTINGS = {
  port: 8123,
  dtype: "bfloat16",
  maxPositions: 4096,
  pythonPath: ["/mine"],
  apiKey: null,
  gpus: null,
} as const;
const commandOf = (inference: Record<string, unknown>, isCpu: boolean, apiKey: string | null = null) => {
  const given = { model_dir: "/models/m", seed: 3, inference: { backend: "vllm", model: { name: "m" }, ...inference } };
  return serveCommand(parseInferenceProcessConfig(given, "test"), { ...SETTINGS, isCpu, apiKey });
};

test("on a GPU: the parallel sizes, the memory's share, the weights' format, then further arguments", () => {
  const vllm = {
    tensor_parallel_size: 2,
    data_parallel_size: 4,
    enable_expert_parallel: true,
    quantization: "fp8",
    gpu_memory_utilization: 0.7,
    extra_args: ["--kv-cache-dtype", "fp8"],
  };
  const { args, env } = commandOf({ vllm, max_num_seqs: 16, max_model_len: 1_000_000, prefix_cache: false }, false);
  expect(args.join(" ")).toBe(
    "-m vllm.entrypoints.cli.main serve /models/m --host 127.0.0.1 --port 8123 --served-model-name m " +
      "--enable-scale-out --logprobs-mode processed_logprobs --disable-uvicorn-access-log " +
      "--dtype bfloat16 --seed 3 --max-model-len 4096 --max-num-seqs 16 " +
      "--gpu-memory-utilization 0.7 --tensor-parallel-size 2 --data-parallel-size 4 --quantization fp8 " +
      "--no-enable-prefix-caching --enable-expert-parallel --kv-cache-dtype fp8",
  );
  expect(env).toEqual({
    VLLM_SERVER_DEV_MODE: "1",
    VLLM_NO_USAGE_STATS: "1",
    HF_HUB_OFFLINE: "1",
    PYTHONUNBUFFERED: "1",
  });
});

test.each([
  [4, 8],
  [16, 16],
  [300, 320],
])("adapters of rank %i load as rank %i beside a model of another name", (rank, most) => {
  const given = { model_dir: "/models/m", adapter_rank: rank, inference: { backend: "vllm", model: { name: "m" } } };
  const { args, env } = serveCommand(parseInferenceProcessConfig(given, "test"), { ...SETTINGS, isCpu: false });
  for (const part of ["--served-model-name m@base", `--max-lora-rank ${most}`, "--enable-lora"])
    expect(args.join(" ")).toContain(part);
  expect(env).toMatchObject({ VLLM_ALLOW_RUNTIME_LORA_UPDATING: "1" });
});

test("on a processor: its threads, a bounded KV cache, whole prompts, nothing compiled, our worker", () => {
  const { args, env } = commandOf({ threads: 3 }, true);
  const text = args.join(" ");
  for (const part of [
    `--kv-cache-memory-bytes ${2 ** 30}`,
    "--enforce-eager",
    "--no-enable-chunked-prefill",
    "--max-num-batched-tokens 4096",
    "--worker-cls prl_vllm.cpu_worker.Worker",
  ])
    expect(text).toContain(part);
  expect(env).toMatchObject({ OMP_NUM_THREADS: "3", VLLM_CPU_OMP_THREADS_BIND: "nobind" });
  expect(env["PYTHONPATH"]).toMatch(/ts\/inference\/vllm\/python:\/mine$/);
  expect(commandOf({ kv_cache_bytes: 5e8, vllm: { enforce_eager: false } }, true).args.join(" ")).toMatch(
    /^(?!.*--enforce-eager).*--kv-cache-memory-bytes 500000000/,
  );
});

test("in turns with the trainer it can sleep, and computes on the trainer's GPU", () => {
  const given = { model_dir: "/models/m", inference: { backend: "vllm" }, colocated: true };
  const { args } = serveCommand(parseInferenceProcessConfig(given, "test"), { ...SETTINGS, isCpu: false });
  expect(args).toContain("--enable-sleep-mode");
  expect(commandOf({}, false).args).not.toContain("--enable-sleep-mode");
  expect(gpusOf(0, sized(1, 1), ["GPU-a", "GPU-b"], true)).toEqual(["GPU-a"]);
});

test("a key travels in the environment, where no list of processes shows it", () => {
  const { args, env } = commandOf({}, false, "secret");
  expect(args.join(" ")).not.toContain("secret");
  expect(env["VLLM_API_KEY"]).toBe("secret");
});

const sized = (replicas: number, tensor: number) =>
  parseInferenceProcessConfig(
    { model_dir: "m", inference: { backend: "vllm", replicas, vllm: { tensor_parallel_size: tensor } } },
    "test",
  ).inference;

test("servers take the last GPUs, each its own; one server on unknown GPUs lets vLLM choose", () => {
  const eight = ["0", "1", "2", "3", "4", "5", "6", "7"];
  expect([0, 1].map((index) => gpusOf(index, sized(2, 2), eight))).toEqual([
    ["4", "5"],
    ["6", "7"],
  ]);
  expect(gpusOf(0, sized(1, 1), ["GPU-a", "GPU-b"])).toEqual(["GPU-b"]);
  expect(gpusOf(0, sized(1, 2), null)).toBeNull();
  expect(gpusOf(1, sized(2, 1), null)).toEqual(["1"]);
  expect(() => gpusOf(0, sized(3, 2), ["0", "1"])).toThrow(
    "replicas 3 × tensor_parallel_size 2 × data_parallel_size 1 needs 6 GPUs, and 2 can be used",
  );
});

test("every argument that the run gives is refused among the further ones", () => {
  const vllm = {
    tensor_parallel_size: 2,
    quantization: "fp8",
    gpu_memory_utilization: 0.7,
    enable_expert_parallel: true,
  };
  const given = {
    model_dir: "/models/m",
    adapter_rank: 8,
    colocated: true,
    inference: { backend: "vllm", model: { name: "m" }, vllm, enable_return_routed_experts: true },
  };
  const flags = [true, false].flatMap((isCpu) => {
    const { args } = serveCommand(parseInferenceProcessConfig(given, "test"), { ...SETTINGS, isCpu });
    return args.filter((argument) => argument.startsWith("--") && argument !== "--disable-uvicorn-access-log");
  });
  expect(flags).toContain("--max-num-batched-tokens");
  const free = flags.filter((flag) => reservedArgument(flag) === null && reservedOnProcessors(flag) === null);
  expect(free).toEqual([]);
});
