import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";

import { openTrainer } from "../../../ts/native/index.ts";
import { selfCommand } from "../../../ts/self-command.ts";
import { InferenceAdmin } from "../../../ts/inference-client/index.ts";
import type { ReadyFile } from "../../../ts/monitors/index.ts";
import { InferenceClient } from "../../../ts/inference-client/index.ts";
import { argumentsWith } from "../../support/hidden-key.ts";
import { publishVersion, scratch, type WeightsFolder } from "./tiny-model.ts";

const READY_DEADLINE_MS = 60_000;
const STOP_DEADLINE_MS = 10_000;

let root: Awaited<ReturnType<typeof scratch>>;
let weights: WeightsFolder;
let children: ChildProcess[] = [];

beforeAll(async () => {
  root = await scratch();
  weights = await publishVersion(root.dir, 3);
});

afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children = [];
});

afterAll(() => root?.remove());

/** Starts `prl inference` as the launcher does, with a lifeline on fd 3. */
async function start(inference: Record<string, unknown>) {
  const runDir = join(root.dir, "run");
  await rm(runDir, { recursive: true, force: true });
  await mkdir(runDir);
  const config = join(runDir, "inference.json");
  await writeFile(config, JSON.stringify({ model_dir: weights.dir, version: 3, seed: 1, inference }));
  const { command, args } = selfCommand();
  const child = spawn(command, [...args, "inference", "--config", config, "--run-dir", runDir, "--index", "0"], {
    stdio: ["ignore", "pipe", "pipe", "pipe"],
    detached: true,
  });
  children.push(child);
  let output = "";
  child.stdout?.on("data", (chunk) => (output += String(chunk)));
  child.stderr?.on("data", (chunk) => (output += String(chunk)));
  const exited = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  return { child, exited, runDir, output: () => output };
}

async function ready({
  child,
  runDir,
  output,
}: Awaited<ReturnType<typeof start>>): Promise<ReadyFile & { url: string }> {
  const deadline = Date.now() + READY_DEADLINE_MS;
  for (;;) {
    try {
      return JSON.parse(await readFile(join(runDir, "run", "inference-0.json"), "utf8")) as ReadyFile & { url: string };
    } catch (error) {
      const ended = child.exitCode !== null || child.signalCode !== null;
      if (ended || Date.now() > deadline) throw new Error(`not ready: ${output()}`, { cause: error });
    }
    await new Promise((done) => setTimeout(done, 20));
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_done, fail) => {
    timer = setTimeout(() => fail(new Error(`not done within ${ms} ms`)), ms);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

describe("prl inference", () => {
  it(
    "serves the model of its config, says where, and ends on SIGTERM even with a request under way",
    async () => {
      const started = await start({ threads: 1, server: { host: "127.0.0.1", port: 0 }, model: { name: "tiny" } });
      const file = await ready(started);
      expect(file).toMatchObject({ pid: started.child.pid, dtype: "float32", version: 3, isa: expect.any(String) });
      const client = new InferenceClient({ url: file.url, model: "tiny" });
      const { policyVersions } = await client.generate({
        tokenIds: [1, 2],
        sampling: { maxTokens: 3, ignoreEos: true },
      });
      expect(policyVersions).toEqual([[0, 3]]);
      const admin = new InferenceAdmin({ url: file.url });
      await admin.pause("keep");
      const pending = client.generate({ tokenIds: [1, 2] });
      const refused = expect(pending).rejects.toMatchObject({ code: expect.stringMatching(/^PRL_INFERENCE_/) });
      started.child.kill("SIGTERM");
      const [code] = await within(STOP_DEADLINE_MS, started.exited);
      expect(code).toBe(143);
      await refused;
      await Promise.all([client.close(), admin.close()]);
    },
    READY_DEADLINE_MS + STOP_DEADLINE_MS,
  );

  it(
    "ends when its launcher is gone",
    async () => {
      const started = await start({ threads: 1 });
      await ready(started);
      const lifeline = started.child.stdio[3] as Socket;
      lifeline.destroy();
      const [code] = await within(STOP_DEADLINE_MS, started.exited);
      expect(code).toBe(143);
    },
    READY_DEADLINE_MS + STOP_DEADLINE_MS,
  );

  it(
    "loads weights from the run's folder of versions only",
    async () => {
      const started = await start({ threads: 1 });
      const { url } = await ready(started);
      expect(await updated(url, weights.dir)).toBe(403);
      const version = join(started.runDir, "weights/step_3");
      await cp(weights.dir, version, { recursive: true });
      expect(await updated(url, version)).toBe(200);
    },
    READY_DEADLINE_MS,
  );

  it(
    "takes another port when its own is taken",
    async () => {
      const holder = createServer().listen(0, "127.0.0.1");
      await once(holder, "listening");
      const { port } = holder.address() as AddressInfo;
      const started = await start({ threads: 1, server: { host: "127.0.0.1", port } });
      const { url } = await ready(started);
      expect(new URL(url).port).not.toBe(String(port));
      expect((await fetch(`${url}/health`)).status).toBe(200);
      holder.close();
    },
    READY_DEADLINE_MS,
  );

  it(
    "exits 2 and names the key when its config is wrong",
    async () => {
      const started = await start({ max_num_seqs: "many" });
      const [code] = await within(READY_DEADLINE_MS, started.exited);
      expect(code).toBe(2);
      expect(started.output()).toContain("inference.max_num_seqs");
    },
    READY_DEADLINE_MS,
  );
});

/** Status of the answer to a request for other weights. */
async function updated(url: string, dir: string): Promise<number> {
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ version: 3, digest: weights.digest, source: { dir } });
  return (await fetch(`${url}/update_weights`, { method: "POST", headers, body })).status;
}

describe("prl inference <model folder>", () => {
  it.each([
    ["the folder that it is started in and the model's", [], [200, 200, 403]],
    ["those that --weights-root names", ["--weights-root", "b, c"], [403, 403, 200]],
  ])("loads weights from %s", { timeout: READY_DEADLINE_MS }, async (_, options, statuses) => {
    const folders = ["model", "a/cwd", "a/cwd/b"].map((name) => join(root.dir, "alone", name));
    for (const folder of folders) await cp(weights.dir, folder, { recursive: true });
    const [model = "", cwd = "", below = ""] = folders;
    const { command, args } = selfCommand();
    const given = ["inference", model, "--port", "0", "--threads", "1", ...options];
    const child = spawn(command, [...args, ...given], { cwd, stdio: ["ignore", "pipe", "pipe"] });
    children.push(child);
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const url = line.toString().trim();
    const beside = options.length === 0 ? weights.dir : below;
    expect([await updated(url, model), await updated(url, cwd), await updated(url, beside)]).toEqual(statuses);
  });

  it("serves it alone until a signal stops it, with the address on stdout", async () => {
    const { command, args } = selfCommand();
    const child = spawn(
      command,
      [
        ...args,
        "inference",
        weights.dir,
        ..."--port 0 --threads 1 --served-model-name mine,other --api-key first-key,second-key".split(" "),
        ..."--max-num-seqs 4 --max-waiting 0 --no-enable-prefix-caching --seed 3".split(" "),
      ],
      {
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    children.push(child);
    let said = "";
    child.stderr.on("data", (chunk) => (said += String(chunk)));
    const exited = once(child, "exit");
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const url = line.toString().trim();
    const ask = async (key: string, more: object) =>
      fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${key}` },
        body: JSON.stringify({ messages: [{ role: "user", content: "hi" }], max_tokens: 4, ...more }),
      });
    expect(said).toContain("Warning: --api-key: other users of this machine could see the key");
    for (const key of ["first-key", "second-key"]) {
      expect(said).not.toContain(key);
      expect(await argumentsWith(key)).toEqual([]);
    }
    expect(await readFile(`/proc/${child.pid}/cmdline`, "utf8")).toContain(`--api-key ***,***`);
    const response = await ask("second-key", { model: "other" });
    expect(await response.json()).toMatchObject({ model: "other", choices: [{ message: { role: "assistant" } }] });
    expect((await ask("third-key", {})).status).toBe(401);
    expect((await ask("first-key", { n: 5 })).status).toBe(429);
    child.kill("SIGTERM");
    expect(await exited).toEqual([143, null]);
  });

  it("takes keys from a file", async () => {
    const keys = join(root.dir, "keys");
    await writeFile(keys, "key-of-a-line\nsecond, third\n");
    const { command, args } = selfCommand();
    const given = ["inference", weights.dir, "--port", "0", "--threads", "1", "--api-key-file", keys];
    const child = spawn(command, [...args, ...given], { stdio: ["ignore", "pipe", "pipe"] });
    children.push(child);
    let said = "";
    child.stderr.on("data", (chunk) => (said += String(chunk)));
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const listed = async (key: string) =>
      (await fetch(`${line.toString().trim()}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
    const statuses = { "key-of-a-line": 200, second: 200, third: 200, fourth: 401 };
    for (const [key, status] of Object.entries(statuses)) expect([key, await listed(key)]).toEqual([key, status]);
    expect(said).not.toContain("Warning");
    expect(await argumentsWith("key-of-a-line")).toEqual([]);
  });

  it("takes a template, its variables, parsers and a dtype under vLLM's names", async () => {
    const template = join(root.dir, "template.jinja");
    await writeFile(template, "{{ word }}:{% for message in messages %}{{ message.content }}{% endfor %}");
    const { command, args } = selfCommand();
    const child = spawn(
      command,
      [
        ...args,
        "inference",
        weights.dir,
        ..."--port 0 --threads 1 --dtype bfloat16 --enable-prefix-caching --enable-auto-tool-choice".split(" "),
        ..."--tool-call-parser qwen3_coder --reasoning-parser deepseek_r1 --default-chat-template-kwargs".split(" "),
        '{"word": "Ask"}',
        "--chat-template",
        template,
      ],
      { stdio: ["ignore", "pipe", "pipe"] },
    );
    children.push(child);
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const url = line.toString().trim();
    const post = async (path: string, body: object) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
      return (await response.json()) as Record<string, unknown>;
    };
    const messages = [{ role: "user", content: "hi" }];
    const promptOf = async (more: object) =>
      (await post("/detokenize", { tokens: (await post("/tokenize", { messages, ...more }))["tokens"] }))["prompt"];
    expect(await promptOf({})).toBe("Ask:hi");
    expect(await promptOf({ chat_template_kwargs: { word: "Say" } })).toBe("Say:hi");
    expect(await (await fetch(`${url}/version`)).json()).toMatchObject({ dtype: "bfloat16" });
    const chat = await post("/v1/chat/completions", { messages, max_tokens: 4, ignore_eos: true });
    expect(chat).toMatchObject({ choices: [{ message: { content: "", reasoning: expect.any(String) } }] });
  });

  it("loads adapters, bounds them, and has sampling defaults under vLLM's names", async () => {
    const adapters = [4, 8].map((rank) => ({ rank, dir: join(root.dir, `adapter-${rank}`) }));
    for (const { rank, dir } of adapters) {
      const trainer = await openTrainer(weights.dir, {
        threads: 1,
        loss: { type: "ce" },
        optim: { type: "adamw", lr: 0.1 },
        lora: { rank },
      });
      await trainer.save(dir);
      await trainer.close();
    }
    const [small = "", large = ""] = adapters.map(({ dir }) => dir);
    const { command, args } = selfCommand();
    const flags = "--port 0 --threads 1 --name tiny --enable-lora --max-loras 1 --max-lora-rank 4";
    const generation = ["--generation-config", "vllm", "--override-generation-config", '{"temperature": 0}'];
    const modules = ["--lora-modules", `mine=${small}`, "--weights-root", root.dir];
    const child = spawn(command, [...args, "inference", weights.dir, ...flags.split(" "), ...modules, ...generation], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.push(child);
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const url = line.toString().trim();
    const post = async (path: string, body: object) => {
      const headers = { "content-type": "application/json" };
      const response = await fetch(url + path, { method: "POST", headers, body: JSON.stringify(body) });
      return (await response.json()) as Record<string, unknown>;
    };
    expect(await (await fetch(`${url}/v1/models`)).json()).toMatchObject({ data: [{ id: "tiny" }, { id: "mine" }] });
    const prompt = "abcdefghijklmnopqrstuvwxyz";
    const asked = (more: object) => post("/v1/completions", { model: "mine", prompt, ignore_eos: true, ...more });
    const greedy = await asked({ temperature: 0 });
    expect(greedy).toMatchObject({ choices: [{ finish_reason: "length" }] });
    expect((await asked({ seed: 5 }))["choices"]).toEqual(greedy["choices"]);
    expect((await asked({ seed: 5, temperature: 1 }))["choices"]).not.toEqual(greedy["choices"]);
    const refused = await post("/v1/load_lora_adapter", { lora_name: "other", lora_path: small });
    expect(refused).toMatchObject({ error: { message: expect.stringContaining("1 adapters are loaded") } });
    await post("/v1/unload_lora_adapter", { lora_name: "mine" });
    const above = await post("/v1/load_lora_adapter", { lora_name: "other", lora_path: large });
    expect(above).toMatchObject({ error: { message: expect.stringContaining("rank 8, above --max-lora-rank 4") } });
  });

  it("computes no more tokens in a step than it is given, and says how many adapters it may have", async () => {
    const { command, args } = selfCommand();
    const flags = "--port 0 --threads 1 --name tiny --max-num-batched-tokens 7 --max-loras 3".split(" ");
    const child = spawn(command, [...args, "inference", weights.dir, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
    children.push(child);
    const [line] = (await once(child.stdout, "data")) as [Buffer];
    const url = line.toString().trim();
    const response = await fetch(`${url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ model: "tiny", prompt: "abcdefghijklmnopqrstuvwxyz", max_tokens: 4, ignore_eos: true }),
    });
    expect(response.status).toBe(200);
    const text = await (await fetch(`${url}/metrics`)).text();
    const steps = (end: string) =>
      Number(new RegExp(`^vllm:iteration_tokens_total_${end} (\\d+)$`, "mu").exec(text)?.[1]);
    // The prompt of 26 tokens takes 4 steps, and each token after the first one.
    expect([steps("count\\{.*\\}"), steps('bucket\\{.*le="8"\\}'), steps("sum\\{.*\\}")]).toEqual([7, 7, 29]);
    expect(text).toMatch(/^vllm:lora_requests_info\{max_lora="3",/mu);
  });

  it.each([
    [["nowhere"], "is no folder with a model"],
    [["--lora-modules", "mine"], "<name>=<folder>"],
    [["--lora-modules", "mine=/nowhere"], "/nowhere"],
    [["--max-loras", "0"], "--max-loras"],
    [["--generation-config", "/nowhere"], "/nowhere/generation_config.json"],
    [["--override-generation-config", '{"num_beams": 2}'], "num_beams"],
    [["--tool-call-parser", "other"], "one of hermes, llama3_json, qwen3_coder, qwen3_xml"],
    [["--default-chat-template-kwargs", "[1]"], "must be a JSON object"],
    [["--chat-template", "nowhere.jinja"], "nowhere.jinja"],
    [["--api-key-file", "nowhere.txt"], "--api-key-file: "],
    [["--api-key-file", "/dev/null"], "--api-key-file: "],
    [["--api-key-env", "PRL_NO_SUCH_VARIABLE"], "PRL_NO_SUCH_VARIABLE is not set"],
    [["--api-key", "a", "--api-key-file", "b"], "--api-key and --api-key-file name the same keys: give one"],
  ])("refuses %j", async (wrong, message) => {
    const { command, args } = selfCommand();
    const given = wrong.length === 1 ? wrong.map((name) => join(root.dir, name)) : [weights.dir, ...wrong];
    const child = spawn(command, [...args, "inference", ...given], { stdio: ["ignore", "ignore", "pipe"] });
    children.push(child);
    let said = "";
    child.stderr.on("data", (chunk) => (said += String(chunk)));
    const [code] = (await once(child, "exit")) as [number | null];
    expect(code).toBeGreaterThan(0);
    expect(said).toContain(message);
  });
});

describe("prl chat <model folder>", () => {
  it("answers each line of stdin and ends with it", async () => {
    const { command, args } = selfCommand();
    const child = spawn(command, [...args, "chat", weights.dir, "--max-tokens", "4", "--threads", "1"], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    children.push(child);
    let [replies, log] = ["", ""];
    child.stdout.on("data", (chunk) => (replies += String(chunk)));
    child.stderr.on("data", (chunk) => (log += String(chunk)));
    child.stdin.end("hello\n\nand again\n");
    expect([await once(child, "close"), log]).toEqual([[0, null], expect.not.stringContaining("PRL_")]);
    expect(replies).toMatch(/\n[^]*\n$/);
  });
});
