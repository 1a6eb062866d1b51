import { expect, test } from "vitest";

import type { Episode, GroupScores as Scores, Task } from "../../../ts/environments/index.ts";
import { GroupScores } from "../../../ts/evals/group-scores.ts";

const [first, second]: Task[] = [
  { key: "0", hash: "a", data: {} },
  { key: "1", hash: "b", data: {} },
];
const signal = new AbortController().signal;
const episode = (id: string): Episode => ({
  id,
  env: { id: "env", name: "e" },
  task: { key: "0", hash: "a", data: {} },
  group: { id: "g" },
  run: { type: "eval", step: 0 },
  ok: true,
  errors: [],
  traces: [],
});

test("episodes come out when their group is whole, others at once", async () => {
  const asked: string[][] = [];
  const scoreGroup = async (_task: Task, episodes: readonly Episode[]): Promise<Scores> => {
    asked.push(episodes.map(({ id }) => id));
    return { scores: episodes.map(() => []), error: null };
  };
  if (first === undefined || second === undefined) throw new Error("no tasks");
  const scorer = new GroupScores({ scoresGroups: true, scoreGroup }, { size: 2, timeoutMs: 1000 });
  const ids = async (task: Task, id: string) => (await scorer.add(task, episode(id), signal)).map((one) => one.id);
  expect(await ids(first, "a")).toEqual([]);
  expect(await ids(second, "b")).toEqual([]);
  expect(await ids(first, "c")).toEqual(["a", "c"]);
  expect(await ids(second, "d")).toEqual(["b", "d"]);
  expect(asked).toEqual([
    ["a", "c"],
    ["b", "d"],
  ]);
  const alone = new GroupScores({ scoresGroups: false, scoreGroup }, { size: 2, timeoutMs: 1000 });
  expect(await alone.add(first, episode("x"), signal)).toHaveLength(1);
  expect(asked).toHaveLength(2);
});

test("rewards of a group that hang make all of it fail", async () => {
  if (first === undefined) throw new Error("no tasks");
  const hangs = async (_task: Task, _episodes: readonly Episode[], stopped: AbortSignal): Promise<Scores> =>
    new Promise((resolve) => {
      stopped.addEventListener("abort", () => {
        const { message } = stopped.reason as Error;
        resolve({ scores: [], error: { class: "environment", code: "PRL_ENVIRONMENT_TIMEOUT", message } });
      });
    });
  const scorer = new GroupScores({ scoresGroups: true, scoreGroup: hangs }, { size: 1, timeoutMs: 5 });
  const [ended] = await scorer.add(first, episode("a"), signal);
  expect(ended).toMatchObject({ ok: false, errors: [{ code: "PRL_ENVIRONMENT_TIMEOUT" }] });
});
