/** Samples are counted under vLLM's names, in the form that Prometheus reads. */
import { describe, expect, it } from "vitest";

import { RequestMetrics } from "../../../../ts/inference/request-metrics.ts";

const LABELS = 'engine="0",model_name="m"';

describe("the metrics of samples", () => {
  it("count latencies of samples whose tokens come one by one, and only the end of others", () => {
    let now = 0;
    const metrics = new RequestMetrics(100, () => now);
    const gradual = metrics.begin({ promptTokens: 7, maxTokens: 50, choices: 2, isGradual: true, adapter: null });
    now = 30;
    gradual.tokens(1);
    now = 90;
    gradual.tokens(2);
    now = 100;
    gradual.tokens(0);
    gradual.end("stop", { queued: 0.4, prefill: 0.2, decode: 0 });
    const whole = metrics.begin({ promptTokens: 7, maxTokens: 50, choices: 1, isGradual: false, adapter: null });
    now = 1_000_000;
    whole.tokens(40);
    whole.end("length", { queued: 7, prefill: 1, decode: 78 });
    metrics.begin({ promptTokens: 7, maxTokens: 50, choices: 1, isGradual: true, adapter: null }).end("abort", null);
    const text = metrics.text(LABELS);
    const value = (line: string) =>
      Number(
        text
          .split("\n")
          .find((one) => one.startsWith(`vllm:${line} `))
          ?.split(" ")[1],
      );
    const of = (name: string, more = "") => value(`${name}{${LABELS}${more}}`);
    expect(of("time_to_first_token_seconds_count")).toBe(1);
    expect(of("time_to_first_token_seconds_sum")).toBeCloseTo(0.03);
    expect(of("time_to_first_token_seconds_bucket", ',le="0.02"')).toBe(0);
    expect(of("time_to_first_token_seconds_bucket", ',le="0.04"')).toBe(1);
    expect(of("inter_token_latency_seconds_count")).toBe(2);
    expect(of("inter_token_latency_seconds_sum")).toBeCloseTo(0.06);
    expect(of("request_time_per_output_token_seconds_sum")).toBeCloseTo(0.03 + 2);
    expect(of("request_queue_time_seconds_sum")).toBeCloseTo(7.4);
    expect(of("request_queue_time_seconds_count")).toBe(2);
    expect(of("request_prefill_time_seconds_sum")).toBeCloseTo(1.2);
    expect(of("request_decode_time_seconds_sum")).toBeCloseTo(0.06 + 78);
    expect(of("request_inference_time_seconds_sum")).toBeCloseTo(0.26 + 79);
    expect(of("e2e_request_latency_seconds_count")).toBe(3);
    expect(of("e2e_request_latency_seconds_bucket", ',le="0.3"')).toBe(2);
    expect(of("e2e_request_latency_seconds_bucket", ',le="+Inf"')).toBe(3);
    expect(of("request_generation_tokens_sum")).toBe(43);
    expect(of("request_generation_tokens_bucket", ',le="5"')).toBe(2);
    expect(of("request_prompt_tokens_sum")).toBe(21);
    expect(of("request_params_n_bucket", ',le="1"')).toBe(2);
    const ends = ["stop", "length", "abort", "error"].map((reason) =>
      of("request_success_total", `,finished_reason="${reason}"`),
    );
    expect(ends).toEqual([1, 1, 1, 0]);
  });

  it("know the adapters of the samples that are under way", () => {
    const metrics = new RequestMetrics(100);
    const begin = (adapter: string | null) =>
      metrics.begin({ promptTokens: 1, maxTokens: 1, choices: 1, isGradual: false, adapter });
    const begun = ["a", "b", null, "a"].map(begin);
    expect(metrics.adapters).toEqual(
      new Map([
        ["a", 2],
        ["b", 1],
      ]),
    );
    for (const one of begun.slice(0, 3)) one.end("stop", null);
    expect(metrics.adapters).toEqual(new Map([["a", 1]]));
  });

  it("have buckets that never shrink, up to all", () => {
    const metrics = new RequestMetrics(1000);
    for (const tokens of [0, 1, 3, 999, 1_000_000]) {
      const one = metrics.begin({ promptTokens: tokens, maxTokens: 1, choices: 1, isGradual: false, adapter: null });
      one.end("abort", null);
    }
    const buckets = [...metrics.text(LABELS).matchAll(/^vllm:request_prompt_tokens_bucket\{.*le="(.+)"\} (\d+)$/gmu)];
    const counts = buckets.map(([, , count]) => Number(count));
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts.at(-1)).toBe(5);
    expect(buckets.map(([, bound]) => bound)).toEqual([
      "1",
      "2",
      "5",
      "10",
      "20",
      "50",
      "100",
      "200",
      "500",
      "1000",
      "+Inf",
    ]);
  });
});
