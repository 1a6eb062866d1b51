/** Keys of `[inference]` with each backend. */
import { describe, expect, test } from "vitest";

import { rlConfigSchema } from "../../../../ts/config/schema/rl.ts";
import { reservedArgument, reservedOnProcessors } from "../../../../ts/config/schema/inference/reserved-arguments.ts";

const parse = (inference: Record<string, unknown>, more: Record<string, unknown> = {}) => {
  const { orchestrator = {}, model = {}, ...others } = more as Record<string, object>;
  return rlConfigSchema.safeParse({
    model: { name: "m", ...model },
    inference,
    orchestrator: { train: { source: [{ name: "a", env: { id: "reverse-text" } }] }, ...orchestrator },
    ...others,
  });
};
const problems = (...given: Parameters<typeof parse>) =>
  (parse(...given).error?.issues ?? []).map(({ path, message }) => `${path.join(".")}: ${message}`);

const LORA = { model: { lora: { rank: 4 } } };
const LOADED = { adapter: "loaded" };

describe("inference.backend", () => {
  test("vllm takes the keys that both backends have, and resolves to itself", () => {
    const shared = { replicas: 2, threads: 1, max_num_seqs: 8, max_model_len: 4096, kv_cache_bytes: 2 ** 30 };
    const { data } = parse({ backend: "vllm", ...shared, prefix_cache: false });
    expect(data?.inference).toMatchObject({ ...shared, backend: "vllm" });
    expect(data?.orchestrator.client.api).toBe("vllm");
    expect(rlConfigSchema.parse(data)).toEqual(data);
    expect(parse({}).data?.orchestrator.client.api).toBe("prl");
  });

  test.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
    ["python", { python: "/p" }, {}, "inference.python"],
    ["a key of vLLM", { vllm: { tensor_parallel_size: 2 } }, {}, "inference.vllm.tensor_parallel_size"],
    ["arguments", { vllm: { extra_args: ["--x"] } }, {}, "inference.vllm.extra_args"],
    ["the api of servers without an address", {}, { orchestrator: { client: { api: "vllm" } } }, "client.api"],
  ])("engine refuses %s by name, with the backend that reads it", (_, inference, more, key) => {
    const found = problems(inference, more);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`${key}: `);
    expect(found[0]).toContain('inference.backend = "vllm"');
  });

  test.each<[string, Record<string, unknown>, Record<string, unknown>, string, string]>([
    ["a queue", { max_waiting: 7 }, {}, "inference.max_waiting", "is not read"],
    ["other machines", { server: { host: "0.0.0.0" } }, {}, "inference.server.host", "127.0.0.1 only"],
    ["merged adapters", {}, LORA, "inference.vllm.adapter", 'set inference.vllm.adapter = "loaded"'],
    ["adapters of a run without", { vllm: LOADED }, {}, "inference.vllm.adapter", "[model.lora]"],
    ["a large rank", { vllm: LOADED }, { model: { lora: { rank: 513 } } }, "inference.vllm.adapter", "up to rank 512"],
    [
      "a base that sleep drops",
      { vllm: LOADED },
      { ...LORA, deployment: { type: "colocated", sleep_level: 2 } },
      "inference.vllm.adapter",
      "use level 1",
    ],
    ["grpc", {}, { weight_broadcast: { type: "grpc" } }, "inference.backend", "filesystem"],
    [
      "running servers",
      {},
      { orchestrator: { client: { base_url: ["http://127.0.0.1:1"] } } },
      "orchestrator.client.base_url",
      "give one of the two",
    ],
    [
      "two sizes of the KV cache",
      { kv_cache_bytes: 1e9, vllm: { gpu_memory_utilization: 0.5 } },
      {},
      "inference.kv_cache_bytes",
      "give one of them",
    ],
  ])("vllm refuses %s by name", (_, inference, more, key, text) => {
    const { vllm = {}, ...others } = inference;
    const found = problems({ backend: "vllm", ...others, vllm }, more);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`${key}: `);
    expect(found[0]).toContain(text);
  });

  test("a key is for servers that run already; that of a vLLM of the run is named where its kind is", () => {
    const client = { api_key_var: "KEY" };
    const base_url = ["http://127.0.0.1:1"];
    const key = "orchestrator.client.api_key_var: ";
    expect(problems({}, { orchestrator: { client } })[0]).toContain(key);
    expect(problems({}, { orchestrator: { client: { ...client, base_url } } })).toEqual([]);
    expect(problems({ backend: "vllm" }, { orchestrator: { client } })[0]).toContain("inference.vllm.api_key_var");
    expect(problems({}, { orchestrator: { client: { ...client, base_url, api: "vllm" } } })).toEqual([]);
    const { data } = parse({ backend: "vllm", vllm: { api_key_var: "KEY" } });
    expect(data?.orchestrator.client.api_key_var).toBe("KEY");
    expect(rlConfigSchema.parse(data)).toEqual(data);
    expect(problems({ backend: "vllm", vllm: { api_key_var: "a b" } })[0]).toContain("name of an environment variable");
  });

  test("arguments that the run sets are refused with the key that sets them; all others pass", () => {
    const extra_args = [
      "--kv-cache-dtype",
      "fp8",
      "--tensor_parallel_size=2",
      "-q",
      "-1",
      "--no-enable-prefix-caching",
    ];
    expect(problems({ backend: "vllm", vllm: { extra_args } })).toEqual([
      "inference.vllm.extra_args.2: --tensor_parallel_size=2: the run sets it: use inference.vllm.tensor_parallel_size",
      "inference.vllm.extra_args.3: -q: the run sets it: use inference.vllm.quantization",
      "inference.vllm.extra_args.5: --no-enable-prefix-caching: the run sets it: use inference.prefix_cache",
    ]);
    expect(reservedArgument("--logprobs-mode")).toBe("the run sets it, and works with no other value");
    expect(reservedArgument("--api-key=secret")).toContain("inference.vllm.api_key_var");
    expect(reservedArgument("--max_lora_rank=64")).toContain("model.lora.rank");
    for (const argument of ["--max-num-batched-tokens=64", "--enable_chunked_prefill", "--no-enable-chunked-prefill"]) {
      expect(reservedArgument(argument)).toBeNull();
      expect(reservedOnProcessors(argument)).toContain("on processors");
    }
    expect(reservedOnProcessors("--kv-cache-dtype")).toBeNull();
    expect(reservedOnProcessors("-1")).toBeNull();
  });
});
