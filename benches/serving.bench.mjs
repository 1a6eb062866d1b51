// 256 clients that read streams at the same time, server and clients on the same two cores: tokens per second beside the bare engine, how
// late the server's event loop is, and the CPU time of the server beside that of the bare engine. Every stream has to have exactly
// the tokens that the bare engine samples for the same seed.
import { fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request as httpRequest } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { report, threads } from "./measurement/report.mjs";

const CLIENTS = 256;
const PROMPT = 32;
const COMPLETION = 64;
const ROUNDS = 2;
const TOKENIZER = join(import.meta.dirname, "../configs/reverse-text/model");
/** The 12m shape of the engine's benches. */
const SHAPE = {
  architectures: ["LlamaForCausalLM"],
  model_type: "llama",
  vocab_size: 4096,
  hidden_size: 384,
  intermediate_size: 1152,
  num_hidden_layers: 6,
  num_attention_heads: 6,
  num_key_value_heads: 2,
  head_dim: 64,
  hidden_act: "silu",
  max_position_embeddings: 512,
  rms_norm_eps: 1e-6,
  rope_theta: 10000,
  tie_word_embeddings: true,
  attention_bias: false,
  initializer_range: 0.02,
  eos_token_id: 257,
  torch_dtype: "float32",
};

const pinned = spawnSync("taskset", ["-acp", "0,1", String(process.pid)]).status === 0;
if (!pinned) console.log("serving: taskset is not there, all cores are used");
const root = mkdtempSync(join(tmpdir(), "prl-bench-"));
const [configDir, modelDir] = [join(root, "config"), join(root, "model")];
const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
try {
  mkdirSync(modelDir);
  mkdirSync(configDir);
  for (const file of ["tokenizer.json", "tokenizer_config.json"]) cpSync(join(TOKENIZER, file), join(configDir, file));
  writeFileSync(join(configDir, "config.json"), JSON.stringify(SHAPE));
  await measure();
} finally {
  agent.destroy();
  rmSync(root, { recursive: true });
}

async function measure() {
  const server = fork(join(import.meta.dirname, "serving/serving-server.mjs"), [configDir, modelDir, String(threads)]);
  const call = async (command, more = {}) => {
    const answer = once(server, "message");
    server.send({ command, ...more });
    return (await answer)[0];
  };
  const [{ url }] = await once(server, "message");
  const requests = Array.from({ length: CLIENTS }, (_, i) => ({
    id: String(i),
    token_ids: Array.from({ length: PROMPT }, (__, t) => (t * 31 + i * 7) % 256),
    sampling_params: { max_tokens: COMPLETION, temperature: 1, seed: i, ignore_eos: true },
  }));
  const { tokens } = await call("bare", { requests });
  await streams(url, requests, tokens);
  const rounds = [];
  for (let round = 0; round < ROUNDS; round++) {
    const bare = await call("bare", { requests });
    await call("watch");
    const startedAt = performance.now();
    await streams(url, requests, tokens);
    const seconds = (performance.now() - startedAt) / 1000;
    rounds.push({ bare, seconds, ...(await call("watched")) });
  }
  await call("close");
  const best = (value) => Math.min(...rounds.map(value));
  const total = CLIENTS * COMPLETION;
  report({
    name: "serving-streams",
    unit: "tokens/s",
    better: "higher",
    ours: total / best(({ seconds }) => seconds),
    rivals: { "bare engine": total / best(({ bare }) => bare.seconds) },
  });
  report({
    name: "serving-cpu",
    unit: "s of the server's CPU",
    better: "lower",
    ours: best(({ cpu }) => cpu),
    rivals: { "bare engine": best(({ bare }) => bare.cpu) },
  });
  const lags = rounds.map(({ lag }) => 1000 * lag["event_loop_lag/p99"]);
  report({ name: "serving-loop-lag", unit: "ms (p99)", better: "lower", ours: Math.max(...lags) });
  console.log(`${ROUNDS} rounds of ${CLIENTS} streams: every token once`);
}

/** Reads all streams at the same time. Fails when one of them differs from `tokens`. */
async function streams(url, requests, tokens) {
  const read = await Promise.all(requests.map((request) => stream(url, request)));
  read.forEach((own, i) => {
    if (own.join() !== tokens[i].join()) throw new Error(`stream ${i} lost, doubled or changed a token`);
  });
}

function stream(url, { id: _id, ...request }) {
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const sent = httpRequest(`${url}/inference/v1/generate`, { method: "POST", agent, headers }, (response) => {
      const tokens = [];
      let rest = "";
      response.setEncoding("utf8");
      response.on("data", (text) => {
        const events = (rest + text).split("\n\n");
        rest = events.pop();
        for (const event of events) {
          if (!event.startsWith("data: {")) continue;
          const { choices, error } = JSON.parse(event.slice("data: ".length));
          if (error !== undefined) reject(new Error(error.message));
          else tokens.push(...choices[0].token_ids);
        }
      });
      response.on("end", () => resolve(tokens));
      response.on("error", reject);
    });
    sent.on("error", reject);
    sent.end(JSON.stringify({ ...request, stream: true }));
  });
}
