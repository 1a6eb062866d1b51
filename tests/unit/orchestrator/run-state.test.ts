/** What a run keeps for its next checkpoint. */
import { expect, test } from "vitest";

import { AssembledBatches } from "../../../ts/orchestrator/checkpoint/assembled-batches.ts";
import { noProgress } from "../../../ts/orchestrator/checkpoint/progress.ts";
import { RunState } from "../../../ts/orchestrator/checkpoint/run-state.ts";

test("batches that are trained are forgotten, however rare checkpoints are", () => {
  const assembled = new AssembledBatches();
  const state = new RunState({
    assembled,
    budget: { stateAfter: () => ({ units: 0, rollouts: 0 }) },
    checkpoints: { written: Promise.resolve() },
    pool: { snapshot: () => ({ opened: 0, pending: [] }) },
    tasks: { state: { drawn: 0, sources: {} }, pending: [] },
    version: 0,
    place: null,
  });
  for (let step = 1; step <= 100; step++) {
    assembled.add(step, []).progress = { ...noProgress(), tasks: step };
    if (step > 2) state.version = step - 2;
  }
  expect(assembled.after(-1).map(({ step }) => step)).toEqual([98, 99, 100]);
  expect(state.checkpoint(99)).toMatchObject({ step: 99, progress: { tasks: 99 } });
});
