/** The training tasks of several sources, and where a run that continues goes on. */
import { expect, test } from "vitest";

import { curriculumBlock } from "../../../../ts/config/schema/orchestrator/curriculum.ts";
import type { EnvWorkers } from "../../../../ts/orchestrator/env-workers/env-workers.ts";
import { TrainTasks, type TrainTasksState } from "../../../../ts/orchestrator/scheduling/tasks.ts";

const SIZES: Readonly<Record<string, number>> = { short: 5, whole: 64, long: 150, drawn: 130 };
const sources = Object.keys(SIZES).map((name) => {
  const type = name === "drawn" ? "learnability" : "sequential";
  return { name, ratio: 1, group_size: 2, curriculum: curriculumBlock.parse({ sampler: { type } }) };
});
const { signal } = new AbortController();

/** Workers whose pages come when `wait` has come back. */
function workers(wait: () => Promise<void> = async () => undefined): EnvWorkers {
  const never = async () => Promise.reject(new Error("it is not asked for"));
  return {
    async tasks({ source, after, limit }) {
      await wait();
      const first = Number(after ?? 0);
      const size = SIZES[source] ?? 0;
      const keys = Array.from({ length: Math.min(limit, size - first) }, (_, i) => `${source}-${first + i}`);
      const next = first + limit < size ? String(first + limit) : null;
      return { tasks: keys.map((key) => ({ key, hash: "", data: null })), next, endless: false };
    },
    run: never,
    scoreGroup: never,
    close: async () => undefined,
  };
}

test("a state that is taken while a page is on its way skips no task and draws none twice", async () => {
  const states: { after: number; state: TrainTasksState }[] = [];
  const drawn: string[] = [];
  const wait = async () => void states.push({ after: drawn.length, state: structuredClone(tasks.state) });
  const tasks = new TrainTasks({ workers: workers(wait), seed: 1, sources, signal });
  const next = async (from: TrainTasks) => {
    const { task, epoch } = await from.next();
    return `${task.key} ${epoch}`;
  };
  while (drawn.length < 700) drawn.push(await next(tasks));
  expect(states.length).toBeGreaterThan(20);
  for (const { after, state } of states) {
    const resumed = new TrainTasks({ workers: workers(), seed: 1, sources, signal, state });
    const rest = drawn.slice(after, after + 20);
    const again: string[] = [];
    while (again.length < rest.length) again.push(await next(resumed));
    expect(again).toEqual(rest);
  }
});
