// An env worker for benches that runs nothing: it answers each rollout with 64 tokens after a while. Prints its address.
// node rollout-answers.mjs <shortest ms> <longest ms> <tokens>
import { createServer } from "node:http";
import { encodeEpisode } from "../../dist/environments/episode/episode-frame.js";

const [shortest, longest, tokens] = process.argv.slice(2).map(Number);
const PROMPT = 16;
const LENGTH_BYTES = 4;
const ALIGNMENT = 64;

const columns = {
  tokenIds: Uint32Array.from({ length: PROMPT + tokens }, (_, t) => 97 + (t % 26)),
  mask: new Uint8Array(PROMPT + tokens).fill(1, PROMPT),
  logprobs: new Float32Array(PROMPT + tokens).fill(-1, PROMPT),
  versionSpans: Uint32Array.of(0, 0xffffffff, PROMPT, 0),
  branchOffsets: Uint32Array.of(0, PROMPT + tokens),
};
// Its episode is replaced in each answer.
const episode = /** @type {any} */ ({});
const blob = encodeEpisode({ episode, columns: [columns] }).subarray(ALIGNMENT);
const text = "abcdefghijklmnopqrstuvwxyz".repeat(Math.ceil(tokens / 26)).slice(0, tokens);

function episodeOf({ episode_id: id, env, task, group_id: group, run }) {
  const trace = {
    id: `${id}-0`,
    agent: "agent",
    trainable: true,
    nodes: [
      { parent: null, message: { role: "user", content: "reverse this" }, sampled: false },
      { parent: 0, message: { role: "assistant", content: text }, sampled: true },
    ],
    rewards: { similarity: { score: Math.random(), weight: 1 } },
    reward: Math.random(),
    metrics: { exact: 0, "timing/sandbox_wait": 0 },
    stop_condition: "agent_completed",
    is_completed: true,
    is_truncated: false,
    usage: { prompt_tokens: PROMPT, completion_tokens: tokens },
    timing: { start: Date.now() / 1000, generation_ms: 1, scoring_ms: 1, total_ms: 2 },
    policy: { start: 0, end: 0 },
  };
  return { id, env: { id: env, name: env }, task, group: { id: group }, run, ok: true, errors: [], traces: [trace] };
}

function frameOf(request) {
  const json = JSON.stringify(episodeOf(request));
  const padded = Math.ceil((LENGTH_BYTES + Buffer.byteLength(json)) / ALIGNMENT) * ALIGNMENT;
  const head = Buffer.alloc(padded, " ");
  head.writeUInt32LE(padded - LENGTH_BYTES);
  head.write(json, LENGTH_BYTES);
  return Buffer.concat([head, blob]);
}

const server = createServer((request, response) => {
  if (request.method === "GET") return void response.end(tasksOf(request.url));
  let body = "";
  request.setEncoding("utf8");
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    const asked = JSON.parse(body);
    const ms = shortest + Math.random() * (longest - shortest);
    setTimeout(() => response.end(frameOf(asked)), request.url === "/run" ? ms : 0);
  });
});

function tasksOf(url) {
  const query = new URL(url, "http://worker").searchParams;
  const [after, limit] = [Number(query.get("after") ?? 0), Number(query.get("limit"))];
  const tasks = Array.from({ length: limit }, (_, i) => ({
    key: String(after + i),
    hash: "",
    data: { text: "reverse" },
  }));
  return JSON.stringify({ tasks, next: String(after + limit), endless: true, scores_groups: false });
}

server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", 4096, () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});
