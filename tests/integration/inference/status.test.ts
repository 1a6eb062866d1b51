import { beforeAll, describe, expect, it } from "vitest";

import { createInferenceServer } from "../../../ts/inference/index.ts";
import { InferenceClient } from "../../../ts/inference-client/index.ts";
import { PROMPT, useServing, type Serving } from "./serving.ts";
import { EOS, MAX_MODEL_LEN } from "./tiny-model.ts";

const serving = useServing();
let model: Serving["model"];
let url: Serving["url"];
let client: Serving["client"];
let admin: Serving["admin"];

beforeAll(() => {
  ({ model, url, client, admin } = serving());
});

const error = (code: string, message: unknown = expect.any(String)) => ({
  error: { code, message, type: expect.stringMatching(/Error$/), param: null },
});

describe("status endpoints", () => {
  it("lists the model with its context length", async () => {
    expect(await admin.models()).toEqual([{ id: "tiny", maxModelLen: MAX_MODEL_LEN }]);
  });

  it.each(["/health", "/liveness", "/ping"])("says at %s that it is well", async (path) => {
    expect((await fetch(url + path)).status).toBe(200);
  });

  it("names versions of package and weights", async () => {
    const body = (await (await fetch(`${url}/version`)).json()) as Record<string, unknown>;
    expect(body).toEqual({
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      policy_version: 0,
      digest: expect.anything(),
      isa: model.isa,
      dtype: "float32",
    });
  });

  it("counts under vLLM's names", async () => {
    const before = await admin.metrics();
    await client.generate({ tokenIds: PROMPT, sampling: { maxTokens: 8, ignoreEos: true } });
    const after = await admin.metrics();
    expect([...after.keys()]).toEqual(
      expect.arrayContaining([
        "num_requests_running",
        "num_requests_waiting",
        "num_requests_waiting_by_reason",
        "kv_cache_usage_perc",
        "num_preemptions_total",
        "prompt_tokens_total",
        "generation_tokens_total",
        "prefix_cache_queries_total",
        "prefix_cache_hits_total",
        "cache_config_info",
        "time_to_first_token_seconds_count",
        "inter_token_latency_seconds_count",
        "e2e_request_latency_seconds_count",
      ]),
    );
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0);
    expect(grown("generation_tokens_total")).toBe(8);
    expect(grown("prompt_tokens_total")).toBe(PROMPT.length);
    expect(grown("e2e_request_latency_seconds_count")).toBe(1);
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toMatch(/^vllm:num_requests_running\{engine="0",model_name="tiny"\} 0$/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds\{component="inference"\} [\d.e-]+$/m);
    expect(text).toMatch(/^vllm:cache_config_info\{.*kv_cache_size_tokens="\d+".*\} 1$/m);
  });

  it("counts the times of a request's parts and the tokens of steps, whole and streamed", async () => {
    const name = (part: string) => `request_${part}_time_seconds`;
    const parts = ["queue", "prefill", "decode", "inference"];
    for (const stream of [false, true]) {
      const before = await admin.metrics();
      const asked = { model: "tiny", prompt: "abcdef", max_tokens: 9, ignore_eos: true, stream };
      const response = await fetch(`${url}/v1/completions`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(asked),
      });
      await response.text();
      const after = await admin.metrics();
      const grown = (one: string) => (after.get(one) ?? 0) - (before.get(one) ?? 0);
      for (const part of parts) expect([part, grown(`${name(part)}_count`)]).toEqual([part, 1]);
      const [queue = 0, prefill = 0, decode = 0, inference = 0] = parts.map((part) => grown(`${name(part)}_sum`));
      expect(queue).toBeGreaterThan(0);
      expect(prefill).toBeGreaterThan(0);
      expect(decode).toBeGreaterThan(0);
      expect(inference).toBeCloseTo(prefill + decode, 9);
      expect(queue + inference).toBeLessThanOrEqual(grown("e2e_request_latency_seconds_sum"));
      expect(grown("request_time_per_output_token_seconds_sum")).toBeCloseTo(decode / 8, 9);
      // The prompt is one step, whose last row gives the first token; each further token is a step. Of a prompt that is cached the last token is computed.
      expect(grown("iteration_tokens_total_count")).toBe(9);
      expect(grown("iteration_tokens_total_sum")).toBe(stream ? 9 : 14);
    }
    const text = await (await fetch(`${url}/metrics`)).text();
    expect(text).toMatch(/^# TYPE vllm:iteration_tokens_total histogram$/m);
    const bounds = [...text.matchAll(/^vllm:iteration_tokens_total_bucket\{.*le="(.+)"\}/gmu)].map(
      ([, bound]) => bound,
    );
    expect(bounds.join(" ")).toBe("1 8 16 32 64 128 256 512 1024 2048 4096 8192 16384 +Inf");
    expect(text).toMatch(
      /^vllm:lora_requests_info\{max_lora="64",running_lora_adapters="",waiting_lora_adapters=""\} \d+\.?\d*$/m,
    );
  });

  it("answers 501 to weights by gRPC when it cannot pull, and 404 to unknown paths", async () => {
    const grpc = { version: 1, digest: serving().folder(1).digest, source: { grpc: "somewhere" } };
    expect(await serving().post("/update_weights", grpc)).toEqual({
      status: 501,
      body: error("PRL_INFERENCE_UNSUPPORTED"),
    });
    expect(await serving().post("/v2/generate", {})).toEqual({ status: 404, body: error("PRL_INFERENCE_REQUEST") });
  });
});

describe("a server that stops", () => {
  it("answers running requests with 503, and takes another port when its own is taken", async () => {
    const other = await createInferenceServer(model, { modelDir: serving().folder(0).dir });
    const taken = Number(new URL(url).port);
    const otherUrl = await other.listen("127.0.0.1", taken);
    expect(otherUrl).not.toBe(url);
    const otherClient = new InferenceClient({ url: otherUrl });
    await admin.pause("keep");
    const pending = otherClient.generate({ tokenIds: PROMPT, sampling: { maxTokens: 2, stopTokenIds: [EOS] } });
    await serving().untilStats((stats) => stats.running + stats.waiting > 0);
    await Promise.all([
      expect(pending).rejects.toMatchObject({ code: expect.stringMatching(/^PRL_INFERENCE_/) }),
      other.close(),
    ]);
    await admin.resume();
    await serving().untilStats((stats) => stats.running + stats.waiting === 0);
    await expect(otherClient.generate({ tokenIds: PROMPT, deadlineMs: 5_000 })).rejects.toMatchObject({
      code: "PRL_INFERENCE_UNREACHABLE",
    });
    await otherClient.close();
  });
});
