import { describe, expect, test } from "vitest";

import type { Episode } from "../../../ts/environments/index.ts";
import { report, resultTable } from "../../../ts/evals/index.ts";

const OPTIONS = { name: "e", env: "env", model: "m", passThreshold: 0.5 };

/** One scored episode, or an error for null. */
function episode(reward: number | null): Episode {
  const trace: Episode["traces"][number] = {
    id: "t",
    agent: "agent",
    trainable: true,
    nodes: [],
    rewards: { main: { score: reward ?? 0, weight: 1 } },
    reward,
    metrics: { length: 2 },
    stop_condition: "agent_completed",
    is_completed: true,
    is_truncated: reward === 0,
    usage: { prompt_tokens: 3, completion_tokens: 4 },
    timing: { start: 0, generation_ms: 1, scoring_ms: 1, total_ms: 2 },
    policy: null,
  };
  return {
    id: "x",
    env: { id: "env", name: "e" },
    task: { key: "k", hash: "", data: {} },
    group: { id: "g" },
    run: { type: "eval", step: 0 },
    ok: reward !== null,
    errors: reward === null ? [{ class: "provider", code: "PRL_INFERENCE_FAILED", message: "no" }] : [],
    traces: reward === null ? [] : [trace],
  };
}

const groups = (...rewards: (number | null)[][]) => rewards.map((group) => group.map(episode));

describe("a report", () => {
  test("averages tasks, and estimates pass@k without bias", () => {
    const result = report(groups([1, 0, 0, 0], [1, 1, 0, 0]), { ...OPTIONS, rollouts: 4 });
    expect(result.reward?.mean).toBeCloseTo(0.375, 12);
    // Two tasks: Student's t with one degree of freedom, 12.7062, times the standard error 0.125.
    expect(result.reward).toMatchObject({ method: "t" });
    expect((result.reward?.high ?? 0) - 0.375).toBeCloseTo(12.7062047 * 0.125, 6);
    expect(Object.keys(result.pass_at_k)).toEqual(["1", "2", "4"]);
    expect(result.pass_at_k["1"]).toBeCloseTo(0.375, 12);
    expect(result.pass_at_k["2"]).toBeCloseTo((0.5 + 5 / 6) / 2, 12);
    expect(result.pass_at_k["4"]).toBe(1);
    expect(result.pass_hat_k["2"]).toBeCloseTo((0 + 1 / 6) / 2, 12);
    expect(result.truncated).toBeCloseTo(5 / 8, 12);
    expect(result.usage).toEqual({ prompt_tokens: 24, completion_tokens: 32 });
  });

  test("has time, and the cost where a price is known", () => {
    const free = report(groups([1, 0]), { ...OPTIONS, rollouts: 2 });
    expect([free.cost, free.seconds]).toEqual([null, { rollout: 0.001, scoring: 0.001 }]);
    const paid = report(groups([1, 0]), { ...OPTIONS, rollouts: 2, price: { input: 2_000_000, output: 500_000 } });
    expect(paid.cost).toBe(2 * (3 * 2 + 4 * 0.5));
    expect(report(groups([null]), { ...OPTIONS, rollouts: 1 }).seconds).toBeNull();
    // A rollout whose scoring failed was sampled, and is paid.
    const failed = [[{ ...episode(1), ok: false }]];
    const { scored, cost } = report(failed, { ...OPTIONS, rollouts: 1, price: { input: 2_000_000, output: 500_000 } });
    expect([scored, cost]).toEqual([0, 3 * 2 + 4 * 0.5]);
    expect(resultTable([paid]).join("\n")).toMatch(/cost {5}16/u);
  });

  test("gives the parts of a benchmark their means, and derives its numbers", () => {
    const result = report(groups([1], [0], [null]), {
      ...OPTIONS,
      rollouts: 1,
      parts: ["b", "a", "c"],
      derive: ({ length = 0 }) => ({ twice: 2 * length }),
    });
    expect(result.by_group).toEqual({
      a: { examples: 1, reward: 0 },
      b: { examples: 1, reward: 1 },
      c: { examples: 1, reward: null },
    });
    expect(result.derived).toEqual({ twice: 4 });
  });

  test("counts errors apart: they lower no reward, and their task has no pass@k", () => {
    const result = report(groups([1, null, 1], [0, 0, 1], [null, null, null]), { ...OPTIONS, rollouts: 3 });
    expect(result).toMatchObject({ examples: 3, scored: 5, errors: 4, errors_by_code: { PRL_INFERENCE_FAILED: 4 } });
    expect(result.reward?.mean).toBeCloseTo((1 + 1 / 3) / 2, 12);
    expect(result.pass_at_k["1"]).toBeCloseTo(1 / 3, 12);
    expect(Object.keys(result.pass_at_k)).toEqual(["1", "2", "3"]);
  });

  test("reports how many rows of the data gave no task", () => {
    const result = report(groups([1]), { ...OPTIONS, rollouts: 1, rowsLeftOut: 3 });
    expect(result.rows_left_out).toBe(3);
    expect(resultTable([result]).join("\n")).toContain("3 rows left out");
    expect(resultTable([report(groups([1]), { ...OPTIONS, rollouts: 1 })]).join("\n")).not.toContain("left out");
  });

  test("has dashes where nothing was scored", () => {
    const result = report(groups([null]), { ...OPTIONS, rollouts: 1 });
    expect(result).toMatchObject({ reward: null, pass_at_k: {}, truncated: 0 });
    const lines = resultTable([result, { ...report(groups([1, 1]), { ...OPTIONS, rollouts: 2 }), name: "other" }]);
    expect(lines[2]).toMatch(/^e +m +1 +1 +1 +– +– +– +– +– +0$/);
    expect(lines[3]).toMatch(/^other +m +1 +2 +0 +1\.0000 +– +1\.0000 +1\.0000 +1\.0000 +8$/);
  });
});
