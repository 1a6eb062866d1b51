// How long `prl inference` takes from its start to the first token of a stream: the model of configs/small-chat, and one of 100 million parameters.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { randomCheckpoint } from "prl-lm/engine";
import { useTwoCores } from "../measurement/cores.mjs";
import { middle, report, threads } from "../measurement/report.mjs";
import { withModels } from "./shaped-model.mjs";
import { streamTokens } from "./token-stream.mjs";

const STARTS = 5;
const MAIN = join(import.meta.dirname, "../../bundle/cli/main.js");
const SMALL_CHAT = join(import.meta.dirname, "../../configs/small-chat/model");
/** The line with which a server says that it listens. */
const LISTENS = / at (http:\S+), /u;
const DEADLINE_MS = 60_000;
const BODY = { token_ids: [72, 105], sampling_params: { max_tokens: 4, seed: 1, ignore_eos: true } };

useTwoCores();
await withModels([{ shape: "100m" }], async ([large]) => {
  const small = join(dirname(large), "small-chat");
  await randomCheckpoint(SMALL_CHAT, small, 1);
  for (const [name, dir] of Object.entries({ "small-chat": small, "100m": large })) {
    // The first start fills the page cache, and the cache of compiled code.
    await secondsToToken(dir);
    const seconds = [];
    for (let start = 0; start < STARTS; start++) seconds.push(await secondsToToken(dir));
    const lower = { unit: `s (${STARTS} starts)`, better: "lower" };
    report({ name: `start-${name}-best`, ...lower, ours: Math.min(...seconds) });
    report({ name: `start-${name}-middle`, ...lower, ours: middle(seconds) });
  }
});

async function secondsToToken(dir) {
  const startedAt = performance.now();
  const args = [MAIN, "inference", dir, "--port", "0", "--threads", String(threads)];
  const server = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
  const timer = setTimeout(() => server.kill("SIGKILL"), DEADLINE_MS);
  const ended = once(server, "close");
  try {
    const url = await addressOf(server);
    let at;
    await streamTokens(url, BODY, { onTokens: () => (at ??= performance.now()) });
    return (at - startedAt) / 1000;
  } finally {
    server.kill("SIGTERM");
    await ended;
    clearTimeout(timer);
  }
}

/** Where the server listens; fails with what it wrote when it ends before. */
function addressOf(server) {
  return new Promise((resolve, reject) => {
    let text = "";
    server.stderr.setEncoding("utf8").on("data", (part) => {
      text += part;
      const url = LISTENS.exec(text)?.[1];
      if (url !== undefined) resolve(url);
    });
    server.once("close", () => reject(new Error(`prl inference ended: ${text}`)));
  });
}
