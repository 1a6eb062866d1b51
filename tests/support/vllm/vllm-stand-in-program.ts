/**
 * `vllm serve` for tests, as a program: the stand-in behind the command line that vLLM has. It knows the arguments that a run may give, and ends
 * as vLLM does for others. `vllm-python.ts` makes the interpreter that starts it.
 */
import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { parseArgs } from "node:util";

import { loadModel } from "../../../ts/native/index.ts";
import { VllmStandIn } from "./vllm-stand-in.ts";

const VALUED =
  "host port served-model-name logprobs-mode dtype seed max-model-len max-num-seqs kv-cache-memory-bytes gpu-memory-utilization tensor-parallel-size data-parallel-size quantization max-lora-rank worker-cls kv-cache-dtype max-num-batched-tokens".split(
    " ",
  );
const SWITCHES =
  "enable-scale-out disable-uvicorn-access-log enable-prefix-caching no-enable-prefix-caching enforce-eager no-enable-chunked-prefill enable-expert-parallel enable-return-routed-experts enable-sleep-mode enable-lora".split(
    " ",
  );

/** What a test asks of it: `STAND_IN_<name>`. */
const { STAND_IN_RECORD: record, STAND_IN_FAILS: fails, STAND_IN_SILENT: silent } = process.env;
const { STAND_IN_STUBBORN: stubborn, STAND_IN_CALLS: calls } = process.env;

const [module, command, ...rest] = process.argv.slice(3);
if (module !== "vllm.entrypoints.cli.main" || command !== "serve")
  throw new Error(`no stand-in for ${process.argv.join(" ")}`);
const { values, positionals } = parseArgs({
  args: rest,
  allowPositionals: true,
  options: {
    ...Object.fromEntries(VALUED.map((name) => [name, { type: "string" as const }])),
    ...Object.fromEntries(SWITCHES.map((name) => [name, { type: "boolean" as const }])),
  },
});
const text = (name: string): string | undefined => {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
};

// As vLLM's engine: a process that has to be gone when the server is.
const worker = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)"], { stdio: "ignore" });
if (record !== undefined) {
  const vllmEnv = Object.entries(process.env).filter(([name]) => /^(VLLM|OMP|HF|PYTHON|CUDA)_?/u.test(name));
  const line = { pid: process.pid, worker: worker.pid, args: rest, env: Object.fromEntries(vllmEnv) };
  appendFileSync(record, `${JSON.stringify(line)}\n`);
}
if (fails !== undefined) {
  process.stderr.write("Traceback (most recent call last):\n");
  process.stderr.write(`${fails}\n`);
  process.exit(1);
}
process.stdout.write("INFO the stand-in starts\n");
const model = await loadModel(positionals[0] ?? "", { threads: Number(process.env["OMP_NUM_THREADS"] ?? "1") });
const apiKey = process.env["VLLM_API_KEY"];
const server = new VllmStandIn(model, {
  modelName: text("served-model-name") ?? "",
  devMode: process.env["VLLM_SERVER_DEV_MODE"] === "1",
  scaleOut: values["enable-scale-out"] === true,
  logprobsMode: text("logprobs-mode") ?? "raw_logprobs",
  returnsExperts: values["enable-return-routed-experts"] === true,
  sleepMode: values["enable-sleep-mode"] === true,
  loadsAdapters: values["enable-lora"] === true && process.env["VLLM_ALLOW_RUNTIME_LORA_UPDATING"] === "1",
  ...(calls !== undefined && {
    onCall: (call: string) => appendFileSync(calls, `${JSON.stringify({ time: Date.now() / 1000, call })}\n`),
  }),
  ...(apiKey !== undefined && { apiKey }),
});
if (stubborn === undefined) {
  process.on("SIGTERM", () => {
    worker.kill();
    process.stdout.write("INFO the stand-in shuts down\n", () => process.exit(0));
  });
} else {
  process.on("SIGTERM", () => process.stdout.write("INFO the stand-in does not end\n"));
}
if (silent === undefined) await server.listen(Number(text("port")));
else process.stdout.write("INFO the stand-in says nothing\n");
setInterval(() => undefined, 1_000);
