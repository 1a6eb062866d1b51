import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import type { Episode } from "../../ts/environments/index.ts";
import { prl, readJsonLines, workspace } from "../support/prl.ts";

const CONFIG = join(import.meta.dirname, "configs/several-agents.toml");

let place: Awaited<ReturnType<typeof workspace>>;
beforeEach(async () => {
  place = await workspace();
});
afterEach(() => place.remove());

test("prl rl trains environments of several agents and of group rewards, each trace with its own advantage", async () => {
  const run = await prl(["rl", CONFIG, "--run.name", "run"], { cwd: place.dir, cache: place.cache });
  expect(run.stderr + run.stdout).toContain("Step 2/2");
  expect(run.code).toBe(0);
  const dir = join(place.dir, "outputs/run");
  type Line = Episode & { advantage: number | null; advantages?: (number | null)[] };
  const steps = [1, 2].map((step) => readJsonLines<Line>(join(dir, `rollouts/step_${step}/traces.jsonl`)));
  const lines = (await Promise.all(steps)).flat();
  const of = (env: string) => lines.filter((line) => line.env.id === env && line.ok);

  const shortest = new Map<string, Line[]>();
  for (const line of of("shortest")) shortest.set(line.group.id, [...(shortest.get(line.group.id) ?? []), line]);
  expect(shortest.size).toBeGreaterThan(0);
  for (const group of shortest.values()) {
    const lengths = group.map(({ traces }) => traces[0]?.nodes.at(-1)?.message.content.length ?? 0);
    const rewards = group.map(({ traces }) => traces[0]?.reward);
    expect(rewards).toEqual(lengths.map((length) => Number(length === Math.min(...lengths))));
  }
  const hands = of("kuhn-poker");
  expect(hands.length).toBeGreaterThan(0);
  for (const { traces, advantages, advantage } of hands) {
    const [first, second] = traces.map(({ reward }) => reward ?? Number.NaN);
    expect(traces[0]?.agent).toBe("player0");
    if (second === undefined) expect(advantage).toEqual(expect.any(Number));
    else expect([advantages?.length, first]).toEqual([2, -second]);
  }
  expect(of("proposer-solver").every(({ traces }) => traces[0]?.agent === "proposer")).toBe(true);
});
