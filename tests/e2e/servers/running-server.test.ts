/** Runs on inference servers that were there before, and stay; and runs beside each other. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { availableParallelism } from "node:os";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseCores } from "../../../ts/launcher/processes/core-claims.ts";
import { loadModel } from "../../../ts/native/index.ts";
import { childPids, prl, readJson, readJsonLines, ROOT, type Running, start, workspace } from "../../support/prl.ts";
import { runResult } from "../../support/runs/run-result.ts";
import { modelOfRun, undisturbedRun } from "../../support/runs/undisturbed-run.ts";
import { VllmStandIn } from "../../support/vllm/vllm-stand-in.ts";
import { longTest } from "../../support/form.ts";

const SYNC = join(import.meta.dirname, "../configs/sync.toml");
const STEPS = 3;

let place: Awaited<ReturnType<typeof workspace>>;
let servers: Running[];
beforeEach(async () => {
  place = await workspace();
  servers = [];
});
afterEach(async () => {
  for (const { child } of servers) child.kill("SIGTERM");
  await Promise.all(servers.map(({ finished }) => finished));
  await place.remove();
});
const options = () => ({ cwd: place.dir, cache: place.cache });
const SHARED = [SYNC, "--max-steps", String(STEPS), "--orchestrator.eval", "None"];
const argsOf = (name: string, ...more: string[]) => ["rl", ...SHARED, "--run.name", name, ...more];
const runDir = (name: string) => join(place.dir, "outputs", name);
const resultOf = (name: string) => runResult(runDir(name), STEPS);

/** `prl inference <folder>`, as a user would start it. */
async function serve(folder: string, port = 0): Promise<string> {
  const args = ["inference", folder, "--port", String(port), "--threads", "1"];
  const server = start(args, { ...options(), deadlineMs: 200_000 });
  servers.push(server);
  return new Promise((resolve, reject) => {
    server.child.stdout?.once("data", (line) => resolve(String(line).trim()));
    void server.finished.then(({ stderr }) => reject(new Error(stderr)));
  });
}

test("runs one after the other on servers that stay up: each gets its own weights, and the batches are those of a run that starts its servers", async () => {
  const own = { "7": await undisturbedRun(...SHARED), "8": await undisturbedRun(...SHARED, "--seed", "8") };
  const model = await modelOfRun(own["7"]);
  const urls = [await serve(model), await serve(model)];
  // The second run finds version 3 of the first, the third its own version 3 from before: each begins with version 0.
  for (const [name, seed, on] of [
    ["first", "7", urls.slice(0, 1)],
    ["second", "8", urls],
    ["third", "7", urls],
  ] as const) {
    const run = await prl(
      argsOf(name, "--seed", seed, "--orchestrator.client.base-url", JSON.stringify(on)),
      options(),
    );
    expect([run.code, run.stderr]).toEqual([0, ""]);
    expect(await resultOf(name)).toEqual(await runResult(own[seed], STEPS));
    // Under load a run has a spare env worker.
    const logs = (await readdir(join(runDir(name), "logs/latest"))).filter((file) => !file.startsWith("env-worker-"));
    expect(logs.toSorted()).toEqual(["launcher.log", "orchestrator-0.log", "trainer-0.log"]);
    const events = await readJsonLines<Record<string, unknown>>(join(runDir(name), "events.jsonl"));
    const canaries = events.filter(({ type }) => type === "canary");
    expect(canaries).toHaveLength(on.length * (STEPS + 1));
    expect(canaries.every(({ max_abs: difference }) => difference === 0)).toBe(true);
  }
  const { digest } = await readJson<{ digest: string }>(join(runDir("third"), `weights/step_${STEPS}/manifest.json`));
  for (const url of urls) {
    const health: unknown = await (await fetch(`${url}/health`)).json();
    expect(health).toMatchObject({ status: "ok", policy_version: STEPS, digest, paused: false });
  }
});

longTest("two runs at once share no port, socket, directory or core, and are what each is alone", async () => {
  const half = Math.max(1, Math.floor(availableParallelism() / 2));
  const grpc = ["--weight-broadcast.type", "grpc", "--rollout-transport.type", "grpc"];
  if (availableParallelism() > 1) grpc.push("--deployment.num-cores", String(half));
  const alone = async (name: string, seed: string) => {
    expect((await prl(argsOf(name, "--seed", seed, ...grpc), options())).code).toBe(0);
    return resultOf(name);
  };
  const expected = [await alone("alone-7", "7"), await alone("alone-8", "8")];
  const names = ["left", "right"];
  const runs = names.map((name, i) => start(argsOf(name, "--seed", String(7 + i), ...grpc), options()));
  const ended = Promise.all(runs.map(({ finished }) => finished));
  const seen = names.map(() => new Set<string>());
  const over = new AbortController();
  void ended.finally(() => over.abort());
  while (!over.signal.aborted) {
    for (const [i, name] of names.entries()) {
      const cores = availableParallelism() > 1 ? await coresOf(name) : [];
      for (const what of [...(await addressesOf(name)), ...cores]) seen[i]?.add(what);
    }
    await sleep(50);
  }
  expect((await ended).map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ""],
    [0, ""],
  ]);
  const [left = new Set(), right = new Set()] = seen;
  expect(left.size).toBeGreaterThanOrEqual(5);
  expect([...left].filter((address) => right.has(address))).toEqual([]);
  expect([await resultOf("left"), await resultOf("right")]).toEqual(expected);
});

/** Every address that a process of the run says that it listens on. */
async function addressesOf(name: string): Promise<string[]> {
  const files = await readdir(join(runDir(name), "run")).catch(() => []);
  const contents = await Promise.all(
    files.map((file) => readJson<Record<string, unknown>>(join(runDir(name), "run", file)).catch(() => ({}))),
  );
  return contents.flatMap((content: Record<string, unknown>) =>
    ["url", "rollouts", "weights"].flatMap((key) => (typeof content[key] === "string" ? [content[key]] : [])),
  );
}

/** The cores that every process of the run may use. */
async function coresOf(name: string): Promise<string[]> {
  const pids = Object.values(await childPids(runDir(name)));
  const lists = await Promise.all(
    pids.map(async (pid) => {
      const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
      return /^Cpus_allowed_list:\s*(\S+)$/m.exec(status)?.[1] ?? "";
    }),
  );
  return [...new Set(lists.flatMap(parseCores))].map((core) => `core ${core}`);
}

test("a server that is killed and started anew at its address gets the run's weights again, and one that is not there is named and left out", async () => {
  const own = await undisturbedRun(...SHARED);
  const folder = await modelOfRun(own);
  const url = await serve(folder);
  const both = JSON.stringify(["http://127.0.0.1:9", url]);
  const run = start(argsOf("elsewhere", "--orchestrator.client.base-url", both), options());
  const first = join(runDir("elsewhere"), "rollouts/step_1/traces.jsonl");
  for (const end = Date.now() + 60_000; Date.now() < end; await sleep(20)) {
    if (await readFile(first).catch(() => null)) break;
  }
  const [server] = servers.splice(0);
  server?.child.kill("SIGKILL");
  await server?.finished;
  expect(await serve(folder, Number(new URL(url).port))).toBe(url);
  const { code, stderr } = await run.finished;
  expect([code, stderr]).toEqual([0, ""]);
  expect(await resultOf("elsewhere")).toEqual(await runResult(own, STEPS));
  const events = await readJsonLines<Record<string, unknown>>(join(runDir("elsewhere"), "events.jsonl"));
  const missing = events.filter(({ type }) => type === "engine_missing");
  expect(missing.map(({ engine }) => engine)).toEqual(["http://127.0.0.1:9"]);
});

longTest(
  "a server that speaks as vLLM does gets each version from its folder, and the batches are those of a run that starts its servers",
  async () => {
    const own = await undisturbedRun(...SHARED);
    const model = await loadModel(await modelOfRun(own), { threads: 1 });
    const server = new VllmStandIn(model, { modelName: "served" });
    try {
      const on = ["--orchestrator.client.base-url", JSON.stringify([await server.listen()])];
      const run = await prl(argsOf("vllm", ...on, "--orchestrator.client.api", "vllm"), options());
      expect([run.code, run.stderr]).toEqual([0, ""]);
      expect(await resultOf("vllm")).toEqual(await runResult(own, STEPS));
      expect(server.calls.filter((call) => call === "POST /collective_rpc")).toHaveLength(STEPS + 1);
      expect(server.weightVersion).toMatch(new RegExp(`^${STEPS} `));
    } finally {
      await server.close();
      await model.close();
    }
  },
);

longTest("a server of another model ends the run by its name, within bounds", async () => {
  const small = join(ROOT, "configs/small-chat/model");
  const url = await serve(
    await modelOfRun(await undisturbedRun(SYNC, "--model", small, "--warm-start", "None", "--max-steps", "1")),
  );
  const run = await prl(argsOf("mixed", "--orchestrator.client.base-url", JSON.stringify([url])), options());
  expect(run.code).toBe(1);
  expect(run.stderr).toContain("PRL_INFERENCE_REQUEST");
  expect(run.stderr).toContain("cannot swap to weights with vocab_size");
  expect(run.stderr).toContain("--resume");
});

test("a server that is not there ends the run by its name", async () => {
  const gone = ["--orchestrator.client.base-url", '["http://127.0.0.1:9"]', "--orchestrator.client.patience-s", "2"];
  const run = await prl(argsOf("nowhere", ...gone), options());
  expect(run.code).toBe(1);
  expect(run.stderr).toContain("PRL_INFERENCE_UNREACHABLE");
});
