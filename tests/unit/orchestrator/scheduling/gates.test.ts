/** Which groups a gate keeps out, failed rollouts and several agents among them. */
import { expect, test } from "vitest";
import { curriculumBlock } from "../../../../ts/config/schema/orchestrator/curriculum.ts";
import type { ReceivedEpisode, RunRequest } from "../../../../ts/environments/internal.ts";
import { isRejected } from "../../../../ts/orchestrator/curriculum/gates.ts";
import type { Group } from "../../../../ts/orchestrator/scheduling/dispatcher.ts";
import { errored, scored } from "../simulation.ts";

const request = { episode_id: "e", env: "b", group_id: "g", run: { type: "train", step: 1 } } as RunRequest;
const FAILED = null;

/** A group of rollouts with these rewards; several in one rollout are those of agents a, b, .... */
function rejected(range: object, ...rewards: (number | null | readonly number[])[]): boolean {
  const rollouts = rewards.map((reward): ReceivedEpisode => {
    if (reward === FAILED) return errored(request, "environment");
    const { episode, samples } = scored(request, 0, 3, 3);
    const traces = [reward]
      .flat()
      .flatMap((one, i) => episode.traces.map((trace) => ({ ...trace, agent: "abc".charAt(i), reward: one })));
    return { episode: { ...episode, traces }, samples };
  });
  const { gates } = curriculumBlock.parse({ gates: { advantage_range: range } });
  return isRejected({ rollouts } as Partial<Group> as Group, gates);
}

test("a group without a signal is rejected, however many of its rollouts failed", () => {
  expect(rejected({}, 0.1, 0.1, 0.1)).toBe(true);
  expect(rejected({}, 0, 0)).toBe(true);
  expect(rejected({}, 0.3, FAILED, 0.3)).toBe(true);
  expect(rejected({}, FAILED, 0.7, FAILED)).toBe(true);
});

test("one with a signal passes, and so does one of failed rollouts alone, which is dropped as errored", () => {
  expect(rejected({}, 0.1, 0.2)).toBe(false);
  expect(rejected({}, 1, FAILED, 0)).toBe(false);
  expect(rejected({}, FAILED, FAILED)).toBe(false);
});

test("each agent is compared with its own kind, and one of them is enough", () => {
  expect(rejected({}, [0, 1], [0, 1])).toBe(true);
  expect(rejected({}, [0, 1], [0, 0.5])).toBe(false);
});

test("bounds are of the advantages, themselves included", () => {
  const range = { reject_min: -0.5, reject_max: 0.5 };
  expect(rejected(range, 0, 1)).toBe(true);
  expect(rejected(range, 0, 1.25)).toBe(false);
  expect(rejected({ reject_min: -0.5, reject_max: 0.25 }, 0, 1)).toBe(false);
});
