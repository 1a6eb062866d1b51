import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import {
  type ConfiguredEnvironment,
  defineEnvironment,
  type EnvironmentDefinition,
  type Episode,
  groupReward,
  type Message,
  reward,
  scoreGroup,
  singleTurn,
} from "../../../../ts/environments/index.ts";
import { withGroupScores } from "../../../../ts/environments/internal.ts";

interface Row {
  prompt: Message[];
}

const row: Row = { prompt: [{ role: "user", content: "say something" }] };
const task = { key: "0", hash: "", data: row };
const said = (content: string): Message[] => [...row.prompt, { role: "assistant", content }];
const signal = new AbortController().signal;

type Parts = Pick<EnvironmentDefinition<object, Row>, "rewards" | "metrics">;

function define(parts: Parts) {
  const { rewards, metrics = {} } = parts;
  const tasks = (): Row[] => [row];
  const config = z.strictObject({});
  return defineEnvironment({ name: "t", version: "1.0.0", config, tasks, rollout: singleTurn(), rewards, metrics });
}

const shortest = groupReward<Row>(0.5, ({ traces }) => {
  const lengths = traces.map(({ lastReply }) => lastReply.length);
  return lengths.map((length) => length === Math.min(...lengths));
});
const long = reward<Row>(1, ({ trace }) => trace.lastReply.length / 10);

async function episodesOf(environment: ConfiguredEnvironment, replies: readonly string[]): Promise<Episode[]> {
  return Promise.all(replies.map((reply) => environment.scoreConversations(task, { agent: [said(reply)] })));
}

describe("a group reward", () => {
  let environment: ConfiguredEnvironment;
  beforeAll(() => {
    environment = define({
      rewards: { long, shortest },
      metrics: { rank: groupReward(0, ({ traces }) => traces.map((_, i) => i)) },
    }).configure();
  });

  it("adds to each trace's rewards when all have ended; ties share", async () => {
    expect(environment.scoresGroups).toBe(true);
    const episodes = await episodesOf(environment, ["a", "bb", "c"]);
    expect(episodes.map(({ traces }) => traces[0]?.reward)).toEqual([0.1, 0.2, 0.1]);
    const scores = await environment.scoreGroup(task, episodes, signal);
    const scored = withGroupScores(episodes, scores);
    expect(scored.map(({ traces }) => traces[0]?.reward)).toEqual([0.6, 0.2, 0.6]);
    expect(scored[1]?.traces[0]).toMatchObject({
      rewards: { long: { score: 0.2, weight: 1 }, shortest: { score: 0, weight: 0.5 } },
      metrics: { rank: 1 },
    });
    expect(withGroupScores(scored, scores)).toEqual(scored);
  });

  it("leaves failed rollouts out", async () => {
    const [first, second, third] = await episodesOf(environment, ["long one", "x", "xy"]);
    if (first === undefined || second === undefined || third === undefined) throw new Error("no episodes");
    const failed: Episode = {
      ...second,
      ok: false,
      errors: [{ class: "infra", code: "PRL_DEADLINE", message: "late" }],
    };
    const scores = await environment.scoreGroup(task, [first, failed, third], signal);
    expect(scores.scores.map((one) => one?.[0]?.rewards["shortest"]?.score)).toEqual([0, undefined, 1]);
    expect(withGroupScores([first, failed, third], scores)[1]).toEqual(failed);
  });

  it.each<[string, Parts["rewards"][string], string]>([
    ["throws", groupReward<Row>(1, () => Promise.reject(new Error("no luck"))), 'reward "g" threw: no luck'],
    ["hangs", groupReward<Row>(1, () => new Promise(() => undefined), { timeoutMs: 10 }), "within 10 ms"],
    ["gives too few", groupReward<Row>(1, () => [1]), "1 values for 2 traces"],
    ["gives no array", groupReward<Row>(1, () => JSON.parse("{}") as number[]), "a object for 2 traces"],
    ["gives NaN", groupReward<Row>(1, ({ traces }) => traces.map(() => Number.NaN)), "returned NaN"],
    [
      "gives text",
      groupReward<Row>(1, ({ traces }) => traces.map(() => JSON.parse('"1"') as number)),
      "returned a string",
    ],
  ])("that %s is an error of every rollout of the group, never 0", async (_, entry, problem) => {
    const broken = define({ rewards: { long, g: entry } }).configure();
    const episodes = await episodesOf(broken, ["a", "b"]);
    const scores = await broken.scoreGroup(task, episodes, signal);
    expect(scores.error?.message).toContain(problem);
    for (const episode of withGroupScores(episodes, scores)) {
      expect(episode).toMatchObject({ ok: false, errors: [{ class: "environment" }], traces: [{ reward: null }] });
    }
  });

  it("is part of scoreGroup, by equal tasks, and of a group of one in validate", async () => {
    const other: Row = { prompt: [{ role: "user", content: "other" }] };
    const scored = await scoreGroup(define({ rewards: { shortest } }), [
      { task: row, messages: said("aa") },
      { task: other, messages: said("bbb") },
      { task: row, messages: said("a") },
    ]);
    expect(scored.map((one) => one.reward)).toEqual([0, 0.5, 0.5]);
    expect((await environment.score(task, "ten letters")).rewards["shortest"]?.score).toBe(1);
  });
});

describe("named sub-scores", () => {
  it("are recorded one by one with the reward's weight, and checked like any score", async () => {
    const parts = reward<Row>(0.5, ({ trace }) => ({ a: trace.lastReply.includes("a"), b: 2 }));
    const scored = await define({ rewards: { parts }, metrics: { m: () => ({ x: 3 }) } })
      .configure()
      .score(task, "a");
    expect(scored).toEqual({
      reward: 1.5,
      rewards: { "parts/a": { score: 1, weight: 0.5 }, "parts/b": { score: 2, weight: 0.5 } },
      metrics: { "m/x": 3 },
    });
    for (const bad of ['{"a": "1"}', "{}", "[1]", "null"]) {
      const wrong = reward<Row>(1, () => JSON.parse(bad) as number);
      await expect(define({ rewards: { wrong } }).configure().score(task, "a")).rejects.toThrow(
        /"wrong(\/a)?" returned/u,
      );
    }
  });

  it("refuses definitions with invalid time limits", () => {
    const late = reward<Row>(1, () => 1, { timeoutMs: 0 });
    expect(() => define({ rewards: { late } })).toThrow(expect.objectContaining({ code: "PRL_ENVIRONMENT_INVALID" }));
  });
});
