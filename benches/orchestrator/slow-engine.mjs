// An inference server for benches that samples nothing: 256 tokens after 2 to 6 seconds. Prints its address.
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";

const TOKENS = 256;
const EOS = 257;

const tokenIds = Array.from({ length: TOKENS }, (_, t) => (t === TOKENS - 1 ? EOS : 97 + (t % 26)));
const content = tokenIds.map((_, t) => ({ logprob: -t / TOKENS }));
const server = createServer((request, response) => void answer(request, response));
server.listen(0, "127.0.0.1", () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  process.stdout.write(`http://127.0.0.1:${port}\n`);
});

async function answer(request, response) {
  request.resume();
  await delay(2_000 + 4_000 * Math.random());
  // Rewards must differ within a group, or nothing trains.
  tokenIds[0] = 97 + Math.floor(26 * Math.random());
  const choice = { index: 0, token_ids: tokenIds, logprobs: { content }, finish_reason: "stop", stop_reason: EOS };
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ request_id: "r", choices: [{ ...choice, policy_versions: [[0, 0]] }] }));
}
