import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import {
  defineEnvironment,
  type PolicyClient,
  type PolicyRequest,
  reward,
  type Rollout,
  type RewardContext,
  singleTurn,
  type Task,
} from "../../../../ts/environments/index.ts";
import { episodeSchema } from "../../../../ts/environments/internal.ts";
import { PrlError } from "../../../../ts/errors.ts";
import { turnSeed } from "../../../../ts/random/seed.ts";
import { loadRenderer, loadTokenizer, type Renderer, type Tokenizer } from "../../../../ts/renderers/index.ts";
import { REVERSE_TEXT_MODEL } from "../builtin/reverse-text-model.ts";

interface Row {
  prompt: string;
  answer: string;
}

const EOS = 257;
const task: Task = { key: "0", hash: "", data: { prompt: "reverse: abc\n", answer: "cba" } };
let tokenizer: Tokenizer;
let renderer: Renderer;

beforeAll(async () => {
  tokenizer = await loadTokenizer(REVERSE_TEXT_MODEL);
  renderer = await loadRenderer(REVERSE_TEXT_MODEL);
});

/** A policy that says the same every time. */
function policy(text: string, ids = [...Buffer.from(text), EOS]): PolicyClient & { requests: PolicyRequest[] } {
  const requests: PolicyRequest[] = [];
  return {
    requests,
    generate(request) {
      requests.push(request);
      return Promise.resolve({
        tokenIds: Uint32Array.from(ids),
        logprobs: new Float32Array(ids.length).fill(-0.5),
        policyVersions: [[0, 2]],
        finishReason: ids.at(-1) === EOS ? "stop" : "length",
      });
    },
  };
}

const similarity = ({ task: row, trace }: RewardContext<Row>) => (trace.lastReply === row.answer ? 1 : 0.25);

interface Parts {
  rollout?: Rollout<Row>;
  rewards?: Record<string, ReturnType<typeof reward<Row>>>;
  metrics?: Record<string, ReturnType<typeof reward<Row>>>;
}

function environment({
  rollout = singleTurn(),
  rewards = { similarity: reward(1, similarity) },
  metrics = {},
}: Parts = {}) {
  const tasks = (): Row[] => [];
  const definition = { name: "test", version: "1.0.0", config: z.strictObject({}), tasks, rollout, rewards, metrics };
  return defineEnvironment(definition).configure();
}

function run(
  configured: ReturnType<typeof environment>,
  client: PolicyClient,
  signal: AbortSignal = new AbortController().signal,
  policyTokenizer: Tokenizer = tokenizer,
) {
  return configured.run({
    episodeId: "e",
    groupId: "g",
    source: "source",
    task,
    client,
    tokenizer: policyTokenizer,
    renderer,
    sampling: { temperature: 1, maxCompletionTokens: 16, topP: 1, topK: -1 },
    seed: 99,
    run: { type: "train", step: 1 },
    signal,
  });
}

const forever: Rollout<Row> = () => new Promise(() => undefined);
const deadline = (ms: number) => {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new PrlError("PRL_ENVIRONMENT_TIMEOUT", "too long")), ms);
  return controller.signal;
};

describe("a rollout", () => {
  it("a text is cut at the stop string that ended it, passed on as it is sampled, and has no given beginning", async () => {
    const text = "cba; x";
    const client: PolicyClient = {
      async generate({ stop, onTokens }) {
        expect(stop).toEqual([";"]);
        const ids = tokenizer.encode(text);
        onTokens?.([...ids]);
        const logprobs = new Float32Array(ids.length);
        return { tokenIds: ids, logprobs, policyVersions: [[0, 1]], finishReason: "stop", stopReason: ";" };
      },
    };
    const heard: unknown[] = [];
    const rollout: Rollout<Row> = async ({ sample, task: { prompt } }) => {
      const { message } = await sample(prompt, { stop: [";"], onDelta: (delta) => heard.push(delta) });
      expect(message.content).toBe("cba");
      await expect(sample(prompt, { begun: "c" })).rejects.toMatchObject({ code: "PRL_ENVIRONMENT_UNSUPPORTED" });
    };
    const { episode } = await run(environment({ rollout }), client);
    expect(episode.errors).toEqual([]);
    expect(episode.traces[0]?.reward).toBe(1);
    expect(heard).toEqual([{ content: "cba" }]);
  });

  it.each([
    ["a metric that is no number", { metrics: { speed: Number.NaN } }, 'the metric "speed" = NaN'],
    ["an info that is no JSON", { info: { id: 1n } }, "an info that is no JSON"],
  ])("that returns %s is the environment's error, which no further try would mend", async (_, end, message) => {
    const rollout: Rollout<Row> = async ({ sample, task: { prompt } }) => {
      await sample(prompt);
      return end;
    };
    const { episode } = await run(environment({ rollout }), policy("cba"));
    expect(episode.errors).toMatchObject([{ class: "environment", code: "PRL_ENVIRONMENT_FAILED" }]);
    expect(episode.errors[0]?.message).toContain(message);
    expect(episodeSchema.parse(JSON.parse(JSON.stringify(episode)))).toMatchObject({ ok: false });
  });

  it("sends the prompt as it is, keeps the sampled tokens, and scores the text up to the end of sequence", async () => {
    const client = policy("cba");
    const { episode, columns } = await run(environment(), client);
    expect(client.requests).toHaveLength(1);
    expect([...(client.requests[0]?.tokenIds ?? [])]).toEqual([...Buffer.from("reverse: abc\n")]);
    expect(client.requests[0]).toMatchObject({ seed: 99, sampling: { temperature: 1, maxCompletionTokens: 16 } });
    expect([...(columns[0]?.tokenIds ?? [])]).toEqual([...Buffer.from("reverse: abc\ncba"), EOS]);
    expect(episode).toMatchObject({
      id: "e",
      env: { id: "test", name: "source" },
      ok: true,
      errors: [],
      traces: [
        {
          nodes: [
            { parent: null, message: { role: "user", content: "reverse: abc\n" }, sampled: false },
            { parent: 0, message: { role: "assistant", content: "cba" }, sampled: true },
          ],
          rewards: { similarity: { score: 1, weight: 1 } },
          reward: 1,
          stop_condition: "agent_completed",
          is_completed: true,
          is_truncated: false,
          usage: { prompt_tokens: 13, completion_tokens: 4 },
          policy: { start: 2, end: 2 },
        },
      ],
    });
  });

  it("tokenizes off the thread, and its calls draw in their order however long their prompts take", async () => {
    const refused = (): never => {
      throw new Error("a prompt was tokenized on the JavaScript thread");
    };
    const begun: string[] = [];
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => (release = resolve));
    const slow: Tokenizer = {
      ...tokenizer,
      encode: refused,
      encodeAsync: async (text) => {
        begun.push(text);
        if (text === "long") await held;
        return tokenizer.encodeAsync(text);
      },
    };
    const client = policy("cba");
    const rollout: Rollout<Row> = async ({ sample }) => {
      const calls = [sample("long"), sample("short")];
      // The second call has nothing else to wait for.
      await new Promise((resolve) => setImmediate(resolve));
      expect([begun, client.requests]).toEqual([["long"], []]);
      release();
      await Promise.all(calls);
    };
    const { episode } = await run(environment({ rollout }), client, new AbortController().signal, slow);
    expect(episode.errors).toEqual([]);
    const asked = client.requests.map(({ tokenIds, seed }) => [tokenizer.decode(tokenIds), seed]);
    expect(asked).toEqual([
      ["long", turnSeed(99, 0)],
      ["short", turnSeed(99, 1)],
    ]);
  });

  it("counts the tokens of a prompt off the thread, as the policy would get them", async () => {
    const counts: number[] = [];
    const rollout: Rollout<Row> = async ({ sample, countTokens, task: { prompt } }) => {
      const conversation = [{ role: "user" as const, content: "a" }];
      counts.push(await countTokens(prompt), await countTokens(conversation));
      await sample(conversation);
    };
    const client = policy("cba");
    const { episode } = await run(environment({ rollout }), client);
    expect(episode.errors).toEqual([]);
    expect(counts).toEqual([13, client.requests[0]?.tokenIds.length]);
  });

  it("says that it was truncated when the tokens ran out, and is scored all the same", async () => {
    const { episode } = await run(environment(), policy("cbacba", [...Buffer.from("cbacba")]));
    expect(episode.traces[0]).toMatchObject({ stop_condition: "max_output_tokens", is_truncated: true, reward: 0.25 });
  });

  it("adds weighted rewards and keeps metrics out of the sum; booleans count as 0 and 1", async () => {
    const rewards = {
      half: reward<Row>(0.5, () => true),
      minus: reward<Row>(-1, async () => 0.25),
    };
    const metrics = {
      length: reward<Row>(0, ({ trace }) => trace.lastReply.length),
      never: reward<Row>(0, () => false),
    };
    const { episode } = await run(environment({ rewards, metrics }), policy("cba"));
    expect(episode.traces[0]).toMatchObject({
      reward: 0.25,
      rewards: { half: { score: 1, weight: 0.5 }, minus: { score: 0.25, weight: -1 } },
      metrics: { length: 3, never: 0 },
    });
  });

  it("is an error, never a reward of 0, when a reward throws or returns no finite number", async () => {
    const bad: [string, () => number][] = [
      [
        "threw: no such file",
        () => {
          throw new Error("no such file");
        },
      ],
      ["returned NaN", () => Number.NaN],
      ["returned a string", () => JSON.parse('"1"') as number],
    ];
    for (const [problem, score] of bad) {
      const { episode } = await run(environment({ rewards: { bad: reward<Row>(1, score) } }), policy("cba"));
      expect(episode.ok).toBe(false);
      expect(episode.errors).toEqual([
        { class: "environment", code: "PRL_ENVIRONMENT_FAILED", message: expect.stringContaining(problem) },
      ]);
      expect(episode.traces[0]).toMatchObject({
        reward: null,
        rewards: {},
        is_completed: false,
        stop_condition: "agent_completed",
      });
    }
    const thrown = (
      await run(environment({ rewards: { bad: reward<Row>(1, bad[0]?.[1] ?? (() => 0)) } }), policy("cba"))
    ).episode;
    expect(thrown.errors[0]?.message).toMatch(/no such file \(.*rollout\.test\.ts:\d+:\d+\)$/u);
    const metric = { metrics: { bad: reward<Row>(0, () => Number.NaN) } };
    expect((await run(environment(metric), policy("cba"))).episode.ok).toBe(false);
  });

  it("aborts the signal of a reward that does not end, and ends it", async () => {
    let aborted = false;
    const slow = reward<Row>(
      1,
      ({ signal }) => new Promise(() => signal.addEventListener("abort", () => (aborted = true))),
      {
        timeoutMs: 5,
      },
    );
    const { episode } = await run(environment({ rewards: { slow } }), policy("cba"));
    expect(episode.errors).toMatchObject([{ class: "environment", code: "PRL_ENVIRONMENT_TIMEOUT" }]);
    expect(aborted).toBe(true);
  });

  it("blames the environment for its exceptions, its silence and its hanging", async () => {
    const broken: Rollout<Row> = async () => {
      throw new TypeError("x is undefined");
    };
    const silent: Rollout<Row> = async () => undefined;
    const cases: [Rollout<Row>, string][] = [
      [broken, "PRL_ENVIRONMENT_FAILED"],
      [silent, "PRL_ENVIRONMENT_FAILED"],
      [forever, "PRL_ENVIRONMENT_TIMEOUT"],
    ];
    for (const [rollout, code] of cases) {
      const { episode, columns } = await run(environment({ rollout }), policy("cba"), deadline(20));
      expect(episode).toMatchObject({ ok: false, errors: [{ class: "environment", code }], traces: [] });
      expect(columns).toEqual([]);
    }
  });

  it("blames the side that failed to sample: a dead engine infra, a wrong or late answer the provider", async () => {
    const failing = (code: "PRL_INFERENCE_UNREACHABLE" | "PRL_INFERENCE_FAILED"): PolicyClient => ({
      generate: () => Promise.reject(new PrlError(code, "no")),
    });
    const silent: PolicyClient = { generate: () => new Promise(() => undefined) };
    const empty = policy("", []);
    const aborting: PolicyClient = {
      generate: async (request) => ({ ...(await policy("c").generate(request)), finishReason: "abort" }),
    };
    const outcomes: [PolicyClient, string, string][] = [
      [failing("PRL_INFERENCE_UNREACHABLE"), "infra", "PRL_INFERENCE_UNREACHABLE"],
      [failing("PRL_INFERENCE_FAILED"), "provider", "PRL_INFERENCE_FAILED"],
      [silent, "provider", "PRL_INFERENCE_TIMEOUT"],
      [empty, "provider", "PRL_INFERENCE_FAILED"],
      [aborting, "infra", "PRL_INFERENCE_UNREACHABLE"],
    ];
    for (const [client, blamed, code] of outcomes) {
      const { episode } = await run(environment(), client, deadline(20));
      expect(episode).toMatchObject({ ok: false, errors: [{ class: blamed, code }] });
    }
  });

  it("keeps the turns of a rollout that fails later, and scores a stop like any end", async () => {
    const twice: Rollout<Row> = async ({ task: row, sample }) => {
      const { text } = await sample(row.prompt);
      await sample(`${row.prompt}${text}`);
      throw new Error("late");
    };
    const client = policy("cba");
    const failed = await run(environment({ rollout: twice }), client);
    expect(failed.episode).toMatchObject({ ok: false, traces: [{ reward: null, usage: { completion_tokens: 8 } }] });
    expect(failed.columns[0]?.branchOffsets.length).toBe(3);
    expect(client.requests[1]?.seed).not.toBe(client.requests[0]?.seed);
    const stopping: Rollout<Row> = async ({ task: row, sample }) => {
      await sample(row.prompt);
      return { stopCondition: "max_turns" };
    };
    const stopped = await run(environment({ rollout: stopping }), policy("cba"));
    expect(stopped.episode).toMatchObject({ ok: true, traces: [{ stop_condition: "max_turns", reward: 1 }] });
  });
});
