/** The order in which a version is brought to the engines, saved, opened for dispatch and evaluated. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { PrlError } from "../../../ts/errors.ts";
import type { CheckpointSaver } from "../../../ts/orchestrator/checkpoint/resume.ts";
import type { WeightWatcher } from "../../../ts/orchestrator/engines/weight-watcher.ts";
import type { EvaluatedWeights } from "../../../ts/orchestrator/evaluation/evaluation.ts";
import type { Evaluations } from "../../../ts/orchestrator/evaluation/evaluations.ts";
import { PolicyFollower } from "../../../ts/orchestrator/policy-follower.ts";

let runDir = "";
beforeAll(async () => (runDir = await mkdtemp(join(tmpdir(), "prl-follower-"))));
afterAll(() => rm(runDir, { recursive: true }));

/** What is called, in order, while versions up to 3 are followed from `first`; `lost` are superseded before they are received. */
async function follow(first: number, { lost = [], broken }: { lost?: number[]; broken?: number } = {}) {
  const calls: string[] = [];
  const failures: unknown[] = [];
  let current = first;
  const watcher = {
    get version() {
      return current;
    },
    get weights() {
      return { version: current, digest: null };
    },
    async adopt(version: number) {
      if (lost.includes(version)) throw new PrlError("PRL_WEIGHTS_SUPERSEDED", `version ${version} is gone`);
      if (version === broken) throw new PrlError("PRL_WEIGHTS_FORMAT", "it is damaged");
      current = version;
      calls.push(`adopt ${version}`);
    },
  } as unknown as WeightWatcher;
  const evaluations = {
    ended: Promise.resolve(),
    beforeTraining: async () => void calls.push("evaluate before"),
    whenDue: async ({ version }: EvaluatedWeights) => void calls.push(`evaluate ${version}`),
    afterTraining: async ({ version }: EvaluatedWeights) => void calls.push(`evaluate after ${version}`),
  } as unknown as Evaluations;
  const checkpoints = {
    saved: Promise.resolve(),
    isDue: (version: number) => version === 2,
    save: () => undefined,
  } as unknown as CheckpointSaver;
  const follower = new PolicyFollower({
    begunWith: first,
    checkpoints,
    checkpointRoot: join(runDir, "checkpoints"),
    evaluations,
    keepRollouts: null,
    lastVersion: 3,
    metrics: { log: () => undefined, event: (type) => void calls.push(type), close: () => undefined },
    runDir,
    watcher,
    snapshot(version) {
      calls.push(`save ${version}`);
      return {} as ReturnType<ConstructorParameters<typeof PolicyFollower>[0]["snapshot"]>;
    },
    onVersion: (version) => calls.push(`open ${version}`),
    onFailure: (error) => failures.push(error),
  });
  await follower.start();
  follower.follow();
  await follower.finish().catch(() => undefined);
  await follower.settled();
  return { calls, failures };
}

describe("the policy's follower", () => {
  test("saves the state before groups are opened under a version, and evaluates the last version at the end", async () => {
    expect((await follow(0)).calls).toEqual([
      "adopt 0",
      "evaluate before",
      "open 0",
      "adopt 1",
      "open 1",
      "evaluate 1",
      "adopt 2",
      "save 2",
      "open 2",
      "evaluate 2",
      "adopt 3",
      "open 3",
      "evaluate after 3",
    ]);
  });

  test("evaluates the version that a resumed run starts from when it is due, and not as the first one", async () => {
    expect((await follow(2)).calls).toEqual([
      "adopt 2",
      "open 2",
      "evaluate 2",
      "adopt 3",
      "open 3",
      "evaluate after 3",
    ]);
  });

  test("passes over a version that is lost on its way: nothing is opened under it, and its checkpoint is saved", async () => {
    expect((await follow(0, { lost: [1, 2] })).calls).toEqual([
      "adopt 0",
      "evaluate before",
      "open 0",
      "weights_passed_over",
      "weights_passed_over",
      "save 2",
      "adopt 3",
      "open 3",
      "evaluate after 3",
    ]);
  });

  test("any other error ends the run, and nothing is done after it", async () => {
    const { calls, failures } = await follow(0, { broken: 2 });
    expect(calls.at(-1)).toBe("evaluate 1");
    expect(failures).toMatchObject([{ code: "PRL_WEIGHTS_FORMAT" }]);
  });
});
