import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import type { Episode, EpisodeTrace } from "../../../ts/environments/index.ts";
import { exportSft, type ExportOptions } from "../../../ts/evals/index.ts";

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "prl-export-"));
});
afterEach(() => rm(dir, { recursive: true }));

const system = { role: "system", content: "s" } as const;
const user = { role: "user", content: "a" } as const;
const assistant = (content: string) => ({ role: "assistant", content }) as const;
const node = (parent: number | null, message: EpisodeTrace["nodes"][number]["message"], sampled = false) => ({
  parent,
  message,
  sampled,
});

function trace(over: Partial<EpisodeTrace> = {}): EpisodeTrace {
  return {
    id: "t",
    agent: "agent",
    trainable: true,
    nodes: [node(null, user), node(0, assistant("b"), true)],
    asked: { is_text: false },
    rewards: {},
    reward: 1,
    metrics: {},
    stop_condition: "agent_completed",
    is_completed: true,
    is_truncated: false,
    usage: { prompt_tokens: 1, completion_tokens: 1 },
    timing: { start: 0, generation_ms: 0, scoring_ms: 0, total_ms: 0 },
    policy: null,
    ...over,
  };
}

function episode(traces: EpisodeTrace[], ok = true): Episode {
  return {
    id: "e",
    env: { id: "env", name: "source" },
    task: { key: "k", hash: "h", data: {} },
    group: { id: "g" },
    run: { type: "eval", step: 0 },
    ok,
    errors: ok ? [] : [{ class: "infra", code: "PRL_DEADLINE", message: "late" }],
    traces,
  };
}

async function exported(episodes: readonly (Episode | string)[], options: ExportOptions = {}) {
  const lines = episodes.map((one) => `${typeof one === "string" ? one : JSON.stringify(one)}\n`);
  await writeFile(join(dir, "traces.jsonl"), lines.join(""));
  const out = join(dir, "out.jsonl");
  const report = await exportSft(dir, out, options);
  const text = await readFile(out, "utf8");
  const rows = text.split("\n").filter((line) => line !== "");
  return { report, rows: rows.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

describe("traces as rows for prl sft", () => {
  it("are conversations with their tools, or texts as they were", async () => {
    const tools = [{ type: "function", function: { name: "f" } }];
    const { rows } = await exported([
      episode([trace({ asked: { is_text: false, tools } })]),
      episode([trace({ asked: { is_text: true } })]),
    ]);
    expect(rows).toEqual([
      { messages: [user, assistant("b")], tools, reward: 1, env: "env" },
      { prompt: "a", completion: "b", reward: 1, env: "env" },
    ]);
  });

  it("learn a reply once that several branches have, and none that the policy did not write", async () => {
    const nodes = [
      node(null, system),
      node(0, user),
      node(1, assistant("first"), true),
      node(2, user),
      node(3, assistant("left"), true),
      node(2, user),
      node(5, assistant("right"), true),
      node(null, user),
      node(7, assistant("shown")),
      node(8, user),
      node(9, assistant("own"), true),
    ];
    const { rows } = await exported([episode([trace({ nodes })])]);
    expect(rows).toMatchObject([
      { messages: [system, user, assistant("first"), user, assistant("left")] },
      { prompt: [system, user, assistant("first"), user], completion: [assistant("right")] },
      { prompt: [user, assistant("shown"), user], completion: [assistant("own")] },
    ]);
  });

  it("learn a reply in a later branch where the first branch that has it is left out", async () => {
    const first = [node(null, user), node(0, assistant("first"), true)];
    const foreign = [node(1, user), node(2, assistant("shown")), node(3, user)];
    const nodes = [...first, ...foreign, node(1, user), node(5, assistant("right"), true)];
    const { rows, report } = await exported([episode([trace({ nodes })])]);
    expect(rows).toMatchObject([{ messages: [user, assistant("first"), user, assistant("right")] }]);
    expect(report.leftOut).toEqual({ foreign_reply: 1 });
  });

  it("leave out traces that cannot be learnt, counted by reason", async () => {
    const { asked: _asked, ...unknown } = trace();
    const longer = [...trace().nodes, node(1, user), node(2, assistant("c"), true)];
    const foreign = [...trace().nodes, node(1, user), node(2, assistant("c")), node(3, user)];
    const { report, rows } = await exported(
      [
        "{torn",
        episode([trace({ reward: null })], false),
        episode([trace({ reward: 0.4 }), trace({ trainable: false }), trace({ is_truncated: true })]),
        episode([trace({ asked: "varied" }), unknown, trace({ asked: { is_text: true }, nodes: longer })]),
        episode([trace({ nodes: foreign }), trace({ nodes: [node(null, user)] }), trace({ reward: 0.5 })]),
      ],
      { minReward: 0.5 },
    );
    expect(rows).toHaveLength(1);
    const reasons = ["unreadable", "failed", "low_reward", "not_trainable", "truncated", "varied_prompts"];
    const more = ["unknown_prompts", "several_replies", "foreign_reply", "nothing_sampled"];
    const leftOut = Object.fromEntries([...reasons, ...more].map((reason) => [reason, 1]));
    expect(report).toEqual({ rows: 1, traces: 9, leftOut });
  });

  it("come from the training steps of an RL run in their order, not from its evaluations", async () => {
    for (const [path, content] of [
      ["step_10", "ten"],
      ["step_2", "two"],
      ["step_2/eval", "held out"],
    ] as const) {
      await mkdir(join(dir, "rollouts", path), { recursive: true });
      const nodes = [node(null, user), node(0, assistant(content), true)];
      await writeFile(
        join(dir, "rollouts", path, "traces.jsonl"),
        `${JSON.stringify({ ...episode([trace({ nodes })]), advantage: 0.5 })}\n`,
      );
    }
    const out = join(dir, "out.jsonl");
    expect(await exportSft(dir, out)).toMatchObject({ rows: 2 });
    expect((await readFile(out, "utf8")).match(/"(two|ten|held out)"/gu)).toEqual(['"two"', '"ten"']);
    const nothing = exportSft(join(dir, "rollouts", "step_2", "eval"), out);
    await expect(nothing).resolves.toMatchObject({ rows: 1 });
    await expect(exportSft(join(dir, "none"), out)).rejects.toMatchObject({ code: "PRL_IO" });
  });
});
