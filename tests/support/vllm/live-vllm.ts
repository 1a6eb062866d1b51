/** A live vLLM, for the tests that compare with one: `PRL_TEST_VLLM` names its program. Nothing of it is part of the project. */
import { type ChildProcess, spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

import { freePorts } from "../free-ports.ts";

/** The program `vllm`; undefined: no live server is asked. */
export const VLLM = process.env["PRL_TEST_VLLM"];
/** It takes most of a minute to start. */
export const VLLM_STARTS_MS = 240_000;
const ENDS_MS = 20_000;
const LOG_CHARACTERS = 4_000;

export interface LiveVllm {
  url: string;
  stop(): Promise<void>;
}

/** Serves a folder as `tiny` on one core, in float32, as a run wants it. Rejects with the end of its log. */
export async function serveVllm(folder: string): Promise<LiveVllm> {
  const [port] = await freePorts(1);
  const shape = ["--dtype", "float32", "--enforce-eager", "--max-num-seqs", "64", "--served-model-name", "tiny"];
  const needed = ["--enable-scale-out", "--logprobs-mode", "processed_logprobs"];
  const args = ["serve", folder, "--host", "127.0.0.1", "--port", String(port), ...shape, ...needed];
  const child = spawn(VLLM ?? "vllm", args, { env: { ...process.env, ...SETTINGS }, detached: true });
  let log = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (text) => (log = (log + String(text)).slice(-LOG_CHARACTERS)));
  let failure: Error | null = null;
  child.on("error", (error) => (failure = error));
  const url = `http://127.0.0.1:${port}`;
  const stop = () => ended(child);
  for (const end = Date.now() + VLLM_STARTS_MS; Date.now() < end; await sleep(250)) {
    if (failure !== null || child.exitCode !== null) break;
    const isUp = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) return { url, stop };
  }
  await stop();
  throw new Error(`vLLM did not start: ${log}`, { cause: failure });
}

const SETTINGS = {
  VLLM_SERVER_DEV_MODE: "1",
  VLLM_CPU_KVCACHE_SPACE: "1",
  VLLM_NO_USAGE_STATS: "1",
  HF_HUB_OFFLINE: "1",
  OMP_NUM_THREADS: "1",
  VLLM_CPU_OMP_THREADS_BIND: String(availableParallelism() - 1),
};

/** With the processes that it has started: they are of its group. */
async function ended(child: ChildProcess): Promise<void> {
  const { pid } = child;
  if (pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((done) => child.once("exit", done));
  process.kill(-pid, "SIGTERM");
  const timer = setTimeout(() => process.kill(-pid, "SIGKILL"), ENDS_MS);
  await exited;
  clearTimeout(timer);
}
