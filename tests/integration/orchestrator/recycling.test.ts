/** A rollout that is cut at the real engine, and one that goes on from it: no token lost or doubled, log-probabilities exact to the bit. */
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  type EnvWorker,
  partialOf,
  type ReceivedEpisode,
  type RunRequest,
  startEnvWorker,
} from "../../../ts/environments/internal.ts";
import type { Task } from "../../../ts/environments/index.ts";
import type { TraceColumns } from "../../../ts/native/index.ts";
import { connectEnvWorkers, type EnvWorkers } from "../../../ts/orchestrator/index.ts";
import { useServing } from "../inference/serving.ts";
import { HeldTurn } from "./held-turn.ts";

const MODEL = new URL("../../../configs/reverse-text/model", import.meta.url).pathname;
const NEVER = new AbortController().signal;
const LONG_ENOUGH = 120;

const held = new HeldTurn();
const serving = useServing((model) => held.over(model));
let worker: EnvWorker;
let workers: EnvWorkers;
let task: Task;
/** Of the conversations. */
let begin: Task;
beforeAll(async () => {
  const path = join(import.meta.dirname, "three-turns.ts");
  const sources = [
    { name: "reverse", split: "train" as const, env: { id: "reverse-text" } },
    { name: "turns", split: "train" as const, env: { path } },
    { name: "other", split: "train" as const, env: { path, args: { answer: "stop" } } },
  ];
  worker = await startEnvWorker({ run_id: "test", seed: 1, model_dir: MODEL, sources, max_concurrent: 8 });
  workers = connectEnvWorkers([worker.url], { connections: 8 });
  const [first] = (await workers.tasks({ source: "reverse", split: "train", after: null, limit: 1 }, NEVER)).tasks;
  if (first === undefined) throw new Error("there is no task");
  task = first;
  const [only] = (await workers.tasks({ source: "turns", split: "train", after: null, limit: 1 }, NEVER)).tasks;
  if (only === undefined) throw new Error("there is no conversation");
  begin = only;
});
afterAll(async () => {
  await workers.close();
  await worker.stop();
});

const request = (seed: number, id: string, more: Partial<RunRequest> = {}): RunRequest => ({
  env: "reverse",
  task,
  inference: { url: serving().url, model: "tiny" },
  sampling: { temperature: 1 },
  seed,
  cache_salt: id,
  priority: 0,
  deadline_ms: 60_000,
  episode_id: id,
  group_id: "g",
  run: { type: "train", step: 1 },
  keep_partial: true,
  ...more,
});

function columnsOf({ samples }: ReceivedEpisode): TraceColumns {
  const [columns] = samples?.columns() ?? [];
  if (columns === undefined) throw new Error("it has no tokens");
  return columns;
}

const countOf = (received: ReceivedEpisode) => received.episode.traces[0]?.usage.completion_tokens ?? 0;

/** A seed with which the tiny model goes on for long. */
async function longSeed(): Promise<number> {
  for (let seed = 1; seed < 60; seed++) {
    if (countOf(await workers.run(request(seed, `whole-${seed}`), NEVER)) > LONG_ENOUGH) return seed;
  }
  throw new Error("no seed gives a long reply");
}

/** What is asked for, cancelled in the middle of its `turn`-th turn, behind `tokens` tokens of it. */
async function cutAt(turn: number, tokens: number, asked: RunRequest): Promise<ReceivedEpisode> {
  const abort = new AbortController();
  const there = held.holdAt(turn, tokens);
  const running = workers.run(asked, abort.signal);
  await Promise.race([there, running]);
  abort.abort(new Error("too old"));
  const cut = await running;
  expect(cut.episode.ok).toBe(false);
  expect(cut.episode.traces[0]?.turns?.at(-1)).toMatchObject({ finish_reason: "abort" });
  return cut;
}

const cutRollout = (seed: number, id: string) => cutAt(1, 20, request(seed, id));

describe("a rollout that was cut", () => {
  test("comes back with its tokens so far, and another rollout continues from them, exact to the bit", async () => {
    const seed = await longSeed();
    const cut = await cutRollout(seed, "cut");
    expect(cut.episode).toMatchObject({ ok: false, errors: [{ code: "PRL_EPISODE_CANCELLED" }] });
    const had = columnsOf(cut);
    const length = countOf(cut);
    expect(length).toBeGreaterThan(8);
    const partial = partialOf(cut.episode.traces, [had]);
    expect(partial?.turns).toMatchObject([{ end: had.tokenIds.length, finish_reason: "abort" }]);
    if (partial === null) throw new Error("nothing to go on from");

    const whole = await workers.run(request(seed, "again", { partial }), NEVER);
    expect(whole.episode).toMatchObject({ ok: true, traces: [{ metrics: { recycled_tokens: length } }] });
    const all = columnsOf(whole);
    expect(all.tokenIds.length).toBeGreaterThan(had.tokenIds.length);
    expect(all.tokenIds.slice(0, had.tokenIds.length)).toEqual(had.tokenIds);
    expect(all.logprobs.slice(0, had.tokenIds.length)).toEqual(had.logprobs);
    expect([...all.versionSpans]).toEqual([0, 0xffff_ffff, all.tokenIds.length - countOf(whole), 0]);
    const scored = await serving().admin.promptLogprobs(all.tokenIds);
    for (const [t, sampled] of all.mask.entries()) if (sampled === 1) expect(all.logprobs[t]).toBe(scored[t]);
  });

  test("goes on under other weights with its own versions and log-probabilities", async () => {
    const cut = await cutRollout(await longSeed(), "old");
    const had = columnsOf(cut);
    const partial = partialOf(cut.episode.traces, [had]);
    if (partial === null) throw new Error("nothing to go on from");
    await serving().admin.updateWeights(serving().update(1));
    const whole = await workers.run(request(3, "new", { partial }), NEVER);
    const all = columnsOf(whole);
    const prompt = had.tokenIds.length - countOf(cut);
    expect([...all.versionSpans]).toEqual([0, 0xffff_ffff, prompt, 0, had.tokenIds.length, 1]);
    expect(whole.episode.traces[0]?.policy).toEqual({ start: 0, end: 1 });
    const scored = await serving().admin.promptLogprobs(all.tokenIds);
    expect(all.logprobs.slice(had.tokenIds.length)).toEqual(scored.slice(had.tokenIds.length));
    expect(all.logprobs.slice(prompt, had.tokenIds.length)).toEqual(had.logprobs.slice(prompt));
  });

  test("is sampled afresh where its prompt is another one", async () => {
    const cut = await cutRollout(await longSeed(), "other");
    const partial = partialOf(cut.episode.traces, [columnsOf(cut)]);
    if (partial === null) throw new Error("nothing to go on from");
    const [, second] = (await workers.tasks({ source: "reverse", split: "train", after: null, limit: 2 }, NEVER)).tasks;
    const fresh = await workers.run(request(3, "fresh", { partial, task: second ?? task }), NEVER);
    expect(fresh.episode.ok).toBe(true);
    expect(fresh.episode.traces[0]?.metrics).not.toHaveProperty("recycled_tokens");
  });

  test("that had ended is taken as it is", async () => {
    const ended = await workers.run(request(5, "ended"), NEVER);
    const partial = partialOf(ended.episode.traces, [columnsOf(ended)]);
    if (partial === null) throw new Error("nothing to go on from");
    const again = await workers.run(request(5, "taken", { partial }), NEVER);
    expect(columnsOf(again)).toEqual(columnsOf(ended));
    expect(again.episode.traces[0]).toMatchObject({ reward: ended.episode.traces[0]?.reward });
    expect(again.episode.traces[0]?.metrics["recycled_tokens"]).toBe(countOf(ended));
  });
});

describe("a conversation that was cut", () => {
  const REPLY = 40;
  const turnRequest = (env: string, seed: number, id: string, more: Partial<RunRequest> = {}) =>
    request(seed, id, { env, task: begin, sampling: { temperature: 1, max_completion_tokens: REPLY }, ...more });

  /** One with which what the tiny model says is a beginning of the next prompt: no token of a template is in it. */
  async function steadySeed(env: string): Promise<number> {
    for (let seed = 1; seed < 60; seed++) {
      const { episode } = await workers.run(turnRequest(env, seed, `steady-${seed}`), NEVER);
      const { turns = [], usage } = episode.traces[0] ?? {};
      if (turns.length === 3 && (usage?.completion_tokens ?? 0) > 2 * REPLY) return seed;
    }
    throw new Error("no seed gives a conversation that never forks");
  }

  async function cutConversation(env: string, seed: number, tokens = REPLY / 4): Promise<ReceivedEpisode> {
    const cut = await cutAt(2, tokens, turnRequest(env, seed, `${env}-${tokens}`));
    expect(lengthsOf(cut)).toEqual([expect.any(Number), tokens]);
    return cut;
  }
  const lengthsOf = ({ episode }: ReceivedEpisode) =>
    (episode.traces[0]?.turns ?? []).map(({ first, end }) => end - first);

  /** Cut under version 0 and gone on with under version 1, whose own words may fork the conversation (no turns then): cut again then. */
  async function wholeConversation(seed: number) {
    const engine = serving();
    for (let attempt = 1; attempt <= REPLY / 2; attempt++) {
      const cut = await cutConversation("turns", seed, attempt);
      const had = columnsOf(cut);
      const partial = partialOf(cut.episode.traces, [had]);
      if (partial === null) throw new Error("nothing to go on from");
      const before = engine.model.stats().generationTokens;
      await engine.admin.updateWeights(engine.update(1));
      const whole = await workers.run(turnRequest("turns", seed, `whole-${attempt}`, { partial }), NEVER);
      if (lengthsOf(whole).length > 0) return { cut, had, whole, before };
      await engine.admin.updateWeights(engine.update(0));
    }
    throw new Error("each conversation forked");
  }

  test("goes on in the turn where it was: earlier turns are not sampled again, nothing is lost or doubled", async () => {
    const seed = await steadySeed("turns");
    const { cut, had, whole, before } = await wholeConversation(seed);
    const kept = lengthsOf(cut).reduce((sum, length) => sum + length, 0);
    expect(whole.episode).toMatchObject({
      ok: true,
      traces: [{ metrics: { recycled_tokens: kept }, policy: { start: 0, end: 1 } }],
    });
    expect(lengthsOf(whole)).toHaveLength(3);
    // All but those are new.
    expect(serving().model.stats().generationTokens - before).toBe(countOf(whole) - kept);
    const all = columnsOf(whole);
    expect(all.tokenIds.slice(0, had.tokenIds.length)).toEqual(had.tokenIds);
    expect(all.logprobs.slice(0, had.tokenIds.length)).toEqual(had.logprobs);
    const scored = await serving().admin.promptLogprobs(all.tokenIds);
    const later = [...all.mask.keys()].filter((t) => t >= had.tokenIds.length && all.mask[t] === 1);
    expect(later.length).toBe(countOf(whole) - kept);
    for (const t of later) expect(all.logprobs[t]).toBe(scored[t]);
    await serving().admin.updateWeights(serving().update(0));
  });

  test("is sampled afresh from where the environment says something else", async () => {
    const seed = await steadySeed("turns");
    const cut = await cutConversation("turns", seed);
    const partial = partialOf(cut.episode.traces, [columnsOf(cut)]);
    if (partial === null) throw new Error("nothing to go on from");
    const whole = await workers.run(turnRequest("other", seed, "other", { partial }), NEVER);
    expect(whole.episode).toMatchObject({ ok: true, traces: [{ metrics: { recycled_tokens: lengthsOf(cut)[0] } }] });
  });
});

test("requests that are cut are answered with the tokens so far; unknown ids are ignored", async () => {
  const { client } = serving();
  const sampling = { maxTokens: 400, ignoreEos: true, seed: 2 };
  const there = held.holdAt(1, 5);
  const running = client.generate({ tokenIds: [104, 105], sampling, requestId: "mine-0" });
  await there;
  const answer = await serving().post("/abort_requests", { request_ids: ["mine-0", "nobody's"] });
  expect(answer.status).toBe(200);
  const cut = await running;
  expect(cut.finishReason).toBe("abort");
  expect(cut.tokenIds.length).toBe(5);
  expect(cut.logprobs.length).toBe(5);
  // At unchanged weights it is the beginning of what the whole one is.
  const whole = await client.generate({ tokenIds: [104, 105], sampling });
  expect(whole.tokenIds.slice(0, cut.tokenIds.length)).toEqual(cut.tokenIds);
  expect((await serving().post("/abort_requests", { request_ids: "mine" })).status).toBe(400);
});
