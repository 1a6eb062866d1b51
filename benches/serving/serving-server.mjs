// The server process of serving.bench.mjs: the model behind HTTP, and the same requests to the bare engine. Its parent says what to do next.
import { loadModel } from "prl-lm/engine";
// The server is no public entry: what is measured is the program as it is built.
import { createInferenceServer } from "../../dist/inference/index.js";
import { watchLoopLag } from "../../dist/monitors/index.js";

const [dir, threads] = process.argv.slice(2);
const model = await loadModel(dir, { threads: Number(threads), kvCacheBytes: 512 * 1024 * 1024, prefixCache: false });
const server = await createInferenceServer(model, { modelDir: dir, modelNames: ["bench"] });
const url = await server.listen("127.0.0.1", 0);

let lag = null;
let cpu = null;
const commands = {
  /** The tokens of each request, and the seconds of all of them. */
  async bare({ requests }) {
    const [startedAt, startedCpu] = [performance.now(), process.cpuUsage()];
    const tokens = await Promise.all(requests.map(sampled));
    return { tokens, seconds: (performance.now() - startedAt) / 1000, cpu: cpuSeconds(startedCpu) };
  },
  watch() {
    lag = watchLoopLag();
    cpu = process.cpuUsage();
    return {};
  },
  watched() {
    const result = { lag: lag.take(), cpu: cpuSeconds(cpu) };
    lag.stop();
    return result;
  },
  async close() {
    await server.close();
    await model.close();
    setImmediate(() => process.disconnect());
    return {};
  },
};

process.on("message", ({ command, ...more }) => {
  void Promise.resolve(commands[command](more)).then((result) => process.send(result));
});
process.send({ url });

async function sampled({ id, token_ids: promptTokenIds, sampling_params: sampling }) {
  const tokens = [];
  const request = {
    id,
    promptTokenIds,
    maxTokens: sampling.max_tokens,
    temperature: sampling.temperature,
    seed: sampling.seed,
    ignoreEos: true,
  };
  for await (const { tokenIds, error } of model.generate([request])) {
    if (error !== undefined) throw error;
    tokens.push(...tokenIds);
  }
  return tokens;
}

function cpuSeconds(since) {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
}
