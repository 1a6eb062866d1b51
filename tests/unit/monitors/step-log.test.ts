import { expect, it } from "vitest";

import { type Metrics, logSteps } from "../../../ts/monitors/index.ts";

const NONE: Metrics = { log: () => undefined, event: () => undefined, close: () => undefined };

/** What the log of a component says of these values. */
function logged(component: string, step: number, values: Record<string, number>): string {
  let text = "";
  logSteps(component, NONE, (line) => {
    text += line;
  }).log(step, values);
  return text;
}

it("has a line per step with the component's numbers, those that there are", () => {
  expect(logged("trainer", 3, { "loss/mean": -0.01, "time/step": 0.41, "perf/throughput": 41_000 })).toBe(
    "Step 3 | 0.41s | Loss -0.0100 | Tokens/s 41,000\n",
  );
  const orchestrator = { "train/agg/all/agent/reward/mean": 0.5, "batch/rollouts": 128, "time/step": 1 };
  expect(logged("orchestrator", 3, orchestrator)).toBe("Step 3 | 1.00s | Reward 0.5000 | Rollouts 128\n");
});

it("has a line per evaluated source, and none for other lines", () => {
  expect(logged("orchestrator", 4, { "eval/held/all/agent/reward/mean": 0.9, "eval/held/num": 8 })).toBe(
    "Evaluated held | Policy v4 | Reward 0.9000\n",
  );
  expect(logged("trainer", 4, { other: 1 })).toBe("");
});
