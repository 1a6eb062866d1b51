import { beforeAll, describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";

import {
  defineEnvironment,
  groupReward,
  type Message,
  type PolicyClient,
  reward,
  type ReplyClient,
} from "../../../../ts/environments/index.ts";
import { loadRenderer, loadTokenizer, type Renderer, type Tokenizer } from "../../../../ts/renderers/index.ts";
import { REVERSE_TEXT_MODEL } from "../builtin/reverse-text-model.ts";

let tokenizer: Tokenizer;
let renderer: Renderer;

beforeAll(async () => {
  tokenizer = await loadTokenizer(REVERSE_TEXT_MODEL);
  renderer = await loadRenderer(REVERSE_TEXT_MODEL);
});

/** A policy that says its seed's number of calls so far, and remembers the seeds. */
function policy(): PolicyClient & { seeds: number[] } {
  const seeds: number[] = [];
  return {
    seeds,
    generate({ seed }) {
      seeds.push(seed);
      const ids = tokenizer.encode(`reply${seeds.length}<|im_end|>`);
      return Promise.resolve({
        tokenIds: ids,
        logprobs: new Float32Array(ids.length).fill(-1),
        policyVersions: [[0, 1]],
        finishReason: "stop",
      });
    },
  };
}

const opponent: ReplyClient = {
  reply: () =>
    Promise.resolve({
      message: { role: "assistant", content: "I am frozen" },
      toolCalls: [],
      finishReason: "stop",
      usage: { promptTokens: 5, completionTokens: 3 },
    }),
};

const hello: Message[] = [{ role: "user", content: "hello" }];

function duel(frozen: ReplyClient | null = null, tries = 2) {
  return defineEnvironment({
    name: "duel",
    version: "1.0.0",
    config: z.strictObject({ tries: z.int().default(2) }),
    tasks: () => [{ prompt: "x" }],
    agents: ["asker", "solver"],
    seats: () => ({ solver: { endpoint: frozen } }),
    rollout: async ({ agent, config }) => {
      const { text } = await agent("asker").sample(hello);
      // @ts-expect-error: there is no such agent.
      expect(() => agent("nobody")).toThrow(/no agent "nobody" 0; there are asker, solver/u);
      const question: Message[] = [{ role: "user", content: text }];
      await Promise.all(Array.from({ length: config.tries }, (_, i) => agent("solver", i).sample(question)));
    },
    metrics: {
      length: ({ traces, agent }) => {
        expectTypeOf(agent).toEqualTypeOf<"asker" | "solver">();
        return traces.solver.length;
      },
    },
    rewards: {
      asked: reward(1, ({ traces }) => traces.solver.length / 4, { agent: "asker" }),
      solved: { weight: 2, score: ({ trace }) => trace.lastReply.length, agent: "solver" },
      place: groupReward(1, ({ traces }) => traces.map(({ episode }) => episode * 100), { agent: "asker" }),
    },
  }).configure({ tries });
}

function run(environment: ReturnType<typeof duel>, client: PolicyClient) {
  return environment.run({
    episodeId: "e",
    groupId: "g",
    source: "s",
    task: { key: "0", hash: "", data: { prompt: "x" } },
    client,
    tokenizer,
    renderer,
    sampling: { temperature: 1, maxCompletionTokens: 16, topP: 1, topK: -1 },
    seed: 5,
    run: { type: "train", step: 1 },
    signal: new AbortController().signal,
  });
}

describe("agents", () => {
  it("take no turn while the others are scored: a call that the rollout does not wait for is in no trace", async () => {
    const calls: (() => void)[] = [];
    let bothCame = (): void => undefined;
    const both = new Promise<void>((resolve) => (bothCame = resolve));
    const inner = policy();
    const client: PolicyClient = {
      async generate(request) {
        if (request.tokenIds.length > 100)
          await new Promise<void>((resolve) => {
            calls.push(resolve);
            if (calls.length === 2) bothCame();
          });
        return inner.generate(request);
      },
    };
    const late: Message[] = [{ role: "user", content: "late".repeat(50) }];
    const environment = defineEnvironment({
      name: "late",
      version: "1.0.0",
      config: z.strictObject({}),
      tasks: () => [{ prompt: "x" }],
      agents: ["first", "second"],
      rollout: async ({ agent }) => {
        await agent("second").sample(hello);
        for (const name of ["first", "second"] as const)
          agent(name)
            .sample(late)
            .catch(() => undefined);
        // Their prompts become tokens on another thread.
        await both;
      },
      rewards: {
        turns: async ({ trace }) => {
          for (const answer of calls) answer();
          await new Promise((resolve) => setTimeout(resolve, 20));
          return trace.turns;
        },
      },
    }).configure();
    const { episode } = await run(environment, client);
    expect([calls.length, episode.errors]).toEqual([2, []]);
    expect(episode.traces.map(({ agent, reward: total, nodes }) => [agent, total, nodes.length])).toEqual([
      ["second", 1, 2],
    ]);
  });

  it("each have their own trace, reward and seed, in any order of speaking", async () => {
    const client = policy();
    const { episode, columns } = await run(duel(), client);
    expect(episode.errors).toEqual([]);
    expect(episode.traces.map(({ agent, reward: total, trainable }) => [agent, total, trainable])).toEqual([
      ["asker", 0.5, true],
      ["solver", 12, true],
      ["solver", 12, true],
    ]);
    expect(episode.traces[0]).toMatchObject({ rewards: { asked: { score: 0.5, weight: 1 } }, metrics: { length: 2 } });
    expect(Object.keys(episode.traces[1]?.rewards ?? {})).toEqual(["solved"]);
    expect(columns).toHaveLength(3);
    expect(client.seeds[0]).toBe(5);
    expect(new Set(client.seeds).size).toBe(3);
    const again = policy();
    await run(duel(), again);
    expect(again.seeds).toEqual(client.seeds);
  });

  it("are attempts of the one where none is named: the best of n", async () => {
    const best = defineEnvironment({
      name: "best-of-n",
      version: "1.0.0",
      config: z.strictObject({ attempts: z.int().default(3) }),
      tasks: () => [{ prompt: "x" }],
      rollout: async ({ agent, config, task }) => {
        await Promise.all(Array.from({ length: config.attempts }, (_, i) => agent("agent", i).sample(task.prompt)));
      },
      metrics: { best: ({ traces }) => Math.max(...(traces["agent"] ?? []).map(({ lastReply }) => lastReply.length)) },
      rewards: { length: ({ trace }) => trace.lastReply.length },
    }).configure();
    const { episode } = await run(best, policy());
    expect(episode.traces.map(({ agent, reward: total, metrics }) => [agent, total, metrics["best"]])).toEqual([
      ["agent", 6, 6],
      ["agent", 6, 6],
      ["agent", 6, 6],
    ]);
  });

  it("may be many at the same time", async () => {
    const warnings: string[] = [];
    const note = ({ message }: Error): void => void warnings.push(message);
    process.on("warning", note);
    try {
      const { episode } = await run(duel(null, 40), policy());
      expect(episode.traces).toHaveLength(41);
      await new Promise((resolve) => setImmediate(resolve));
    } finally {
      process.off("warning", note);
    }
    expect(warnings).toEqual([]);
  });

  it("may be played by somebody else: that trace has no tokens and does not train", async () => {
    const { episode, columns } = await run(duel(opponent), policy());
    expect(episode.traces.map(({ agent, trainable, policy: versions }) => [agent, trainable, versions])).toEqual([
      ["asker", true, { start: 1, end: 1 }],
      ["solver", false, null],
      ["solver", false, null],
    ]);
    expect(columns.map(({ tokenIds }) => tokenIds.length > 0)).toEqual([true, false, false]);
    expect([...(columns[1]?.branchOffsets ?? [])]).toEqual([0]);
  });

  it("are scored by group, each on its own, and without sampling", async () => {
    const environment = duel();
    const task = { key: "0", hash: "", data: { prompt: "x" } };
    const episodes = await Promise.all([run(environment, policy()), run(environment, policy())]);
    const { scores } = await environment.scoreGroup(
      task,
      episodes.map(({ episode }) => episode),
      new AbortController().signal,
    );
    expect(scores.map((traces) => traces?.map(({ rewards }) => rewards["place"]?.score))).toEqual([
      [0, undefined, undefined],
      [100, undefined, undefined],
    ]);
    const reply: Message[] = [{ role: "assistant", content: "four" }];
    const scored = await environment.scoreConversations(task, { asker: [reply], solver: [reply, reply, reply] });
    expect(scored.traces.map(({ agent, reward: total }) => [agent, total])).toEqual([
      ["asker", 0.75],
      ["solver", 8],
      ["solver", 8],
      ["solver", 8],
    ]);
  });

  it("without any, or with two of one name, are refused", () => {
    const definition = {
      name: "t",
      version: "1.0.0",
      config: z.strictObject({}),
      tasks: () => [],
      rollout: async () => undefined,
      rewards: { one: () => 1 },
    };
    const invalid = expect.objectContaining({ code: "PRL_ENVIRONMENT_INVALID" });
    for (const agents of [[], ["a", "a"]]) expect(() => defineEnvironment({ ...definition, agents })).toThrow(invalid);
    const rewards = { one: reward(1, () => 1, { agent: "b" }) };
    const seats = () => JSON.parse('{"b": {}}') as object;
    for (const change of [{ rewards }, { seats }])
      expect(() => defineEnvironment({ ...definition, agents: ["a"], ...change }).configure()).toThrow(invalid);
  });
});
