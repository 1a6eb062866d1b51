/** What a rollout's answer must be, and how often it is tried again. */
import { describe, expect, test } from "vitest";
import type { ReceivedEpisode, RunRequest } from "../../../../ts/environments/internal.ts";
import type { EnvWorkers } from "../../../../ts/orchestrator/index.ts";
import { runRollout, verified } from "../../../../ts/orchestrator/scheduling/rollouts.ts";
import { errored, scored } from "../simulation.ts";

const NEVER = new AbortController().signal;
const request = {
  episode_id: "e",
  env: "b",
  group_id: "g",
  seed: 7,
  task: { key: "k", hash: "", data: {} },
  run: { type: "train", step: 1 },
} as RunRequest;

function lost(asked: RunRequest): ReceivedEpisode {
  const { episode, samples } = errored(asked, "infra");
  const [error] = episode.errors;
  if (error === undefined) throw new Error("it has no error");
  return { episode: { ...episode, errors: [{ ...error, code: "PRL_INFERENCE_LOST" }] }, samples };
}

/** Runs a rollout that goes wrong so often, and says what was asked. */
async function tried(wrong: (asked: RunRequest) => ReceivedEpisode, times: number) {
  const asked: RunRequest[] = [];
  const run: EnvWorkers["run"] = async (one) => {
    asked.push(one);
    return asked.length <= times ? wrong(one) : scored(one, 1, 3, 3);
  };
  const { episode } = await runRollout({ run } as Partial<EnvWorkers> as EnvWorkers, request, NEVER);
  return { ok: episode.ok, asked };
}

describe("a rollout that fails", () => {
  test("is tried four times where no user code is at fault, each with another id and the same seed", async () => {
    const { ok, asked } = await tried((one) => errored(one, "infra"), 3);
    expect(ok).toBe(true);
    expect(asked.map(({ episode_id: id, seed }) => [id, seed])).toEqual([0, 1, 2, 3].map((n) => [`e-${n}`, 7]));
    expect(await tried((one) => errored(one, "provider"), 4)).toMatchObject({ ok: false, asked: { length: 4 } });
  });

  test("is not tried again where its environment is to blame", async () => {
    expect(await tried((one) => errored(one, "environment"), 1)).toMatchObject({ ok: false, asked: { length: 1 } });
  });

  test("is tried ten times more when its server was lost, without using one of the four tries", async () => {
    expect(await tried(lost, 10)).toMatchObject({ ok: true, asked: { length: 11 } });
    expect(await tried(lost, 99)).toMatchObject({ ok: false, asked: { length: 11 } });
    let calls = 0;
    const both = (one: RunRequest) => (calls++ < 5 ? lost(one) : errored(one, "infra"));
    expect(await tried(both, 8)).toMatchObject({ ok: true, asked: { length: 9 } });
  });
});

test("a version that no engine can have yet is refused", () => {
  const asked = { ...request, episode_id: "e" };
  expect(verified(asked, scored(asked, 1, 3, 4), 4).episode.ok).toBe(true);
  expect(verified(asked, scored(asked, 1, 3, 4), 3).episode.errors).toMatchObject([
    { code: "PRL_EPISODE_INVALID", message: expect.stringContaining("version 4 sampled it, and the newest one is 3") },
  ]);
});
