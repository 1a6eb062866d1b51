/**
 * `prl inference --bench`: sends a server as many requests as a training batch has rollouts, again and again.
 *
 * Prompts are random tokens and fill half of the context; completions always reach their limit.
 */
import { PrlError } from "../../errors.ts";
import { createRng } from "../../random/rng.ts";
import { engineOptions, parseInferenceProcessConfig } from "../../inference/index.ts";
import { formatCount, formatSeconds } from "../../monitors/index.ts";
import { loadModel } from "../../native/index.ts";
import { InferenceClient } from "../../inference-client/index.ts";
import type { CommandIo } from "../command.ts";
import { closeWithin, CLOSE_ENGINE_MS, orStopped, serve } from "../processes/serve-model.ts";
import { benchSetup, median, peakMemory, progress, report } from "./bench.ts";

interface Round {
  seconds: number;
  prompt: number;
  sampled: number;
  /** Latency of each request, in seconds. */
  latencies: number[];
}

export async function benchInference(args: readonly string[], io: CommandIo): Promise<number> {
  const { config, steps, modelDir, vocabSize } = await benchSetup(args, io);
  if (config.inference.backend === "vllm") {
    const advice = "measure a running vLLM with its own `vllm bench serve`";
    throw new PrlError(
      "PRL_CLI_USAGE",
      `--bench measures the embedded engine, not inference.backend = "vllm": ${advice}`,
    );
  }
  const { batch_size: batchSize, train } = config.orchestrator;
  const requests = batchSize ?? config.inference.max_num_seqs;
  const inference = {
    ...config.inference,
    server: { host: "127.0.0.1", port: 0, weight_roots: [] },
    model: { name: "bench" },
  };
  const process = parseInferenceProcessConfig({ model_dir: modelDir, seed: config.seed, inference }, "prl inference");
  const options = await engineOptions(process);
  const half = Math.floor((options.maxModelLen ?? config.seq_len) / 2);
  const maxTokens = Math.min(train.sampling.max_completion_tokens ?? half, half);
  const model = await orStopped(io.signal, loadModel(modelDir, options));
  const rounds: Round[] = [];
  try {
    await serve({ config: process, model, puller: null, index: 0 }, io, async (url) => {
      const client = new InferenceClient({ url, connections: requests });
      try {
        for (let round = 1; round <= steps; round++) {
          const found = await oneRound(client, { requests, promptTokens: half, maxTokens, vocabSize, seed: round });
          rounds.push(found);
          progress(io, [
            `Step ${round}/${steps}`,
            `${requests} requests of ${half} + ${maxTokens} tokens`,
            `Sampled tokens/s ${formatCount(found.sampled / found.seconds)}`,
            formatSeconds(found.seconds),
          ]);
        }
      } finally {
        await client.close();
      }
    });
  } finally {
    await closeWithin(CLOSE_ENGINE_MS, "closing the engine", model.close(), io);
  }
  const warm = rounds.slice(1);
  const latencies = warm.flatMap((round) => round.latencies).toSorted((a, b) => a - b);
  return report(
    "inference",
    steps,
    [
      { name: "sampled tokens", unit: "1/s", value: median(warm.map(({ sampled, seconds }) => sampled / seconds)) },
      { name: "prompt tokens", unit: "1/s", value: median(warm.map(({ prompt, seconds }) => prompt / seconds)) },
      { name: "requests", unit: "1/s", value: median(warm.map(({ seconds }) => requests / seconds)) },
      { name: "latency, median", unit: "s", value: median(latencies) },
      { name: "latency, longest", unit: "s", value: latencies.at(-1) ?? NaN },
      peakMemory(),
    ],
    io,
  );
}

interface RoundOptions {
  requests: number;
  promptTokens: number;
  maxTokens: number;
  vocabSize: number;
  seed: number;
}

async function oneRound(
  client: InferenceClient,
  { requests, promptTokens, maxTokens, vocabSize, seed }: RoundOptions,
): Promise<Round> {
  const rng = createRng(seed);
  const prompts = Array.from({ length: requests }, () =>
    Uint32Array.from({ length: promptTokens }, () => rng.integer(vocabSize)),
  );
  const startedAt = performance.now();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  const latencies: number[] = [];
  const completions = await Promise.all(
    prompts.map(async (tokenIds, i) => {
      const sampling = { maxTokens, ignoreEos: true, seed: seed * requests + i };
      const completion = await client.generate({ tokenIds, sampling, cacheSalt: String(seed) });
      latencies.push(seconds());
      return completion;
    }),
  );
  const sampled = completions.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0);
  return { seconds: seconds(), prompt: requests * promptTokens, sampled, latencies };
}
