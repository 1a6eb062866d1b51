/** What a run keeps for its next checkpoint. */
import { expect, test } from "vitest";

import { AssembledBatches } from "../../../ts/orchestrator/checkpoint/assembled-batches.ts";
import { noProgress } from "../../../ts/orchestrator/checkpoint/progress.ts";
import { RunState } from "../../../ts/orchestrator/checkpoint/run-state.ts";

const FRESH = { opened: 0, pending: [] as never[] };

/** `now` is what pool and tasks say from here on; the state of a checkpoint may be from an earlier moment. */
function stateOf(assembled: AssembledBatches, now: { opened: number; pending: never[] } = FRESH): RunState {
  return new RunState({
    assembled,
    budget: { stateAfter: () => ({ units: 0, rollouts: 0 }) },
    checkpoints: { written: Promise.resolve() },
    pool: { snapshot: () => ({ ...now }) },
    tasks: { state: { drawn: 0, sources: {} }, pending: [] },
    version: 0,
    place: null,
  });
}

test("the checkpoint of the current version has the state from before groups were opened under it", () => {
  const now = { ...FRESH };
  const assembled = new AssembledBatches();
  const state = stateOf(assembled, now);
  now.opened = 4;
  assembled.add(1, []);
  state.version = 1;
  now.opened = 6;
  assembled.add(2, []);
  expect(state.checkpoint(1)).toMatchObject({ step: 1, opened: 4 });
  expect(state.checkpoint(2)).toMatchObject({ step: 2, opened: 6 });
});

test("states that are held do not follow what happens later", () => {
  const now = { ...FRESH };
  const assembled = new AssembledBatches();
  const state = stateOf(assembled, now);
  for (const step of [1, 2]) assembled.add(step, []);
  now.opened = 8;
  state.hold(2);
  now.opened = 0;
  expect([0, 1, 2].map((version) => state.checkpoint(version).opened)).toEqual([8, 8, 8]);
  expect(state.checkpoint(2).step).toBe(2);
});

test("batches that are trained are forgotten, however rare checkpoints are", () => {
  const assembled = new AssembledBatches();
  const state = stateOf(assembled);
  for (let step = 1; step <= 100; step++) {
    assembled.add(step, []).progress = { ...noProgress(), tasks: step };
    if (step > 2) state.version = step - 2;
  }
  expect(assembled.after(-1).map(({ step }) => step)).toEqual([98, 99, 100]);
  expect(state.checkpoint(99)).toMatchObject({ step: 99, progress: { tasks: 99 } });
});
