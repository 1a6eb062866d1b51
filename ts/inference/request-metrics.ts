/**
 * What is counted of each sample, as Prometheus text under vLLM's names and with its buckets.
 *
 * Observing is on the path of every token of hundreds of streams, and a library for it would make the start of the server longer, so the
 * histograms are counted here. Of an answer that the engine gives whole, as those of training runs, the server sees no first token and no
 * time between two tokens; the times in the queue, of the prompt and of the rest are the engine's. It knows no request's content.
 */
import type { RequestTimes } from "../native/index.ts";

/** Seconds until the first token. */
const FIRST_TOKEN = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560,
];
/** Seconds between two tokens. */
const BETWEEN_TOKENS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80];
/** Seconds of whole requests. */
const WHOLE = [0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680];
const FINISH_REASONS = ["stop", "length", "abort", "error"] as const;

export type FinishReason = (typeof FINISH_REASONS)[number];

/** 1, 2, 5, 10, 20, 50, ... */
function oneTwoFive(most: number): number[] {
  const steps = Array.from({ length: 18 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
  return steps.filter((step) => step <= most);
}

class Histogram {
  readonly #bounds: readonly number[];
  /** One more than the bounds, for what is larger. */
  readonly #counts: Float64Array;
  #sum = 0;

  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = new Float64Array(bounds.length + 1);
  }

  /** `times` equal values. */
  observe(value: number, times = 1): void {
    let at = 0;
    while (at < this.#bounds.length && value > (this.#bounds[at] ?? 0)) at += 1;
    this.#counts[at] = (this.#counts[at] ?? 0) + times;
    this.#sum += value * times;
  }

  lines(name: string, labels: string): string[] {
    return histogramLines(name, labels, { bounds: this.#bounds, counts: this.#counts, sum: this.#sum });
  }
}

/** `counts` has one more than `bounds`, for what is larger. */
export function histogramLines(
  name: string,
  labels: string,
  { bounds, counts, sum }: { bounds: readonly number[]; counts: ArrayLike<number>; sum: number },
): string[] {
  let count = 0;
  const buckets = Array.from(counts, (own, at) => {
    count += own;
    return `${name}_bucket{${labels},le="${bounds[at] ?? "+Inf"}"} ${count}`;
  });
  return [...buckets, `${name}_count{${labels}} ${count}`, `${name}_sum{${labels}} ${sum}`];
}

/** Called while a sample is drawn. */
export interface SampleWatch {
  tokens(count: number): void;
  /** Called once, when nothing more comes. `times`: null without a token. */
  end(reason: FinishReason, times: RequestTimes | null): void;
}

/** What is known of a sample when it begins. */
export interface BegunSample {
  readonly promptTokens: number;
  readonly maxTokens: number;
  /** The adapter that its request names. */
  readonly adapter: string | null;
  /** Samples of its request. */
  readonly choices: number;
  /** Its tokens come as they are sampled. */
  readonly isGradual: boolean;
}

export class RequestMetrics {
  readonly #now: () => number;
  readonly #histograms: Readonly<Record<string, { help: string; histogram: Histogram }>>;
  /** Samples under way, by the adapter that they name. */
  readonly #adapters = new Map<string, number>();
  readonly #ended: Record<FinishReason, number> = { stop: 0, length: 0, abort: 0, error: 0 };

  /** `now`: milliseconds of a clock that only goes forward. */
  constructor(maxModelLen: number, now: () => number = () => performance.now()) {
    this.#now = now;
    const lengths = oneTwoFive(maxModelLen);
    const histogram = (help: string, bounds: readonly number[]) => ({ help, histogram: new Histogram(bounds) });
    this.#histograms = {
      time_to_first_token_seconds: histogram("Time to the first token.", FIRST_TOKEN),
      inter_token_latency_seconds: histogram("Time between two tokens.", BETWEEN_TOKENS),
      request_time_per_output_token_seconds: histogram("Mean time between two tokens of a sample.", BETWEEN_TOKENS),
      e2e_request_latency_seconds: histogram("Time of a whole sample.", WHOLE),
      request_queue_time_seconds: histogram("Time before a sample's first step.", WHOLE),
      request_prefill_time_seconds: histogram("Time from the first step to the first token.", WHOLE),
      request_decode_time_seconds: histogram("Time from the first token to the last.", WHOLE),
      request_inference_time_seconds: histogram("Time from the first step to the last token.", WHOLE),
      request_prompt_tokens: histogram("Prompt tokens of a sample.", lengths),
      request_generation_tokens: histogram("Sampled tokens of a sample.", lengths),
      request_params_max_tokens: histogram("max_tokens of a sample.", lengths),
      request_params_n: histogram("Samples of the request.", [1, 2, 5, 10, 20]),
    };
  }

  #observe(name: string, value: number, times = 1): void {
    this.#histograms[name]?.histogram.observe(value, times);
  }

  /** Samples under way of each adapter that has any. */
  get adapters(): ReadonlyMap<string, number> {
    return this.#adapters;
  }

  #count(adapter: string | null, change: 1 | -1): void {
    if (adapter === null) return;
    const count = (this.#adapters.get(adapter) ?? 0) + change;
    if (count === 0) this.#adapters.delete(adapter);
    else this.#adapters.set(adapter, count);
  }

  begin({ promptTokens, maxTokens, adapter, choices, isGradual }: BegunSample): SampleWatch {
    this.#count(adapter, 1);
    const start = this.#now();
    let first: number | null = null;
    let last = start;
    let tokens = 0;
    return {
      tokens: (count) => {
        if (count === 0) return;
        tokens += count;
        if (!isGradual) return;
        const now = this.#now();
        if (first === null) {
          first = now;
          this.#observe("time_to_first_token_seconds", (now - start) / 1000);
          if (count > 1) this.#observe("inter_token_latency_seconds", 0, count - 1);
        } else this.#observe("inter_token_latency_seconds", (now - last) / 1000 / count, count);
        last = now;
      },
      end: (reason, times) => {
        this.#count(adapter, -1);
        this.#ended[reason] += 1;
        this.#observe("e2e_request_latency_seconds", (this.#now() - start) / 1000);
        this.#observe("request_prompt_tokens", promptTokens);
        this.#observe("request_generation_tokens", tokens);
        this.#observe("request_params_max_tokens", maxTokens);
        this.#observe("request_params_n", choices);
        if (times === null) return;
        // The engine's times are those of its last word, which does not come where the server ends a sample itself, as at a stop string. Tokens
        // that came together have no time between them here.
        const decode = Math.max(times.decode, first === null ? 0 : (last - first) / 1000);
        this.#observe("request_queue_time_seconds", times.queued);
        this.#observe("request_prefill_time_seconds", times.prefill);
        this.#observe("request_decode_time_seconds", decode);
        this.#observe("request_inference_time_seconds", times.prefill + decode);
        if (tokens > 1) this.#observe("request_time_per_output_token_seconds", decode / (tokens - 1));
      },
    };
  }

  /** `labels` are those of all lines. */
  text(labels: string): string {
    const lines = Object.entries(this.#histograms).flatMap(([key, { help, histogram }]) => {
      const name = `vllm:${key}`;
      return [`# HELP ${name} ${help}`, `# TYPE ${name} histogram`, ...histogram.lines(name, labels)];
    });
    lines.push("# HELP vllm:request_success_total Samples that ended.", "# TYPE vllm:request_success_total counter");
    for (const reason of FINISH_REASONS)
      lines.push(`vllm:request_success_total{${labels},finished_reason="${reason}"} ${this.#ended[reason]}`);
    return `${lines.join("\n")}\n`;
  }
}
