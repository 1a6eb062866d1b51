/** Runs that start and keep vLLM themselves, on a stand-in for `vllm serve`; `live-vllm.test.ts` does the same with the real one. */
import { readdir, readFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";

import { EXPERTS, publishVersion } from "../../integration/inference/tiny-model.ts";
import { childPids, isAlive, prl, readJsonLines, start, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/runs/run-result.ts";
import { type VllmPython, vllmPython } from "../../support/vllm/vllm-python.ts";
import { IS_LONG, longTest } from "../../support/form.ts";
import { undisturbedRun } from "../../support/runs/undisturbed-run.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const LORA = join(import.meta.dirname, "../configs/lora.toml");
const STEPS = 4;

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());
const options = () => ({ cwd: place.dir, cache: place.cache });
const SHARED = [SYNC, "--max-steps", String(STEPS), "--orchestrator.eval", "None"];
const argsOf = (name: string, ...more: string[]) => ["rl", ...SHARED, "--run.name", name, ...more];
const onVllm = ({ path }: VllmPython) => ["--inference.backend", "vllm", "--inference.python", path];
const runDir = (name: string) => join(place.dir, "outputs", name);
const resultOf = (name: string) => runResult(runDir(name), STEPS);
const undisturbed = async () => runResult(await undisturbedRun(...SHARED), STEPS);
const log = (name: string, part: string) => readFile(join(runDir(name), `logs/latest/${part}.log`), "utf8");

/** Waits until `find` gives something. */
async function until<T>(find: () => Promise<T | null>): Promise<T> {
  for (const end = Date.now() + 100_000; Date.now() < end; await sleep(25)) {
    const found = await find();
    if (found !== null) return found;
  }
  throw new Error("it did not come");
}

const gone = (...pids: number[]) => until(async () => (pids.some((pid) => isAlive(pid)) ? null : true));

test("one line changes what samples: the same batches and weights, and no process is left", async () => {
  const python = await vllmPython(place.dir);
  // Variables of the user's do not change what the config says.
  const env = { VLLM_API_KEY: "of-another-server", VLLM_CPU_KVCACHE_SPACE: "40" };
  const { code, stderr } = await prl(argsOf("vllm", ...onVllm(python)), { ...options(), env });
  expect([code, stderr]).toEqual([0, ""]);
  expect(await resultOf("vllm")).toEqual(await undisturbed());
  const [started, ...more] = await python.starts();
  if (started === undefined) throw new Error("vLLM was not started");
  expect(more).toEqual([]);
  expect(started.args.join(" ")).toMatch(/--host 127\.0\.0\.1 --port \d+ /);
  for (const pair of ["--enable-scale-out --logprobs-mode processed_logprobs", "--dtype float32", "--seed 7"])
    expect(started.args.join(" ")).toContain(pair);
  expect(started.env).toMatchObject({ VLLM_SERVER_DEV_MODE: "1", OMP_NUM_THREADS: "1" });
  for (const name of Object.keys(env)) expect(started.env).not.toHaveProperty(name);
  const text = await log("vllm", "inference-0");
  expect(text).toContain("INFO the stand-in starts");
  expect(text).toContain("INFO the stand-in shuts down");
  await gone(started.pid, started.worker);
  const events = await readJsonLines<Record<string, unknown>>(join(runDir("vllm"), "events.jsonl"));
  expect(events.filter(({ type }) => type === "canary").map(({ version }) => version)).toEqual([0, 1, 2, 3, 4]);
});

test("adapters that the engine trains are loaded beside the model: the same batches and weights", async () => {
  const python = await vllmPython(place.dir);
  const lora = (name: string, ...more: string[]) => ["rl", LORA, "--max-steps", "3", "--run.name", name, ...more];
  expect((await prl(lora("engine"), options())).code).toBe(0);
  const loaded = [...onVllm(python), "--inference.vllm.adapter", "loaded"];
  const { code, stderr } = await prl(lora("vllm", ...loaded), options());
  expect([code, stderr]).toEqual([0, ""]);
  expect(await runResult(runDir("vllm"), 3)).toEqual(await runResult(runDir("engine"), 3));
  const [started] = await python.starts();
  expect(started?.args.join(" ")).toMatch(/--served-model-name \S+@base .*--max-lora-rank 8 .*--enable-lora/u);
  expect(started?.env).toMatchObject({ VLLM_ALLOW_RUNTIME_LORA_UPDATING: "1" });
});

longTest("experts of a mixture come back, and are replayed as those of the engine", async () => {
  const python = await vllmPython(place.dir);
  const { dir: model } = await publishVersion(place.dir, 0, EXPERTS);
  const args = (name: string, ...more: string[]) =>
    argsOf(name, "--model.name", model, "--trainer.enable_router_replay", "true", ...more);
  expect((await prl(args("engine"), options())).code).toBe(0);
  const { code, stderr } = await prl(args("vllm", ...onVllm(python)), options());
  expect([code, stderr]).toEqual([0, ""]);
  expect(await resultOf("vllm")).toEqual(await resultOf("engine"));
  const [started] = await python.starts();
  expect(started?.args).toContain("--enable-return-routed-experts");
  expect(started?.env).toMatchObject({ VLLM_USE_V2_MODEL_RUNNER: "1" });
  const { dir: partly } = await publishVersion(join(place.dir, "partly"), 0, { ...EXPERTS, mlp_only_layers: [0] });
  const refused = await prl([...args("partly", ...onVllm(python)), "--model.name", partly], options());
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain("layers without a router, whose experts vLLM cannot leave out");
});

longTest("two servers with a key: only callers that show it get samples, and no file has it", async () => {
  const python = await vllmPython(place.dir);
  const key = ["--inference.vllm.api-key-var", "KEY_OF_THE_TEST"];
  const args = (name: string) => argsOf(name, ...onVllm(python), ...key, "--inference.replicas", "2");
  const missing = await prl(args("keyless"), options());
  expect([missing.code, missing.stderr]).not.toContain(0);
  expect(missing.stderr).toContain("the key of the vLLM servers is to be in KEY_OF_THE_TEST, which is not set");
  const { code, stderr } = await prl(args("key"), { ...options(), env: { KEY_OF_THE_TEST: "s3cret-of-the-test" } });
  expect([code, stderr]).toEqual([0, ""]);
  const starts = await python.starts();
  expect(starts).toHaveLength(2);
  for (const { args: given, env } of starts) {
    expect(given.join(" ")).not.toContain("s3cret");
    expect(env["VLLM_API_KEY"]).toBe("s3cret-of-the-test");
  }
  const files = await readdir(join(runDir("key"), "configs"));
  for (const file of files)
    expect(await readFile(join(runDir("key"), "configs", file), "utf8")).not.toContain("s3cret");
  const metrics = await readJsonLines<Record<string, number>>(join(runDir("key"), "metrics.jsonl"));
  expect(metrics.length).toBeGreaterThan(0);
});

test("kill -9 of vLLM: started again with the run's weights, and nothing is sampled otherwise", async () => {
  const python = await vllmPython(place.dir);
  const run = start(argsOf("killed", ...onVllm(python)), options());
  await until(() => readFile(join(runDir("killed"), "weights/step_2/manifest.json")).catch(() => null));
  const [first] = await python.starts();
  if (first === undefined) throw new Error("vLLM was not started");
  process.kill(first.pid, "SIGKILL");
  const { code, stderr } = await run.finished;
  expect([code, stderr]).toEqual([0, ""]);
  expect(await resultOf("killed")).toEqual(await undisturbed());
  const starts = await python.starts();
  expect(starts).toHaveLength(2);
  await gone(...starts.flatMap(({ pid, worker }) => [pid, worker]));
  const events = await readJsonLines<Record<string, unknown>>(join(runDir("killed"), "events.jsonl"));
  expect(events.filter(({ type }) => type === "restart")).toMatchObject([{ process: "inference-0" }]);
});

test.each(["the server's watcher", ...(IS_LONG ? ["the launcher"] : [])])(
  "kill -9 of %s: vLLM and what it started are gone",
  async (what) => {
    const python = await vllmPython(place.dir, { settings: { STAND_IN_STUBBORN: "1" } });
    const run = start(argsOf("orphans", "--max-steps", "1000", ...onVllm(python)), options());
    await until(() => readFile(join(runDir("orphans"), "weights/step_1/manifest.json")).catch(() => null));
    const [first] = await python.starts();
    const { "inference-0": watcher = 0 } = await childPids(runDir("orphans"));
    if (first === undefined) throw new Error("vLLM was not started");
    if (what === "the launcher") {
      run.child.kill("SIGKILL");
      await gone(first.pid, first.worker, watcher);
      return;
    }
    process.kill(watcher, "SIGKILL");
    await gone(first.pid, first.worker);
    await until(async () => (await python.starts())[1] ?? null);
    run.child.kill("SIGTERM");
    await run.finished;
    await gone(...(await python.starts()).flatMap(({ pid, worker }) => [pid, worker]));
  },
);

test("a vLLM that does not start fails the run with its last words", async () => {
  const last = "ValueError: no kernel for this head size";
  const python = await vllmPython(place.dir, { settings: { STAND_IN_FAILS: last } });
  const { code, stderr } = await prl(argsOf("broken", ...onVllm(python)), options());
  expect(code).toBe(1);
  expect(stderr).toContain("vLLM ended (exit code 1)");
  expect(stderr).toContain(last);
  expect(await python.starts()).toHaveLength(1);
});

test("a vLLM that never answers fails the run at its deadline, and is gone", async () => {
  const python = await vllmPython(place.dir, { settings: { STAND_IN_SILENT: "1", STAND_IN_STUBBORN: "1" } });
  const late = ["--inference.vllm.start-timeout-s", "4"];
  const { code, stderr } = await prl(argsOf("silent", ...onVllm(python), ...late), options());
  expect(code).toBe(1);
  expect(stderr).toMatch(/PRL_PROCESS_NOT_READY.*within 4 s \(inference\.vllm\.start_timeout_s\)/s);
  // Under load the deadline may come before the second line of the stand-in.
  expect(stderr).toMatch(/INFO the stand-in (starts|says nothing)/u);
  await gone(...(await python.starts()).flatMap(({ pid, worker }) => [pid, worker]));
});

test("a missing, an old and a misused vLLM are refused before there is a run directory", async () => {
  const backend = ["--inference.backend", "vllm"];
  const missing = await prl(argsOf("none", ...backend), options());
  expect([missing.code, missing.stderr]).toEqual([2, expect.stringContaining("npx prl python setup vllm")]);
  const old = await vllmPython(place.dir, { version: "0.29.0+cpu" });
  const tooOld = await prl(argsOf("none", ...onVllm(old)), options());
  expect([tooOld.code, tooOld.stderr]).toEqual([
    2,
    expect.stringContaining("vllm 0.29.0+cpu (0.32 or newer is needed)"),
  ]);
  const onGpus = await vllmPython(place.dir, { version: "0.32.0" });
  const threads = await prl(argsOf("none", ...onVllm(onGpus), "--inference.threads", "2"), options());
  expect([threads.code, threads.stderr]).toEqual([2, expect.stringContaining("computes on GPUs and reads no threads")]);
  const gpus = ["--inference.replicas", "2"];
  const few = await prl(argsOf("none", ...onVllm(onGpus), ...gpus), {
    ...options(),
    env: { CUDA_VISIBLE_DEVICES: "3" },
  });
  expect([few.code, few.stderr]).toEqual([2, expect.stringContaining("needs 2 GPUs, and 1 can be used")]);
  expect(await readFile(join(runDir("none"), "configs/rl.json")).catch(() => null)).toBeNull();
});

longTest("prl sft evaluates its versions on it", async () => {
  const python = await vllmPython(place.dir, { version: "0.33.0+cpu" });
  const config = join(import.meta.dirname, "../configs/sft-evaluated.toml");
  const evaluated = await prl(["sft", config, "--run.name", "engine"], options());
  expect([evaluated.code, evaluated.stderr]).toEqual([0, ""]);
  const { code, stderr } = await prl(["sft", config, "--run.name", "vllm", ...onVllm(python)], options());
  expect([code, stderr]).toEqual([0, ""]);
  expect(await python.starts()).toHaveLength(1);
  const rewards = async (name: string) =>
    (await readJsonLines<Record<string, number>>(join(runDir(name), "metrics.jsonl"))).flatMap(
      (line) => line["eval/held-out/all/agent/reward/mean"] ?? [],
    );
  expect((await rewards("vllm")).length).toBeGreaterThan(1);
  expect(await rewards("vllm")).toEqual(await rewards("engine"));
});

longTest("a server that is started without the launcher joins the run with its vLLM, and ends it", async () => {
  const python = await vllmPython(place.dir);
  const dir = runDir("alone");
  const shared = ["--max-steps", String(STEPS), "--orchestrator.eval", "None", "--warm-start", "None"];
  const server = start(["inference", "@", SYNC, "--run-dir", dir, ...shared, ...onVllm(python)], options());
  const ready = await until(() => readFile(join(dir, "run/inference-0.json"), "utf8").catch(() => null));
  const { url } = JSON.parse(ready) as { url: string };
  expect(await (await fetch(`${url}/weight_info`)).json()).toEqual({ weight_version: "default" });
  server.child.kill("SIGTERM");
  expect((await server.finished).code).toBe(143);
  await gone(...(await python.starts()).flatMap(({ pid, worker }) => [pid, worker]));
});

test("on GPUs each server gets its own, and the trainer all cores", async () => {
  const python = await vllmPython(place.dir, { version: "0.32.0" });
  const env = { CUDA_VISIBLE_DEVICES: "5,6,7" };
  const two = ["--inference.replicas", "2", "--trainer.ranks", "1"];
  const { code, stderr } = await prl(argsOf("gpus", ...onVllm(python), ...two), { ...options(), env });
  expect([code, stderr]).toEqual([0, ""]);
  const starts = await python.starts();
  expect(new Set(starts.map(({ env: given }) => given["CUDA_VISIBLE_DEVICES"]))).toEqual(new Set(["6", "7"]));
  for (const { args, env: given } of starts) {
    expect(args).not.toContain("--worker-cls");
    expect(given["OMP_NUM_THREADS"]).toBeUndefined();
  }
  const { trainer } = JSON.parse(await readFile(join(runDir("gpus"), "configs/rl.json"), "utf8")) as {
    trainer: { threads: number };
  };
  expect(trainer.threads).toBe(availableParallelism());
});

test("a release that is newer than the client runs, with a warning", async () => {
  const python = await vllmPython(place.dir, { version: "0.33.0+cpu" });
  const { code, stdout, stderr } = await prl(argsOf("newer", ...onVllm(python), "--dry-run"), options());
  expect(code).toBe(0);
  expect(stdout + stderr).toContain("vLLM 0.33.0+cpu is newer than 0.32, the newest that prl was run against");
});
