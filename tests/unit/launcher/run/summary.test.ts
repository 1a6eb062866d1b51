import { describe, expect, it } from "vitest";

import { runReport } from "../../../../ts/launcher/run/report.ts";
import { type RunFacts, summarize } from "../../../../ts/launcher/run/summary.ts";
import { PrlError } from "../../../../ts/errors.ts";
import { RunHistory } from "../../../../ts/monitors/index.ts";

const FACTS: RunFacts = {
  status: "completed",
  run: "run",
  runDir: "/runs/run",
  wallSeconds: 63.1,
  phaseSeconds: { warm_start: 20, training: 40 },
  peakMemoryBytes: undefined,
  error: undefined,
  supervised: undefined,
  evaluationSources: ["sampled", "greedy"],
};

function history(rewards: readonly number[], evaluations: readonly [string, number, number][] = []): RunHistory {
  const found = new RunHistory(rewards.length);
  rewards.forEach((reward, index) => {
    const step = index + 1;
    found.add({
      component: "trainer",
      attempt: 1,
      step,
      time: 0,
      "mismatch_on_policy/tokens": 10 * step,
      "mismatch_on_policy/max_abs_logprob_diff": 0,
    });
    found.add({
      component: "orchestrator",
      attempt: 1,
      step,
      time: 0,
      "train/agg/all/agent/reward/mean": reward,
      "batch/tokens": 100,
    });
  });
  for (const [source, version, reward] of evaluations) {
    found.add({
      component: "orchestrator",
      attempt: 1,
      step: version,
      time: 0,
      [`eval/${source}/all/agent/reward/mean`]: reward,
      [`eval/${source}/all/agent/metrics/exact_match/mean`]: reward / 2,
      [`eval/${source}/num`]: 64,
    });
  }
  return found;
}

describe("summarize", () => {
  it("sums up a run of more steps than a function can have arguments", () => {
    const step = { step: 1, reward: 0.25, tokens: 1, onPolicy: { tokens: 1, maxAbsLogprobDiff: 0.5 } };
    const steps = Array.from({ length: 200_000 }, () => step);
    const summary = summarize({ steps, evaluations: [] } as unknown as RunHistory, FACTS);
    expect(summary).toMatchObject({ steps: 200_000, reward: { best: 0.25 }, mismatch: { max_abs_logprob_diff: 0.5 } });
  });

  it("takes the reward from the held-out evaluation of the first source", () => {
    const rewards = [
      ["greedy", 0, 0.6],
      ["sampled", 0, 0.5],
      ["sampled", 1, 0.95],
      ["greedy", 2, 0.97],
      ["sampled", 2, 0.9],
    ] as const;
    const summary = summarize(
      history(
        [0.4, 0.99],
        rewards.map(([a, b, c]) => [a, b, c]),
      ),
      FACTS,
    );
    expect(summary.reward).toEqual({ first: 0.5, last: 0.9, best: 0.95 });
    expect(Object.keys(summary.eval)).toEqual(["sampled", "greedy"]);
    expect(summary.eval["sampled"]).toEqual({
      before: { reward: 0.5, exact_match: 0.25, policy_version: 0, num: 64 },
      after: { reward: 0.9, exact_match: 0.45, policy_version: 2, num: 64 },
    });
    expect(summary).toMatchObject({
      status: "completed",
      steps: 2,
      tokens: 200,
      wall_seconds: 63.1,
      mismatch: { tokens: 30, max_abs_logprob_diff: 0 },
    });
    expect(summary).not.toHaveProperty("error");
  });

  it("takes it from the training steps when nothing was evaluated", () => {
    expect(summarize(history([0.4, 0.8, 0.7]), FACTS).reward).toEqual({ first: 0.4, last: 0.7, best: 0.8 });
  });

  it("has no reward, no mismatch and the error for a run that failed at once", () => {
    const error = new PrlError("PRL_PROCESS_DIED", "trainer-0 ended", { cause: new Error("out of memory") });
    const summary = summarize(new RunHistory(3), { ...FACTS, status: "failed", error });
    expect(summary).toMatchObject({ status: "failed", steps: 0, reward: null, mismatch: null, eval: {} });
    expect(summary.error).toEqual({ code: "PRL_PROCESS_DIED", message: "trainer-0 ended\ncaused by: out of memory" });
  });

  it("leaves `after` out while there is one evaluation only", () => {
    const summary = summarize(history([], [["sampled", 0, 0.5]]), FACTS);
    expect(summary.eval["sampled"]).not.toHaveProperty("after");
  });
});

describe("the summary of a supervised run", () => {
  it("counts its steps and has the last loss", () => {
    const supervised = { step: 20, maxSteps: 20, loss: 0.25, tokensPerSecond: 1, learningRate: 1 };
    const summary = summarize(new RunHistory(null), { ...FACTS, supervised });
    expect(summary).toMatchObject({ steps: 20, loss: 0.25, reward: null });
    const text = runReport(summary).join("\n");
    expect(text).toMatch(/^loss at the end +0\.2500$/m);
    expect(text).not.toContain("logp");
  });
});

describe("runReport", () => {
  it("shows evaluation before and after, totals and the mismatch line", () => {
    const evaluations: [string, number, number][] = [
      ["sampled", 0, 0.5],
      ["sampled", 2, 0.9],
    ];
    const summary = summarize(history([0.4, 0.9], evaluations), { ...FACTS, peakMemoryBytes: 812 * 2 ** 20 });
    const text = runReport(summary).join("\n");
    expect(text).toMatch(/^sampled +reward +0\.5000 +0\.9000 +\+0\.4000$/m);
    expect(text).toMatch(/^ +exact match +0\.2500 +0\.4500 +\+0\.2000$/m);
    expect(text).toMatch(/^wall time +1m 03s$/m);
    expect(text).toMatch(/^peak memory, all processes +812 MiB$/m);
    expect(text).toContain("max |logp difference| over on-policy tokens: 0 (30 tokens)");
  });

  it("says so when nothing was evaluated or compared", () => {
    const text = runReport(summarize(new RunHistory(1), FACTS)).join("\n");
    expect(text).toContain("No held-out evaluation was made.");
    expect(text).toContain("none were trained on");
  });
});
