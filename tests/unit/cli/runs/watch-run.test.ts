import { expect, test } from "vitest";

import { readRun } from "../../../../ts/cli/runs/read-run.ts";
import { watchRun } from "../../../../ts/cli/runs/watch-run.ts";
import type { RunEvent } from "../../../../ts/monitors/index.ts";
import { temporaryFolder, writeRun } from "./run-fixture.ts";

const LINE = { component: "sft", attempt: 1, step: 3, time: 1, "loss/mean": 2.5 };

test.each([
  ["of a supervised run", { "sft-run.json": { max_steps: 7 }, "sft.json": { config: { max_steps: 7 } } }, null],
  [
    "of a warm start",
    {
      "rl.json": { max_steps: 30, warm_start: { sft: "/sft.toml" } },
      "warm-start.json": { max_steps: 7 },
      "sft.json": { config: { max_steps: 7 } },
    },
    30,
  ],
])("the steps %s are counted against all of them", async (_, configs, maxSteps) => {
  const files = Object.fromEntries(Object.entries(configs).map(([name, content]) => [`configs/${name}`, content]));
  const runDir = await writeRun(await temporaryFolder(), "run", { ...files, "metrics.jsonl": [LINE] });
  const events: RunEvent[] = [];
  await watchRun(await readRun(runDir), (event) => events.push(event), new AbortController().signal);
  expect(events).toEqual([
    { type: "started", runDir, maxSteps },
    { type: "sft-step", step: expect.objectContaining({ step: 3, maxSteps: 7 }) as unknown },
  ]);
});
