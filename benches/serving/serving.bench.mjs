// 256 clients that read streams at the same time, server and clients on the same two cores: tokens per second beside the bare engine, how
// late the server's event loop is, and the CPU time of the server beside that of the bare engine. Every stream has to have exactly
// the tokens that the bare engine samples for the same seed.
import { fork } from "node:child_process";
import { once } from "node:events";
import { Agent } from "node:http";
import { join } from "node:path";
import { useTwoCores } from "../measurement/cores.mjs";
import { report, threads } from "../measurement/report.mjs";
import { withModels } from "./shaped-model.mjs";
import { streamTokens } from "./token-stream.mjs";

const CLIENTS = 256;
const PROMPT = 32;
const COMPLETION = 64;
const ROUNDS = 2;

useTwoCores();
const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
try {
  await withModels([{ shape: "12m" }], ([dir]) => measure(dir));
} finally {
  agent.destroy();
}

async function measure(modelDir) {
  const server = fork(join(import.meta.dirname, "serving-server.mjs"), [modelDir, String(threads)]);
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
  const read = await Promise.all(requests.map(({ id: _id, ...request }) => streamTokens(url, request, { agent })));
  read.forEach((own, i) => {
    if (own.join() !== tokens[i].join()) throw new Error(`stream ${i} lost, doubled or changed a token`);
  });
}
