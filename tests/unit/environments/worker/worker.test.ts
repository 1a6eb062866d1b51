import { setTimeout as sleep } from "node:timers/promises";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import {
  decodeEpisode,
  EPISODE_CONTENT_TYPE,
  type EnvWorker,
  type EnvWorkerConfig,
  type RunRequest,
  startEnvWorker,
} from "../../../../ts/environments/internal.ts";
import type { Task, TaskPage } from "../../../../ts/environments/index.ts";
import { REVERSE_TEXT_MODEL } from "../builtin/reverse-text-model.ts";

const EOS = 257;

/** An engine that reverses perfectly, over the real protocol; `delayMs` slows it, requests are recorded. */
interface Engine {
  url: string;
  app: FastifyInstance;
  requests: Record<string, unknown>[];
  /** Largest number of requests that were at work together. */
  peak: number;
  delayMs: number;
}

interface GenerateBody {
  token_ids: number[];
  sampling_params: Record<string, unknown>;
}

async function startEngine(): Promise<Engine> {
  const app = Fastify();
  const engine: Engine = { url: "", app, requests: [], peak: 0, delayMs: 0 };
  let running = 0;
  app.post<{ Body: GenerateBody }>("/inference/v1/generate", async ({ body }) => {
    engine.requests.push({ ...body });
    running += 1;
    engine.peak = Math.max(engine.peak, running);
    await sleep(engine.delayMs);
    running -= 1;
    const text = Buffer.from(body.token_ids).toString();
    const answer = [...Buffer.from(text.slice("reverse: ".length, -1)).reverse(), EOS];
    const content = answer.map((_, index) => ({ logprob: -index / 4 }));
    const choice = { index: 0, token_ids: answer, logprobs: { content }, finish_reason: "stop", stop_reason: EOS };
    return { request_id: "r", choices: [{ ...choice, policy_versions: [[0, 5]] }] };
  });
  engine.url = await app.listen({ host: "127.0.0.1", port: 0 });
  return engine;
}

const config: EnvWorkerConfig = {
  run_id: "test",
  seed: 1,
  model_dir: REVERSE_TEXT_MODEL,
  sources: [
    { name: "reverse", split: "train", env: { id: "reverse-text" } },
    { name: "sampled", split: "eval", env: { id: "reverse-text", path: null, args: {} } },
    { name: "greedy", split: "eval", env: { id: "reverse-text" } },
  ],
  max_concurrent: 2,
};

let engine: Engine;
let worker: EnvWorker;

beforeEach(async () => {
  [engine, worker] = await Promise.all([startEngine(), startEnvWorker(config)]);
});

afterEach(async () => {
  await worker.stop();
  await engine.app.close();
});

async function get(path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(`${worker.url}${path}`);
  return { status: response.status, body: await response.json() };
}

async function post(path: string, body: unknown): Promise<Response> {
  return fetch(`${worker.url}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function tasks(env: string, split: "train" | "eval", limit: number): Promise<Task[]> {
  return ((await get(`/tasks?env=${env}&split=${split}&limit=${limit}`)).body as TaskPage).tasks;
}

async function order(change: Partial<RunRequest> = {}): Promise<RunRequest> {
  const [task] = await tasks("reverse", "train", 1);
  if (task === undefined) throw new Error("no task");
  return {
    env: "reverse",
    task,
    inference: { url: engine.url, model: "policy" },
    sampling: { temperature: 0.5, max_completion_tokens: 16 },
    seed: 77,
    cache_salt: "3",
    priority: 4,
    deadline_ms: 10_000,
    episode_id: "e-0",
    group_id: "g-0",
    run: { type: "train", step: 2 },
    ...change,
  };
}

async function run(change: Partial<RunRequest> = {}) {
  const response = await post("/run", await order(change));
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe(EPISODE_CONTENT_TYPE);
  return decodeEpisode(new Uint8Array(await response.arrayBuffer()));
}

describe("an env worker", () => {
  it("lists its environments and gives tasks page by page, the same for every source of an environment", async () => {
    expect((await get("/health")).body).toEqual({ status: "ok", environments: ["reverse", "sampled", "greedy"] });
    const first = (await get("/tasks?env=reverse&split=train&limit=3")).body as TaskPage;
    const second = (await get(`/tasks?env=reverse&split=train&limit=3&after=${first.next}`)).body as TaskPage;
    expect([first.endless, first.tasks.map((task) => task.key), second.tasks.map((task) => task.key)]).toEqual([
      true,
      ["0", "1", "2"],
      ["3", "4", "5"],
    ]);
    expect(await tasks("sampled", "eval", 20)).toEqual(await tasks("greedy", "eval", 20));
  });

  it("runs a rollout on the engine it is given and answers with the episode and its tokens", async () => {
    const request = await order();
    const { episode, samples } = await run();
    const { prompt, answer } = request.task.data as { prompt: string; answer: string };
    expect(episode).toMatchObject({
      id: "e-0",
      ok: true,
      group: { id: "g-0" },
      run: { type: "train", step: 2 },
      task: request.task,
    });
    expect(episode.traces[0]).toMatchObject({ reward: 1, metrics: { exact_match: 1 }, policy: { start: 5, end: 5 } });
    const [trace] = samples?.columns() ?? [];
    expect([...(trace?.tokenIds ?? [])]).toEqual([...Buffer.from(prompt + answer), EOS]);
    expect([...(trace?.logprobs ?? [])].slice(prompt.length)).toEqual(
      Array.from({ length: answer.length + 1 }, (_, i) => -i / 4 + 0),
    );
    expect(engine.requests[0]).toMatchObject({
      model: "policy",
      token_ids: [...Buffer.from(prompt)],
      sampling_params: { temperature: 0.5, max_tokens: 16, top_p: 1, top_k: -1, seed: 77 },
      cache_salt: "3",
      priority: 4,
    });
  });

  it("scores a group of episodes, says which sources have such rewards, and refuses another task", async () => {
    const page = (await get("/tasks?env=reverse&split=train&limit=1")).body as TaskPage;
    expect(page.scores_groups).toBe(false);
    const { episode } = await run();
    const body = { env: "reverse", split: "train", task: episode.task, episodes: [episode], deadline_ms: 1000 };
    const scored = await post("/score_group", body);
    expect([scored.status, await scored.json()]).toEqual([
      200,
      { scores: [[{ rewards: {}, metrics: {} }]], error: null },
    ]);
    expect((await post("/score_group", { ...body, task: { ...episode.task, hash: "0" } })).status).toBe(400);
    expect((await post("/score_group", { ...body, episodes: [] })).status).toBe(400);
  });

  it("runs no more rollouts at once than it may and brings all of them to an end", async () => {
    engine.delayMs = 10;
    const frames = await Promise.all(Array.from({ length: 9 }, async (_, i) => run({ episode_id: `e-${i}` })));
    expect(frames.map(({ episode }) => [episode.id, episode.ok])).toEqual(
      Array.from({ length: 9 }, (_, i) => [`e-${i}`, true]),
    );
    expect(engine.peak).toBe(2);
  });

  it("shows rollouts under way, their ends and the lag of its event loop at /metrics", async () => {
    engine.delayMs = 300;
    const [task] = await tasks("reverse", "train", 1);
    const three = ["e-0", "e-1", "e-2"].map((episode_id) => run({ episode_id, ...(task !== undefined && { task }) }));
    const text = async () => (await fetch(`${worker.url}/metrics`)).text();
    const labels = 'component="env-worker",run="test"';
    await vi.waitFor(async () => {
      const now = await text();
      expect(now).toContain(`prl_env_rollouts_in_flight{${labels}} 3`);
      expect(now).toContain(`prl_env_rollouts_waiting{${labels}} 1`);
    });
    await Promise.all(three);
    engine.delayMs = 0;
    await run({ inference: { url: "http://127.0.0.1:9", model: "policy" }, episode_id: "e-3" });
    const after = await text();
    expect(after).toContain(`prl_env_rollouts_total{source="reverse",result="ok",${labels}} 3`);
    expect(after).toContain(`prl_env_rollouts_total{source="reverse",result="infra",${labels}} 1`);
    expect(after).toMatch(/^prl_env_rollout_seconds_count\{[^}]*source="reverse"[^}]*\} 4$/mu);
    expect(after).toContain("nodejs_eventloop_lag_p99_seconds{");
  });

  it("cancels a rollout, at work or waiting, and answers it as infra", async () => {
    engine.delayMs = 60_000;
    const pending = ["a", "b", "c"].map(async (id) => run({ episode_id: id }));
    while (engine.requests.length < 2) await sleep(1);
    for (const id of ["a", "b", "c"]) {
      let cancelled = false;
      while (!cancelled)
        ({ cancelled } = (await (await post("/cancel", { episode_id: id })).json()) as { cancelled: boolean });
    }
    for (const { episode, samples } of await Promise.all(pending)) {
      expect(episode).toMatchObject({
        ok: false,
        errors: [{ class: "infra", code: "PRL_EPISODE_CANCELLED" }],
        traces: [],
      });
      expect(samples?.samples).toBe(0);
    }
    expect(await (await post("/cancel", { episode_id: "a" })).json()).toEqual({ cancelled: false });
  });

  it("ends a rollout at its deadline and blames the side that it was waiting for", async () => {
    engine.delayMs = 60_000;
    const [first, second, third] = await Promise.all(
      ["a", "b", "c"].map(async (id) => run({ episode_id: id, deadline_ms: id === "c" ? 30 : 300 })),
    );
    const late = [first, second, third].map((frame) => frame?.episode.errors[0]);
    expect(
      late.filter((error) => error?.code === "PRL_INFERENCE_TIMEOUT" && error.class === "provider").length,
    ).toBeGreaterThan(1);
    expect(late.every((error) => error?.code === "PRL_INFERENCE_TIMEOUT" || error?.code === "PRL_DEADLINE")).toBe(true);
  });

  it("answers as infra when the engine is not there", async () => {
    const { episode } = await run({ inference: { url: "http://127.0.0.1:9", model: "policy" } });
    expect(episode).toMatchObject({ ok: false, errors: [{ class: "infra", code: "PRL_INFERENCE_UNREACHABLE" }] });
  });

  it("refuses requests that are wrong, with a message that says how", async () => {
    const good = await order();
    const wrong: [unknown, RegExp][] = [
      [{ ...good, env: "other" }, /no train source "other"/],
      [{ ...good, run: { type: "eval", step: 1 } }, /no eval source "reverse"/],
      [{ ...good, task: { ...good.task, data: { prompt: "x", answer: "y" } } }, /does not match its hash/],
      [{ ...good, seed: -1 }, /seed/],
      [{ ...good, extra: 1 }, /extra/],
      [[], /object/],
    ];
    for (const [body, problem] of wrong) {
      const response = await post("/run", body);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        error: { code: expect.stringMatching(/^PRL_/), message: expect.stringMatching(problem) },
      });
    }
    const garbage = await fetch(`${worker.url}/run`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{",
    });
    expect(garbage.status).toBe(400);
    expect((await get("/tasks?env=reverse&split=train&after=x")).status).toBe(400);
    expect((await get("/tasks?env=reverse&split=test")).status).toBe(400);
    expect((await post("/score_group", {})).status).toBe(400);
  });

  it("answers running requests when it is stopped, and takes no more", async () => {
    engine.delayMs = 60_000;
    const pending = run();
    while (engine.requests.length === 0) await sleep(1);
    await worker.stop();
    expect((await pending).episode).toMatchObject({
      ok: false,
      errors: [{ class: "infra", code: "PRL_EPISODE_CANCELLED" }],
    });
    await expect(fetch(`${worker.url}/health`)).rejects.toThrow();
  });

  it("does not start with two sources of one name and split", async () => {
    const [source] = config.sources;
    const twice = { ...config, sources: source === undefined ? [] : [source, source] };
    await expect(startEnvWorker(twice)).rejects.toMatchObject({ code: "PRL_CONFIG_INVALID" });
  });
});
